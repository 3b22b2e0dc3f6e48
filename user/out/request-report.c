// SPDX-License-Identifier: GPL-2.0

#include "out/request-report.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/time.h"
#include "out/percentiles.h"
#include "out/text.h"

/* Brackets, a port and a zero are added to an address. */
#define ADDRESS_MAX (INET6_ADDRSTRLEN + 9)

/* "127.0.0.1:8080", "[::1]:8080", "a local socket"; NULL if there is none. */
static const char *address_format(const requests_address from, char text[ADDRESS_MAX])
{
	char host[INET6_ADDRSTRLEN];
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	memcpy(&in6, from, REQUESTS_ADDRESS_BYTES);
	memcpy(&in, from, sizeof(in));
	switch (in.sin_family) {
	case 0:
		return NULL;
	case AF_INET:
		inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
		snprintf(text, ADDRESS_MAX, "%s:%d", host, ntohs(in.sin_port));
		return text;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
		snprintf(text, ADDRESS_MAX, "[%s]:%d", host, ntohs(in6.sin6_port));
		return text;
	default:
		return "a local socket";
	}
}

/* What is neither waiting to be read, nor in units, nor waiting for others. */
static uint64_t rest_ns(uint64_t elapsed_ns, uint64_t queued_ns, uint64_t working_ns, uint64_t peers_ns)
{
	uint64_t known = queued_ns + working_ns + peers_ns;

	return elapsed_ns > known ? elapsed_ns - known : 0;
}

static uint64_t rest_of(const struct slow_request *slow)
{
	return rest_ns(slow->elapsed_ns, slow->queued_ns, slow->working_ns, slow->peers_ns);
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

/* When it came, by the wall's clock of now. */
static uint64_t wall_ns(uint64_t begin_ns)
{
	return time_wall_ns() - (time_now_ns() - begin_ns);
}

static void json_parts(struct json *json, uint64_t elapsed_ns, uint64_t queued_ns,
		       uint64_t working_ns, uint64_t peers_ns)
{
	json_object(json, "time_ns");
	json_u64(json, "elapsed", elapsed_ns);
	json_u64(json, "queued", queued_ns);
	json_u64(json, "units", working_ns);
	json_u64(json, "peers", peers_ns);
	json_u64(json, "between", rest_ns(elapsed_ns, queued_ns, working_ns, peers_ns));
	json_end(json);
}

static int json_slow(struct json *json, FILE *file, const struct slow_request *slow)
{
	char text[ADDRESS_MAX], time[TIME_TEXT_MAX];

	json_object(json, NULL);
	json_string(json, "kind", "slow-request");
	json_string(json, "begin", time_format(wall_ns(slow->begin_ns), time));
	json_u64(json, "pid", slow->pid);
	json_u64(json, "tid", slow->tid);
	json_string(json, "client", address_format(slow->client, text));
	json_string(json, "peer", address_format(slow->peer, text));
	json_parts(json, slow->elapsed_ns, slow->queued_ns, slow->working_ns, slow->peers_ns);
	json_end(json);
	return json_end_line(json, file);
}

int request_report_json(struct json *json, FILE *file, const struct requests *requests, uint32_t nr)
{
	const struct percentiles times = times_of(requests);
	struct slow_request slow[REQUESTS_SLOW];
	int ret;

	json_object(json, NULL);
	json_string(json, "kind", "requests");
	json_u64(json, "requests", requests->requests);
	json_u64(json, "unanswered", requests->unanswered);
	json_u64(json, "connections", requests->connections);
	json_u64(json, "refused", requests->refused);
	percentiles_json(json, "request_ns", &times);
	json_parts(json, requests->elapsed_ns, requests->queued_ns, requests->working_ns,
		   requests->peers_ns);
	json_end(json);
	ret = json_end_line(json, file);
	nr = sort_slow(requests, nr, slow);
	for (uint32_t i = 0; i < nr && !ret; i++)
		ret = json_slow(json, file, &slow[i]);
	return ret;
}

static void text_part(FILE *file, const char *name, uint64_t ns)
{
	char text[DURATION_TEXT_MAX];

	if (ns)
		fprintf(file, ", %s %s", name, duration_format(ns, text));
}

static void text_slow(FILE *file, const struct slow_request *slow)
{
	char text[ADDRESS_MAX], duration[DURATION_TEXT_MAX], time[TIME_TEXT_MAX];
	const char *peer = address_format(slow->peer, text);

	fprintf(file, "  %s at %s", duration_format(slow->elapsed_ns, duration),
		time_format_local(wall_ns(slow->begin_ns), time));
	text_part(file, "queued", slow->queued_ns);
	text_part(file, "in units", slow->working_ns);
	text_part(file, "between units", rest_of(slow));
	text_part(file, "waiting for others", slow->peers_ns);
	if (peer)
		fprintf(file, "\n    most of that for %s", peer);
	fprintf(file, "\n    process %" PRIu32 ", thread %" PRIu32 ", asked by %s\n", slow->pid,
		slow->tid, address_format(slow->client, text) ?: "?");
}

static void text_shares(FILE *file, const struct requests *requests)
{
	uint64_t whole = requests->elapsed_ns;
	char text[TEXT_MAX];

	fprintf(file, "  spent       queued %s", text_share(requests->queued_ns, whole, text));
	fprintf(file, ", in units %s", text_share(requests->working_ns, whole, text));
	fprintf(file, ", between units %s",
		text_share(rest_ns(whole, requests->queued_ns, requests->working_ns,
				   requests->peers_ns), whole, text));
	fprintf(file, ", waiting for others %s\n", text_share(requests->peers_ns, whole, text));
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
