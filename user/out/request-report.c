// SPDX-License-Identifier: GPL-2.0

#include "out/request-report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/time.h"
#include "out/address.h"
#include "out/line.h"
#include "out/percentiles.h"
#include "out/text.h"

uint64_t request_between_ns(const struct slow_request *slow)
{
	uint64_t known = slow->queued_ns + slow->working_ns + slow->peers_ns + slow->handed_ns +
			 slow->timer_ns;

	return slow->elapsed_ns > known ? slow->elapsed_ns - known : 0;
}

/* All requests, as if they were one. */
static struct slow_request sum_of(const struct requests *requests)
{
	return (struct slow_request){
		.elapsed_ns = requests->elapsed_ns,
		.queued_ns = requests->queued_ns,
		.working_ns = requests->working_ns,
		.peers_ns = requests->peers_ns,
		.handed_ns = requests->handed_ns,
		.timer_ns = requests->timer_ns,
		.runqueue_ns = requests->runqueue_ns,
	};
}

struct slow_request request_average(const struct requests *requests)
{
	struct slow_request ret = sum_of(requests);
	uint64_t nr = requests->requests ?: 1;

	ret.elapsed_ns /= nr;
	ret.queued_ns /= nr;
	ret.working_ns /= nr;
	ret.peers_ns /= nr;
	ret.handed_ns /= nr;
	ret.timer_ns /= nr;
	ret.runqueue_ns /= nr;
	return ret;
}

static int compare_slow(const void *left, const void *right)
{
	const struct slow_request *a = left, *b = right;

	return order_of(b->elapsed_ns, a->elapsed_ns);
}

/* The slowest come first; returns how many there are of the @nr that are wanted. */
static uint32_t sort_slow(const struct requests *requests, uint32_t nr,
			  struct slow_request ret[REQUESTS_SLOW])
{
	memcpy(ret, requests->slow, sizeof(requests->slow));
	qsort(ret, requests->nr_slow, sizeof(*ret), compare_slow);
	return nr < requests->nr_slow ? nr : requests->nr_slow;
}

static struct percentiles times_of(const struct requests *requests)
{
	return (struct percentiles){ requests->hist, requests->requests, requests->elapsed_ns,
				     requests->max_ns };
}

uint64_t request_wall_ns(const struct slow_request *slow)
{
	return time_wall_ns() - (time_now_ns() - slow->begin_ns);
}

void request_parts_json(struct json *json, const char *name, const struct slow_request *of)
{
	json_object(json, name);
	json_u64(json, "elapsed", of->elapsed_ns);
	json_u64(json, "queued", of->queued_ns);
	json_u64(json, "units", of->working_ns);
	json_u64(json, "handed", of->handed_ns);
	json_u64(json, "peers", of->peers_ns);
	json_u64(json, "timer", of->timer_ns);
	json_u64(json, "between", request_between_ns(of));
	json_u64(json, "runqueue", of->runqueue_ns);
	json_end(json);
}

void request_json(struct json *json, const struct slow_request *slow)
{
	char text[ADDRESS_TEXT_MAX], time[TIME_TEXT_MAX];

	json_string(json, "begin", time_format(request_wall_ns(slow), time));
	json_u64(json, "pid", slow->pid);
	json_u64(json, "tid", slow->tid);
	json_string(json, "client", address_format(slow->client, text));
	json_string(json, "peer", address_format_peer(slow, text));
	json_string(json, "via", address_format(slow->via, text));
	request_parts_json(json, "time_ns", slow);
}

static int json_slow(struct json *json, FILE *file, const struct slow_request *slow)
{
	line_begin(json, "slow-request", 0);
	request_json(json, slow);
	return line_end(json, file);
}

int request_report_json(struct json *json, FILE *file, const struct requests *requests, uint32_t nr)
{
	const struct percentiles times = times_of(requests);
	const struct slow_request sum = sum_of(requests);
	struct slow_request slow[REQUESTS_SLOW];
	int ret;

	line_begin(json, "requests", 0);
	json_u64(json, "requests", requests->requests);
	json_u64(json, "unanswered", requests->unanswered);
	json_u64(json, "connections", requests->connections);
	json_u64(json, "refused", requests->refused);
	percentiles_json(json, "request_ns", &times);
	request_parts_json(json, "time_ns", &sum);
	ret = line_end(json, file);
	nr = sort_slow(requests, nr, slow);
	for (uint32_t i = 0; i < nr && !ret; i++)
		ret = json_slow(json, file, &slow[i]);
	return ret;
}

/* So small shares of the whole are not mentioned: each part is rounded. */
enum { LEAST_PART = 10000, LEAST_RUNQUEUE = 100 };

void request_parts_text(const struct slow_request *slow, char *ret, size_t size)
{
	const struct {
		const char *name;
		uint64_t ns;
	} parts[] = {
		{ "queued", slow->queued_ns },
		{ "in units", slow->working_ns },
		{ "handed over", slow->handed_ns },
		{ "between units", request_between_ns(slow) },
		{ "waiting for others", slow->peers_ns },
		{ "waiting for a timer", slow->timer_ns },
	};
	char text[DURATION_TEXT_MAX];

	*ret = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].ns > slow->elapsed_ns / LEAST_PART)
			text_append(ret, size, "%s%s %s", *ret ? ", " : "", parts[i].name,
				    duration_format(parts[i].ns, text));
	/* It is in the others. */
	if (slow->state != PERFGUARD_REQUEST_STATE_LASTS &&
	    slow->runqueue_ns > slow->elapsed_ns / LEAST_RUNQUEUE)
		text_append(ret, size, "; %s of it for a CPU", duration_format(slow->runqueue_ns, text));
}

static void text_slow(FILE *file, const struct slow_request *slow)
{
	char text[ADDRESS_TEXT_MAX], duration[DURATION_TEXT_MAX], time[TIME_TEXT_MAX];
	char parts[PARAGRAPH_MAX];
	const char *peer = address_format_peer(slow, text);

	fprintf(file, "  %s at %s", duration_format(slow->elapsed_ns, duration),
		time_format_local(request_wall_ns(slow), time));
	request_parts_text(slow, parts, sizeof(parts));
	fprintf(file, "%s%s", *parts ? ", " : "", parts);
	if (peer)
		fprintf(file, "\n    most of that for %s", peer);
	fprintf(file, "\n    process %" PRIu32 ", thread %" PRIu32 ", asked by %s\n", slow->pid,
		slow->tid, address_format(slow->client, text) ?: "?");
}

static void text_shares(FILE *file, const struct requests *requests)
{
	const struct slow_request sum = sum_of(requests);
	uint64_t whole = requests->elapsed_ns;
	char text[TEXT_MAX];

	fprintf(file, "  spent       queued %s", text_share(sum.queued_ns, whole, text));
	fprintf(file, ", in units %s", text_share(sum.working_ns, whole, text));
	if (sum.handed_ns)
		fprintf(file, ", handed over %s", text_share(sum.handed_ns, whole, text));
	fprintf(file, ", between units %s", text_share(request_between_ns(&sum), whole, text));
	fprintf(file, ", waiting for others %s", text_share(sum.peers_ns, whole, text));
	if (sum.timer_ns)
		fprintf(file, ", waiting for a timer %s", text_share(sum.timer_ns, whole, text));
	if (sum.runqueue_ns > whole / LEAST_RUNQUEUE)
		fprintf(file, "; %s of it for a CPU", text_share(sum.runqueue_ns, whole, text));
	fputc('\n', file);
}

void request_report_text(FILE *file, const struct requests *requests, uint32_t nr,
			 uint64_t duration_ns)
{
	const struct percentiles times = times_of(requests);
	struct slow_request slow[REQUESTS_SLOW];
	char text[TEXT_MAX];

	if (!requests->requests && !requests->unanswered)
		return;
	fprintf(file, "%sRequests%s: %s answered", text_bold(file), text_plain(file),
		text_count(requests->requests, text));
	if (duration_ns)
		fprintf(file, " (%.1f/s)", (double)requests->requests * NSEC_PER_SEC /
						   (double)duration_ns);
	if (requests->unanswered)
		fprintf(file, ", %s without an answer", text_count(requests->unanswered, text));
	fputs("\n  from the first bytes of a client's message to the last of the answer\n", file);
	if (requests->requests) {
		percentiles_text(file, "  time", &times);
		text_shares(file, requests);
	}
	fputc('\n', file);
	nr = sort_slow(requests, nr, slow);
	if (!nr)
		return;
	fprintf(file, "%sSlowest requests%s\n", text_bold(file), text_plain(file));
	for (uint32_t i = 0; i < nr; i++)
		text_slow(file, &slow[i]);
	fputc('\n', file);
}
