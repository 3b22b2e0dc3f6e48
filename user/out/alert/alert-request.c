// SPDX-License-Identifier: GPL-2.0

#include "out/alert/alert-request.h"

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "base/hash-index.h"
#include "base/time.h"
#include "base/utf8.h"
#include "out/address.h"
#include "out/alert/alert-head.h"
#include "out/alert/alert.h"
#include "out/container-text.h"
#include "out/line.h"
#include "out/request-report.h"
#include "out/text.h"

static const char *const request_part_names[REQUEST_NR_PARTS] = {
	"all", "working", "peers", "held",
};

static const char *const request_part_texts[REQUEST_NR_PARTS] = {
	"of all parts", "in units", "of waiting for others", "of being held up",
};

static const char *const states[] = {
	[PERFGUARD_REQUEST_STATE_LASTS] = "lasts",
	[PERFGUARD_REQUEST_STATE_ANSWERED] = "answered",
	[PERFGUARD_REQUEST_STATE_UNANSWERED] = "unanswered",
};

struct request_parts alert_request_parts(const struct slow_request *request)
{
	return request_parts_of(request->elapsed_ns, request->working_ns, request->peers_ns,
				request->queued_ns + request->handed_ns + request->timer_ns +
				request_between_ns(request),
				request->runqueue_ns);
}

/* Where most of the time went in which it was held up. */
static enum request_cause held_cause(const struct slow_request *request)
{
	enum request_cause ret = REQUEST_QUEUE;
	uint64_t most = request->queued_ns;

	if (request->handed_ns > most) {
		most = request->handed_ns;
		ret = REQUEST_HANDED;
	}
	if (request->timer_ns > most) {
		most = request->timer_ns;
		ret = REQUEST_TIMER;
	}
	return request_between_ns(request) > most ? REQUEST_BETWEEN : ret;
}

/* The same of all of its time. */
static enum request_cause main_cause(const struct slow_request *request)
{
	uint64_t most = request->peers_ns;
	enum request_cause ret = REQUEST_PEER;

	if (request->working_ns > most) {
		most = request->working_ns;
		ret = REQUEST_UNITS;
	}
	if (request->queued_ns > most || request->handed_ns > most || request->timer_ns > most ||
	    request_between_ns(request) > most)
		ret = held_cause(request);
	/* All the other parts have that in them; while it lasts it is the most that it can be. */
	return request->state != PERFGUARD_REQUEST_STATE_LASTS &&
	       request->runqueue_ns > request->elapsed_ns / 2 ? REQUEST_STARVED : ret;
}

enum request_cause alert_request_cause(const struct slow_request *request)
{
	switch (request->part) {
	case PERFGUARD_REQUEST_PART_WORKING:
		return REQUEST_UNITS;
	case PERFGUARD_REQUEST_PART_PEERS:
		return REQUEST_PEER;
	case PERFGUARD_REQUEST_PART_HELD:
		return held_cause(request);
	default:
		return main_cause(request);
	}
}

void alert_request_label(const struct slow_request *request, char *ret, size_t size)
{
	char text[ADDRESS_TEXT_MAX];

	switch (alert_request_cause(request)) {
	case REQUEST_PEER:
		snprintf(ret, size, "waiting for %s", address_format_peer(request, text) ?: "others");
		break;
	case REQUEST_UNITS:
		snprintf(ret, size, "in its own units");
		break;
	case REQUEST_QUEUE:
		snprintf(ret, size, "queued");
		break;
	case REQUEST_HANDED:
		snprintf(ret, size, "handed over");
		break;
	case REQUEST_TIMER:
		snprintf(ret, size, "waiting for a timer");
		break;
	case REQUEST_BETWEEN:
		snprintf(ret, size, "between units");
		break;
	case REQUEST_STARVED:
		snprintf(ret, size, "waiting for a CPU");
		break;
	}
}

/* Is it late by what one part of it takes? */
static bool is_of_part(const struct slow_request *request)
{
	return request->part > PERFGUARD_REQUEST_PART_ALL && request->part <= REQUEST_NR_PARTS;
}

static void print_time(FILE *file, const struct record *record)
{
	const struct slow_request *request = &record->request;
	uint64_t limited_ns = request->elapsed_ns;
	char text[DURATION_TEXT_MAX], label[PARAGRAPH_MAX];
	uint32_t state = request->state;

	fprintf(file, ": %s%s%s%s",
		state == PERFGUARD_REQUEST_STATE_ANSWERED ? "took " :
		state == PERFGUARD_REQUEST_STATE_UNANSWERED ? "its client hung up after " : "",
		text_bold(file), duration_format(request->elapsed_ns, text), text_plain(file));
	if (is_of_part(request)) {
		limited_ns = alert_request_parts(request).of[request->part - 1];
		alert_request_label(request, label, sizeof(label));
		fprintf(file, ", of that %s %s", duration_format(limited_ns, text), label);
	}
	if (record->threshold_ns)
		fprintf(file, ", %.*f times its limit", limited_ns < 10 * record->threshold_ns,
			(double)limited_ns / (double)record->threshold_ns);
	fputs(state == PERFGUARD_REQUEST_STATE_LASTS ? ", no answer yet\n" : "\n", file);
}

static void print_begin(FILE *file, const struct record *record, bool is_again)
{
	bool lasts = record->request.state == PERFGUARD_REQUEST_STATE_LASTS;

	alert_begin_text(file, record, lasts || !is_again ? text_red(file) : text_bold(file),
			 !is_again ? "LATE request" :
			 lasts ? "still late, request" : "ended, request");
	print_time(file, record);
}

/* Whom it waits for is watched as well. */
static void print_there(FILE *file, const struct late_client *there)
{
	char label[PARAGRAPH_MAX], comm[sizeof(there->comm)], duration[DURATION_TEXT_MAX];

	memcpy(comm, there->comm, sizeof(comm));
	utf8_make_plain(comm);
	alert_request_label(&there->request, label, sizeof(label));
	paragraph_format(file, "there", "%s[%" PRIu32 "/%" PRIu32 "] has it for %s, most of that %s%s%s",
			 comm, there->pid, there->tid,
			 duration_format(there->request.elapsed_ns, duration), label,
			 there->function[0] ? ", by " : "", there->function);
}

/* Who works for it is thread @tid, in a unit if that is not 0, and in @function if that is known. */
static void print_look_units(FILE *file, uint32_t tid, uint64_t unit, const char *function)
{
	if (function[0])
		paragraph_format(file, "look at", "%s, in unit %" PRIu64 " of thread %" PRIu32
				 ", which works for it", function, unit, tid);
	else if (unit)
		paragraph_format(file, "look at", "unit %" PRIu64 " of thread %" PRIu32
				 ", which works for it: if it is late, its alert says where",
				 unit, tid);
	else
		paragraph_format(file, "look at", "what the units of thread %" PRIu32
				 " compute or wait for", tid);
}

static void print_look(FILE *file, const struct slow_request *request, uint32_t tid,
		       uint64_t unit, const char *function)
{
	char text[ADDRESS_TEXT_MAX], duration[DURATION_TEXT_MAX];
	bool lasts = request->state == PERFGUARD_REQUEST_STATE_LASTS;

	switch (alert_request_cause(request)) {
	case REQUEST_PEER:
		paragraph_format(file, "look at", "%s, which %s for %s",
				 address_format_peer(request, text) ?: "whom it asked",
				 lasts ? "has not answered" : "was waited",
				 duration_format(request->peers_ns, duration));
		break;
	case REQUEST_UNITS:
		print_look_units(file, tid, unit, function);
		break;
	case REQUEST_QUEUE:
		paragraph_format(file, "look at", "%s%sthread %" PRIu32 "%s: for %s nobody read the "
				 "request", function[0] ? function : "what", function[0] ? ", where " : " ",
				 tid, function[0] ? " is" : " did before",
				 duration_format(request->queued_ns, duration));
		break;
	case REQUEST_HANDED:
		paragraph_format(file, "look at", "what the threads do to which it is given: for %s none "
				 "began with it", duration_format(request->handed_ns, duration));
		break;
	case REQUEST_TIMER:
		paragraph_format(file, "look at", "what lets thread %" PRIu32 " wait, a limit of its rate or a "
				 "pause before it tries again: for %s it waited for its own timer", tid,
				 duration_format(request->timer_ns, duration));
		break;
	case REQUEST_BETWEEN:
		paragraph_print(file, "look at", "other threads, timers and the disk: between the units "
				"that read or wrote for it nothing is known of it");
		break;
	case REQUEST_STARVED:
		paragraph_format(file, "look at", "who else has the CPUs: thread %" PRIu32
				 " could not run for %s", request->tid,
				 duration_format(request->runqueue_ns, duration));
		break;
	}
}

/* Which requests, if they are of a type. */
static const char *type_clause(const struct alert_request *alert, char *ret, size_t size)
{
	ret[0] = '\0';
	if (alert->type)
		snprintf(ret, size, "that units of type %" PRIu32 " (%s) read in training ",
			 alert->record->type_id, alert->type);
	return ret;
}

static void print_usual(FILE *file, const struct alert_request *alert)
{
	char duration[DURATION_TEXT_MAX], count[TEXT_MAX], clause[PARAGRAPH_MAX];
	char part[PARAGRAPH_MAX] = "", text[DURATION_TEXT_MAX];

	if (alert->usual_part_ns)
		snprintf(part, sizeof(part), ", and half had at most %s %s",
			 duration_format(alert->usual_part_ns, text),
			 request_part_texts[alert->record->request.part - 1]);
	paragraph_format(file, "normally", "half of %s requests %stook at most %s%s",
			 text_count(alert->answered, count),
			 type_clause(alert, clause, sizeof(clause)),
			 duration_format(alert->usual_ns, duration), part);
}

void alert_request_text(FILE *file, const struct alert_request *alert, bool is_again,
			bool has_path)
{
	const struct record *record = alert->record;
	const struct slow_request *request = &record->request;
	const struct late_client *last;
	char text[PARAGRAPH_MAX], client[ADDRESS_TEXT_MAX], time[TIME_TEXT_MAX];
	char function[FUNCTION_MAX];

	print_begin(file, record, is_again);
	if (is_again && request->state != PERFGUARD_REQUEST_STATE_LASTS)
		return;
	if (!is_again) {
		paragraph_format(file, "request", "of %s, since %s",
				 address_format(request->client, client) ?: "?",
				 time_format_local(request_wall_ns(request), time));
		alert_container_text(file, record, alert->cgroup);
		if (alert->usual_ns)
			print_usual(file, alert);
	}
	if (!is_again && alert->average.elapsed_ns) {
		request_parts_text(&alert->average, text, sizeof(text));
		paragraph_print(file, "average", text);
	}
	request_parts_text(request, text, sizeof(text));
	paragraph_print(file, "spent", text);
	if (alert->where && alert->where->hotpath->nr_functions)
		alert_where_text(file, alert->where, has_path);
	for (uint32_t i = 0; i < alert->nr_there; i++)
		print_there(file, alert->there[i]);
	if (alert->nr_there) {
		last = alert->there[alert->nr_there - 1];
		print_look(file, &last->request, last->tid, last->unit, last->function);
		return;
	}
	/* Where somebody was seen earlier they may be no more. */
	function[0] = '\0';
	if (alert->where && alert->where->nr_stacks)
		hotpath_name(alert->where->hotpath, function, sizeof(function));
	print_look(file, request, record->tid, record->unit, function);
}

/* Each in the one before it. */
static void json_there(struct json *json, const struct alert_request *alert)
{
	char text[PARAGRAPH_MAX];

	for (uint32_t i = 0; i < alert->nr_there; i++) {
		const struct late_client *there = alert->there[i];

		json_object(json, "there");
		json_string(json, "comm", there->comm);
		json_u64(json, "pid", there->pid);
		json_u64(json, "tid", there->tid);
		json_u64_or_null(json, "unit", there->unit, there->unit);
		json_string(json, "function", there->function[0] ? there->function : NULL);
		alert_request_label(&there->request, text, sizeof(text));
		json_string(json, "cause", text);
	}
	for (uint32_t i = 0; i < alert->nr_there; i++)
		json_end(json);
}

uint64_t alert_request_group(const struct alert_request *alert)
{
	char cause[PARAGRAPH_MAX];

	alert_request_label(&alert->record->request, cause, sizeof(cause));
	return alert_group("request", alert->exe, NULL, alert->record->type_id,
			   hash_fnv1a(HASH_FNV1A, cause, strlen(cause)));
}

int alert_request_json(struct json *json, FILE *file, const struct alert_request *alert)
{
	const struct record *record = alert->record;
	uint32_t state = record->request.state;
	uint32_t part = record->request.part <= REQUEST_NR_PARTS ? record->request.part : 0;
	const struct request_parts parts = alert_request_parts(&record->request);
	char text[PARAGRAPH_MAX], incident[ALERT_INCIDENT_MAX];
	const struct alert_head head = {
		.kind = "request",
		.time_ns = record->time_ns,
		.seq = record->seq,
		.incident = incident,
		.group = alert_request_group(alert),
		.is_over = state != PERFGUARD_REQUEST_STATE_LASTS,
	};

	snprintf(incident, sizeof(incident), "request/%" PRIu32 "/%" PRIu64,
		 record->request.connection, record->request.begin_ns);
	alert_head_json(json, &head);
	json_string(json, "state", state < sizeof(states) / sizeof(states[0]) ? states[state] : NULL);
	json_string(json, "exe", alert->exe);
	json_string(json, "cgroup", alert->cgroup);
	container_json(json, alert->cgroup);
	json_u64_or_null(json, "ns_pid", record->ns_pid, record->ns_pid);
	json_string(json, "comm", record->comm);
	json_u64(json, "threshold_ns", record->threshold_ns);
	json_string(json, "part", part ? request_part_names[part - 1] : NULL);
	json_u64_or_null(json, "part_ns", part ? parts.of[part - 1] : 0, part);
	json_u64(json, "connection", record->request.connection);
	json_u64_or_null(json, "unit", record->unit, record->unit);
	json_u64_or_null(json, "unit_tid", record->tid, record->unit);
	request_json(json, &record->request);
	json_u64_or_null(json, "type", record->type_id, record->type_id);
	json_u64_or_null(json, "usual_ns", alert->usual_ns, alert->usual_ns);
	if (alert->average.elapsed_ns)
		request_parts_json(json, "average_ns", &alert->average);
	alert_request_label(&record->request, text, sizeof(text));
	json_string(json, "cause", text);
	if (alert->where)
		alert_where_json(json, alert->where);
	json_there(json, alert);
	return line_end(json, file);
}
