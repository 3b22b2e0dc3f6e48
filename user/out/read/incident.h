/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An incident: a late unit, one that fits no type, one that was stopped, or a
 * late request, over all lines that report it.  Incidents that are alike have
 * the same group: program, type, and the functions on the hot path.
 */
#ifndef _USER_OUT_READ_INCIDENT_H
#define _USER_OUT_READ_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/hash-index.h"

/* The cause of a request, as alert_request_label() has it. */
#define INCIDENT_IN_UNITS "in its own units"

enum incident_kind {
	INCIDENT_LATE,
	INCIDENT_NOVEL, /* fits no type, and is not late */
	INCIDENT_STOPPED, /* in time without that */
	INCIDENT_SLOW, /* of the slowest that an audit saw; no limit says that it is late */
	INCIDENT_REQUEST,
	INCIDENT_SLOW_REQUEST,
	INCIDENT_NR_KINDS,
};

/* A line that is kept. */
struct incident_line {
	char *text;
	size_t len;
	uint32_t before; /* of the same incident, or HASH_INDEX_NONE */
};

struct incident {
	enum incident_kind kind;
	bool has_ended;
	uint64_t group; /* a hash */
	uint64_t seq; /* of its first line; 0: none */
	uint64_t begin_ns; /* CLOCK_REALTIME; 0: not known */
	uint64_t elapsed_ns; /* the longest that was reported */
	double factor; /* of its limit; 0: none */
	uint32_t last_line; /* index into incidents.lines, or HASH_INDEX_NONE */
};

struct incidents {
	struct incident *of;
	size_t max;
	uint32_t nr;
	struct hash_index by_id;
	struct incident_line *lines;
	size_t max_lines;
	uint32_t nr_lines;
	size_t kept_bytes;
	bool is_full; /* no more lines are kept */
	uint64_t nr_left_out; /* lines of incidents that were too many */
};

/* Return: true if lines of this kind are of incidents. */
bool incident_is_of(const char *kind);

/* Take such a line. */
int incidents_add(struct incidents *incidents, const json_t *object, const char *text, size_t len);
void incidents_deinit(struct incidents *incidents);

/* "late", "fits no type", ... */
const char *incident_kind_name(enum incident_kind kind);

/* Return: true if it is one of a client's request, and of no unit. */
static inline bool incident_is_request(enum incident_kind kind)
{
	return kind >= INCIDENT_REQUEST;
}

#endif /* _USER_OUT_READ_INCIDENT_H */
