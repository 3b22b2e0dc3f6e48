// SPDX-License-Identifier: GPL-2.0
/* What is printed of a late request. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/time.h"
#include "out/address.h"
#include "out/alert/alert.h"
#include "out/alert/alert-request.h"
#include "printed.h"
#include "tap.h"

static const struct late_client *there[2];
static uint64_t usual_part_ns;
static const struct alert *where;

static void print(const struct record *record, bool is_again, bool is_json)
{
	const struct alert_request alert = {
		.record = record, .exe = "/bin/server", .usual_ns = 3 * NSEC_PER_MSEC,
		.usual_part_ns = usual_part_ns, .where = where, .answered = 4000, .there = { there[0], there[1] },
		.nr_there = !!there[0] + !!there[1],
		.average = { .elapsed_ns = 4 * NSEC_PER_MSEC, .working_ns = NSEC_PER_MSEC,
			     .peers_ns = 3 * NSEC_PER_MSEC },
	};
	struct json json = { 0 };
	FILE *file;

	file = printed_open();
	if (is_json)
		alert_request_json(&json, file, &alert);
	else
		alert_request_text(file, &alert, is_again, !is_again);
	fclose(file);
	json_deinit(&json);
}

static void set_address(requests_address ret, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memcpy(ret, &in, sizeof(in));
}

static struct record waiting(void)
{
	struct record ret = {
		.kind = PERFGUARD_RECORD_KIND_REQUEST, .seq = 7, .pid = 12, .tid = 13,
		.comm = "server", .time_ns = time_wall_ns(), .threshold_ns = 300 * NSEC_PER_MSEC,
		.request = {
			.elapsed_ns = 904 * NSEC_PER_MSEC, .working_ns = NSEC_PER_MSEC,
			.peers_ns = 903 * NSEC_PER_MSEC, .begin_ns = time_now_ns(),
			.state = PERFGUARD_REQUEST_STATE_LASTS, .connection = 5,
		},
	};

	set_address(ret.request.client, 4567);
	set_address(ret.request.peer, 8080);
	return ret;
}

static void check_waiting(void)
{
	struct record record = waiting();

	print(&record, false, false);
	ok(has("LATE request server[12/13]: 904 ms, 3.0 times its limit, no answer yet\n"),
	   "one that lasts says for how long");
	ok(has("127.0.0.1:4567") && has("half of 4,000 requests took at most 3.00 ms"),
	   "whose it is, and what is usual");
	ok(has("average   in units 1.00 ms, waiting for others 3.00 ms\n") &&
	   has("spent     in units 1.00 ms, waiting for others 903 ms\n"),
	   "where its time goes, and where it mostly goes");
	ok(has("127.0.0.1:8080, which has not answered for 903 ms"), "whom it waits for");
	print(&record, true, false);
	ok(has("still late, request") && !strstr(text, "4567"), "again, it is shorter");
	print(&record, false, true);
	ok(has("\"kind\":\"request\"") && has("\"state\":\"lasts\"") &&
	   has("\"cause\":\"waiting for 127.0.0.1:8080\"") && has("\"unit\":null"),
	   "the same as JSON");
}

/* It is late by what one part of it takes, though most of its time is in another one, as is usual. */
static void check_part(void)
{
	struct record record = waiting();

	record.threshold_ns = 5 * NSEC_PER_MSEC;
	record.type_id = 3;
	record.request.state = PERFGUARD_REQUEST_STATE_ANSWERED;
	record.request.part = PERFGUARD_REQUEST_PART_WORKING;
	record.request.working_ns = 40 * NSEC_PER_MSEC;
	record.request.peers_ns = 864 * NSEC_PER_MSEC;
	usual_part_ns = NSEC_PER_MSEC;
	print(&record, false, false);
	ok(has("took 904 ms, of that 40.0 ms in its own units, 8.0 times its limit\n"),
	   "the part is named, and how far it is beyond its limit");
	ok(has("took at most 3.00 ms, and half had at most\n            1.00 ms in units\n"), "what is usual of it");
	ok(has("look at   what the units of thread 13 compute"), "and whom to look at");
	print(&record, false, true);
	ok(has("\"part\":\"working\",\"part_ns\":40000000") && has("\"cause\":\"in its own units\""),
	   "also in JSON");
	record.request.part = PERFGUARD_REQUEST_PART_HELD;
	record.request.queued_ns = 20 * NSEC_PER_MSEC;
	print(&record, false, false);
	ok(has("of that 20.0 ms queued, 4.0 times its limit"), "where it was held up is named");
	usual_part_ns = 0;
}

/* One that is worked for says where. */
static void check_where(void)
{
	struct record record = waiting();
	struct frame frames[] = {
		{ .module = "/bin/server", .function = "sort", .pc = 0x20, .offset = 0x20 },
		{ .module = "/bin/server", .function = "serve", .pc = 0x10, .offset = 0x10 },
	};
	struct alert_stack stack = { .frames = frames, .nr_frames = 2, .end = "complete" };
	struct hotpath_stack seen = { .frames = frames, .nr_frames = 2 };
	struct hotpath hotpath;
	const struct alert alert = { .record = &record, .exe = "/bin/server", .nr_stacks = 1,
				     .stacks = &stack, .hotpath = &hotpath };

	record.unit = 9;
	record.request.peers_ns = 0;
	record.request.working_ns = 904 * NSEC_PER_MSEC;
	hotpath_init(&hotpath, &seen, 1, NSEC_PER_MSEC);
	where = &alert;
	print(&record, false, false);
	ok(has("where     sort when it was seen (one stack so far)\n") &&
	   has("path      100 %  serve\n") && has("100 %  sort\n"), "where it is worked for is said");
	ok(has("look at   sort, in unit 9 of thread 13, which works for it\n"), "and to be looked at");
	print(&record, true, false);
	ok(has("where     sort") && !strstr(text, "path"), "again, the same path is not printed");
	print(&record, false, true);
	ok(has("\"hot_path\":[{") && has("\"stacks\":[{"), "also in JSON");
	record.request.working_ns = 0;
	record.request.queued_ns = 904 * NSEC_PER_MSEC;
	print(&record, false, false);
	ok(has("look at   sort, where thread 13 is: for 904 ms nobody read the request\n"),
	   "while it is not read, where who is to read it is");
	where = NULL;
	hotpath_deinit(&hotpath);
}

/* Whom it waits for is watched as well, by a socket of IPv6. */
static void check_there(void)
{
	struct record record = waiting();
	struct late_client other = {
		.pid = 20, .tid = 21, .comm = "data\x1b" "base",
		.request = { .elapsed_ns = 902 * NSEC_PER_MSEC, .working_ns = 902 * NSEC_PER_MSEC },
	};
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = htons(4000) };

	there[0] = &other;
	print(&record, false, false);
	ok(has("there     data?base[20/21] has it for 902 ms, most of that in its own units"),
	   "what that does for it is said");
	print(&record, false, true);
	ok(has("\"there\":{\"comm\":") && has("\"tid\":21"), "also in JSON");
	there[0] = NULL;
	set_address(record.request.via, 4000);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr);
	memcpy(other.request.client, &mapped, sizeof(mapped));
	ok(address_is_same(record.request.via, other.request.client) &&
	   !address_is_same(record.request.peer, other.request.client) &&
	   !address_is_same(other.request.peer, other.request.peer), "it is known by its client");
}

/* By local sockets, to one that waits for another one. */
static void check_local(void)
{
	struct record record = waiting();
	struct late_client middle = { .pid = 20, .tid = 21, .comm = "middle" };
	struct late_client last = { .pid = 30, .tid = 31, .comm = "last", .unit = 7 };
	struct perfguard_local_address local = { .family = AF_UNIX, .pid = 30 };

	memcpy(record.request.peer, &local, sizeof(local));
	print(&record, false, false);
	ok(has("a local socket of process 30, which has not answered"), "whose local socket it is");
	strcpy(record.request.peer_name, "/run/a\x1b[2Jsocket");
	print(&record, false, false);
	ok(has("unix:/run/a?[2Jsocket, which has not answered"), "what that is bound to is plain text");
	memset(record.request.peer_name, 'x', sizeof(record.request.peer_name));
	print(&record, false, true);
	ok(has("xxx\",\"via\""), "a path may fill its room");
	memset(record.request.peer_name, 0, sizeof(record.request.peer_name));
	memcpy(record.request.peer_name, "\0a\0b", 4);
	middle.request = last.request = record.request;
	last.request.peers_ns = 0;
	last.request.working_ns = 900 * NSEC_PER_MSEC;
	there[0] = &middle;
	there[1] = &last;
	print(&record, false, false);
	ok(has("middle[20/21] has it for 904 ms, most of that waiting for unix:@a@b") &&
	   has("last[30/31] has it for 904 ms, most of that in its own units") &&
	   has("look at   unit 7 of thread 31"), "it is followed to the end");
	print(&record, false, true);
	ok(has("\"unit\":null,\"function\":null,\"cause\":\"waiting for unix:@a@b\",\"there\":{\"comm\":\"last\""),
	   "each in the one before it");
	there[0] = there[1] = NULL;
	local.cookie_high = 1;
	memcpy(record.request.via, &local, sizeof(local));
	local.pid = 0;
	memcpy(last.request.client, &local, sizeof(local));
	ok(address_is_same(record.request.via, last.request.client) &&
	   !address_is_same(record.request.peer, record.request.peer) &&
	   !address_is_same(record.request.via, record.request.peer),
	   "it is known by its own number");
}

static void check_ended(void)
{
	struct record record = waiting();

	record.request.state = PERFGUARD_REQUEST_STATE_ANSWERED;
	print(&record, true, false);
	ok(has("ended, request server[12/13]: took 904 ms") && !strchr(strchr(text, '\n') + 1, '\n'),
	   "its end is one line");
	print(&record, false, false);
	ok(has("LATE request") && has("which was waited for 903 ms"), "unless nothing was printed yet");
	record.request.state = PERFGUARD_REQUEST_STATE_UNANSWERED;
	print(&record, true, false);
	ok(has("its client hung up after 904 ms"), "a client may hang up");
}

static void check_causes(void)
{
	struct record record = waiting();
	struct slow_request *request = &record.request;

	request->peers_ns = 0;
	request->working_ns = 900 * NSEC_PER_MSEC;
	record.unit = 99;
	print(&record, false, false);
	ok(has("unit 99 of thread 13"), "a unit that works for it is named");
	request->working_ns = 0;
	request->queued_ns = 900 * NSEC_PER_MSEC;
	print(&record, false, false);
	ok(has("what thread 13 did before"), "so is who let it wait");
	request->queued_ns = 0;
	print(&record, false, false);
	ok(has("between units 904 ms") && has("other threads, timers"),
	   "of what is not seen nothing is claimed");
	request->runqueue_ns = 800 * NSEC_PER_MSEC;
	print(&record, false, false);
	ok(has("other threads, timers"), "what it may have waited for a CPU is none while it lasts");
	request->state = PERFGUARD_REQUEST_STATE_ANSWERED;
	print(&record, false, false);
	ok(has("; 800 ms of it for a CPU") && has("who else has the CPUs: thread"),
	   "unless it waited for a CPU");
	request->state = 77;
	print(&record, false, true);
	ok(has("\"state\":null"), "a newer module may know more states");
}

int main(void)
{
	plan(34);
	check_waiting();
	check_part();
	check_where();
	check_there();
	check_local();
	check_ended();
	check_causes();
	free(text);
	return tap_status();
}
