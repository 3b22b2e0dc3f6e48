#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0
//
// A server for OTLP/HTTP logs that decodes what it gets by the protocol's own definition: the
// messages that OpenTelemetry generates from its .proto files.
//
// usage: otlp-collector.js ROOT.JS PORT ANSWER...
//
// An answer is STATUS, STATUS:RETRY-AFTER or "partial:N"; the last one is that of all further
// requests.  For each request a line of JSON goes to stdout: what was answered, what was wrong with
// it, and its records.

'use strict';

const http = require('http');
const assert = require('assert');

const [rootPath, port, ...answers] = process.argv.slice(2);
const root = require(rootPath);
const Request = root.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;

// What the schema does not know, or knows as something else, does not come back from it.
function decode(text) {
	const given = JSON.parse(text);
	const message = Request.fromObject(given);
	const problem = Request.verify(message);

	if (problem)
		throw new Error(problem);
	const bytes = Request.encode(message).finish();
	const decoded = Request.toObject(Request.decode(bytes), {
		longs: String, enums: Number, arrays: false, objects: false, defaults: false,
	});
	assert.deepStrictEqual(prune(decoded), prune(given));
	return decoded;
}

// An empty list and none are the same to the protocol.
function prune(value) {
	if (Array.isArray(value))
		return value.map(prune);
	if (value === null || typeof value !== 'object')
		return value;
	return Object.fromEntries(Object.entries(value).filter(([, v]) =>
		!(Array.isArray(v) && !v.length)).map(([k, v]) => [k, prune(v)]));
}

function recordsOf(request) {
	return (request.resourceLogs || []).flatMap(one => one.scopeLogs.flatMap(scope =>
		scope.logRecords.map(record => ({
			resource: one.resource.attributes, scope: scope.scope, ...record }))));
}

function answer(response, what) {
	const [status, detail] = what.split(':');

	if (status === 'partial') {
		response.writeHead(200, { 'Content-Type': 'application/json' });
		response.end(JSON.stringify({ partialSuccess: {
			rejectedLogRecords: detail, errorMessage: 'no room' } }));
		return;
	}
	response.writeHead(Number(status), {
		'Content-Type': 'application/json', ...(detail ? { 'Retry-After': detail } : {}) });
	response.end(status === '200' ? '{"partialSuccess":{}}' : `{"message":"answer ${status}"}`);
}

http.createServer((request, response) => {
	const chunks = [];

	request.on('data', chunk => chunks.push(chunk));
	request.on('end', () => {
		const what = answers.length > 1 ? answers.shift() : answers[0];
		const line = { at: Date.now() / 1000, answer: what, url: request.url,
			method: request.method, type: request.headers['content-type'],
			token: request.headers['x-token'] };

		try {
			line.records = recordsOf(decode(Buffer.concat(chunks).toString('utf8')));
		} catch (error) {
			line.problem = String(error);
		}
		console.log(JSON.stringify(line));
		answer(response, what);
	});
}).listen(Number(port), '127.0.0.1', () => console.log('{"ready":true}'));
