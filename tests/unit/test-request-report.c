// SPDX-License-Identifier: GPL-2.0
/* What is printed of the requests of clients. */

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "data/histogram.h"
#include "out/request-report.h"
#include "printed.h"
#include "tap.h"

static void print(const struct requests *requests, uint32_t nr)
{
	FILE *file;

	file = printed_open();
	request_report_text(file, requests, nr, 10 * NSEC_PER_SEC);
	fclose(file);
}

static void print_json(const struct requests *requests, uint32_t nr)
{
	struct json json = { 0 };
	FILE *file;

	file = printed_open();
	ok(!request_report_json(&json, file, requests, nr), "JSON is written");
	fclose(file);
	json_deinit(&json);
}

static void set_address(requests_address ret, uint32_t host, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(host) };

	memset(ret, 0, REQUESTS_ADDRESS_BYTES);
	memcpy(ret, &in, sizeof(in));
}

static void set_address6(requests_address ret, uint16_t port)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	memcpy(ret, &in, REQUESTS_ADDRESS_BYTES);
}

static void set_local(requests_address ret)
{
	struct sockaddr any = { .sa_family = AF_UNIX };

	memset(ret, 0, REQUESTS_ADDRESS_BYTES);
	memcpy(ret, &any, sizeof(any));
}

static struct requests some(void)
{
	struct requests ret = {
		.connections = 3, .requests = 20, .unanswered = 1, .elapsed_ns = 200 * NSEC_PER_MSEC,
		.queued_ns = 20 * NSEC_PER_MSEC, .working_ns = 60 * NSEC_PER_MSEC,
		.peers_ns = 100 * NSEC_PER_MSEC, .max_ns = 90 * NSEC_PER_MSEC, .nr_slow = 3,
	};

	ret.hist[histogram_bucket(9 * NSEC_PER_MSEC)] = 19;
	ret.hist[histogram_bucket(90 * NSEC_PER_MSEC)] = 1;
	for (uint32_t i = 0; i < ret.nr_slow; i++)
		ret.slow[i] = (struct slow_request){ .elapsed_ns = (10 + i) * NSEC_PER_MSEC,
						     .working_ns = 4 * NSEC_PER_MSEC,
						     .pid = 100 + i, .tid = 200 + i };
	ret.slow[2].peers_ns = 5 * NSEC_PER_MSEC;
	ret.slow[2].runqueue_ns = 2 * NSEC_PER_MSEC;
	set_address(ret.slow[2].peer, 0x7f000001, 8080);
	set_address6(ret.slow[2].client, 4711);
	set_local(ret.slow[1].client);
	return ret;
}

static void check_text(void)
{
	struct requests requests = some(), none = { 0 };
	char *first, *second;

	print(&requests, 2);
	ok(has("20 answered (2.0/s), 1 without an answer"), "requests are counted");
	ok(has("queued 10.0 %, in units 30.0 %, between units 10.0 %, waiting for others 50.0 %"),
	   "the shares of their time sum up");
	ok(has("most of that for 127.0.0.1:8080"), "the peer is named");
	ok(has("asked by [::1]:4711"), "and the client");
	ok(has("asked by a local socket"), "or that it is on this machine");
	first = strstr(text, "12.0 ms");
	second = strstr(text, "11.0 ms");
	ok(first && second && first < second && !strstr(text, "10.0 ms at"),
	   "the slowest come first, as many as are wanted");
	ok(has("waiting for others 5.00 ms; 2.00 ms of it for a CPU"), "with what was waited for a CPU");
	ok(!strstr(text, "queued 0"), "a part that took no time is not listed");
	print(&none, 5);
	ok(text && !*text, "nothing is printed of nothing");
	none.unanswered = 2;
	print(&none, 5);
	ok(has("0 answered (0.0/s), 2 without an answer"), "requests may all be without an answer");
}

static void check_json(void)
{
	struct requests requests = some();

	print_json(&requests, 1);
	ok(has("\"kind\":\"requests\",\"schema\":1,") && has(",\"requests\":20,\"unanswered\":1,\"connections\":3"),
	   "with the counts");
	ok(has("\"between\":20000000"), "with what is left of the time");
	ok(has("\"client\":\"[::1]:4711\",\"peer\":\"127.0.0.1:8080\""), "with the addresses");
	ok(has("\"elapsed\":12000000,\"queued\":0,\"units\":4000000,\"handed\":0,\"peers\":5000000,\"timer\":0,\"between\":3000000,\"runqueue\":2000000"),
	   "with the parts of the slowest");
}

int main(void)
{
	plan(15);
	check_text();
	check_json();
	free(text);
	return tap_status();
}
