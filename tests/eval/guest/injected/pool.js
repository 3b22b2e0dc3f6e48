// SPDX-License-Identifier: GPL-2.0
// A server whose answers are computed by a thread of the pool: /TURNS.
"use strict";

const crypto = require("crypto");

const server = require("http").createServer((request, response) => {
	crypto.pbkdf2("text", "salt", Number(request.url.slice(1)), 32, "sha256", (error, key) => {
		response.end(key.toString("hex"));
	});
});

// Clients pause, and a request may wait for long.
server.requestTimeout = server.headersTimeout = 0;
server.keepAliveTimeout = 0;
server.listen(Number(process.argv[2]), "127.0.0.1");
