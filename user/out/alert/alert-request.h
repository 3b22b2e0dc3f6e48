/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client's request that takes longer than its limit, as an operator sees it.
 */
#ifndef _USER_OUT_ALERT_ALERT_REQUEST_H
#define _USER_OUT_ALERT_ALERT_REQUEST_H

#include <stdint.h>
#include <stdio.h>

#include <perfguard/request-part.h>

#include "data/alert-record.h"
#include "out/json.h"

struct alert;

/* Where most of a request's time went. */
enum request_cause {
	REQUEST_PEER, /* waiting for whom the program asked */
	REQUEST_UNITS, /* in the units that served it */
	REQUEST_QUEUE, /* until it was read */
	REQUEST_HANDED, /* until a thread began with it that another one had given it to */
	REQUEST_TIMER, /* until a timer of the program went on with it */
	REQUEST_BETWEEN, /* in none of these */
	REQUEST_STARVED, /* in any of these but the first, waiting for a CPU */
};

/* Of a longer chain of processes the end is not printed. */
enum { MAX_THERE = 8 };

enum { FUNCTION_MAX = 64 }; /* bytes of a function's name; what is more is cut off */

/* A late request that lasts, of any target. */
struct late_client {
	uint32_t target_id;
	uint32_t pid;
	uint32_t tid; /* that works for it, or read it */
	uint64_t unit; /* that works for it; 0: none does */
	char comm[16];
	char function[FUNCTION_MAX]; /* where that is; "" if not known */
	struct slow_request request;
};

struct alert_request {
	const struct record *record; /* of kind request */
	const char *exe; /* NULL if not known, like the next two */
	const char *cgroup;
	const struct alert *where; /* the stacks of who worked for it, with their hot path */
	uint64_t usual_ns; /* half of the requests took at most so long; 0: not known */
	uint64_t usual_part_ns; /* the same of the part by whose limit it is late; 0: it is by none */
	uint64_t answered; /* how many requests that is of */
	struct slow_request average; /* of the target's requests; no time: not known */
	const char *type; /* those that units of this type read, in training; NULL: the target's */
	/* What whom it waits for does for it, whom that waits for, and so on. */
	const struct late_client *there[MAX_THERE];
	uint32_t nr_there;
};

/* Of the part by whose limit it is late, or of all of its time. */
enum request_cause alert_request_cause(const struct slow_request *request);

/* What counts of each part, ns. */
struct request_parts alert_request_parts(const struct slow_request *request);

/* "waiting for 127.0.0.1:8080"; @size is more than that takes. */
void alert_request_label(const struct slow_request *request, char *ret, size_t size);

/*
 * A block of lines; a few if it was printed before, when @is_again, and the path where
 * it works with @has_path.
 */
void alert_request_text(FILE *file, const struct alert_request *alert, bool is_again,
			bool has_path);

/* A line of kind "request".  Returns what json_end_line() does. */
/* See alert_head.group: by program, type and cause. */
uint64_t alert_request_group(const struct alert_request *alert);

int alert_request_json(struct json *json, FILE *file, const struct alert_request *alert);

#endif /* _USER_OUT_ALERT_ALERT_REQUEST_H */
