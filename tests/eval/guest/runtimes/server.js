// SPDX-License-Identifier: GPL-2.0
// Node's server, with one loop for all connections; the paths ask for different work.
"use strict";

function work(path) {
	if (path === "/sum") {
		let sum = 0;

		for (let i = 0; i < 20000; i++)
			sum += i * i;
		return String(sum);
	}
	if (path === "/sort")
		return Array.from({ length: 2000 }, (_, i) => i * 7919 % 1000).sort().join(" ");
	return "a small page";
}

require("http").createServer((request, response) => {
	response.end(work(request.url));
}).listen(Number(process.argv[2]), "127.0.0.1");
