// SPDX-License-Identifier: GPL-2.0

#include "out/alert/alert.h"

#include <math.h>

#include <linux/perfguard.h>

/* Of the margin's units, see the netlink spec. */
#define MARGIN_PER_BIT 4

const char *alert_kind_name(uint32_t kind)
{
	switch (kind) {
	case PERFGUARD_RECORD_KIND_LATE:
		return "late";
	case PERFGUARD_RECORD_KIND_ENDED:
		return "ended";
	case PERFGUARD_RECORD_KIND_LOST:
		return "lost";
	case PERFGUARD_RECORD_KIND_WAIT:
		return "wait";
	case PERFGUARD_RECORD_KIND_NOVEL:
		return "novel";
	}
	return "?";
}

const char *alert_found_by_name(uint32_t found_by)
{
	switch (found_by) {
	case PERFGUARD_FOUND_BY_GUARD:
		return "guard";
	case PERFGUARD_FOUND_BY_OVERDUE:
		return "overdue";
	case PERFGUARD_FOUND_BY_END:
		return "end";
	}
	return NULL;
}

const char *alert_state_name(uint32_t state)
{
	switch (state) {
	case PERFGUARD_STACK_STATE_SELF:
		return "self";
	case PERFGUARD_STACK_STATE_RUNNING:
		return "running";
	case PERFGUARD_STACK_STATE_BLOCKED:
		return "blocked";
	}
	return NULL;
}

/*
 * The odds of the best type against the next one, if it is one of these two.
 * They suppose that all guards are on.  If one is off, which might have told
 * another type, half of what they are beyond a coin's toss is left.
 */
double alert_confidence(const struct record *record)
{
	double ret = 1 / (1 + exp2(-(double)record->margin / MARGIN_PER_BIT));

	if (!record->profile_id || !record->type_id)
		return -1;
	return record->is_degraded ? 0.5 + (ret - 0.5) / 2 : ret;
}
