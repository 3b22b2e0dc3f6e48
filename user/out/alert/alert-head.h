/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every alert begins with in JSON, for those who collect alerts of many machines: how much
 * it matters, and the keys by which one is not taken twice, by which what is reported of one
 * incident belongs together, and by which incidents are alike.
 */
#ifndef _USER_OUT_ALERT_ALERT_HEAD_H
#define _USER_OUT_ALERT_ALERT_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "out/journal.h"
#include "out/json.h"

enum { ALERT_INCIDENT_MAX = 64 };

struct alert_head {
	const char *kind;
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint64_t seq; /* 0: it is of no record */
	const char *incident; /* what it is of, among all of this load of the module; NULL: nothing */
	uint64_t group; /* equal ones have the same, on all machines; 0: not known */
	bool is_over; /* what was reported before has ended */
};

/* Begin the line. */
void alert_head_json(struct json *json, const struct alert_head *head);

/* By its kind; what is over is a notice at most. */
enum journal_priority alert_severity(const char *kind, bool is_over);

/* The group of what is of this kind, program and type, and has @path in common (see FOLD_NOVEL, too). */
uint64_t alert_group(const char *kind, const char *exe, const char *build_id, uint32_t type,
		     uint64_t path);

#endif /* _USER_OUT_ALERT_ALERT_HEAD_H */
