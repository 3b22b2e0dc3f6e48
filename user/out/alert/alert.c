// SPDX-License-Identifier: GPL-2.0

#include "out/alert/alert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <linux/perfguard.h>

/* Of the margin's units, see the netlink spec. */
#define MARGIN_PER_BIT 4

const char *alert_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[PERFGUARD_RECORD_KIND_LATE] = "late", [PERFGUARD_RECORD_KIND_ENDED] = "ended",
		[PERFGUARD_RECORD_KIND_LOST] = "lost", [PERFGUARD_RECORD_KIND_WAIT] = "wait",
		[PERFGUARD_RECORD_KIND_NOVEL] = "novel",
		[PERFGUARD_RECORD_KIND_REQUEST] = "request",
	};

	return kind && kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

bool alert_is_stop(const struct record *record)
{
	return record->part == PERFGUARD_PART_STOPPED;
}

char *alert_stopper(const struct alert *alert, char text[PARAGRAPH_MAX])
{
	const struct record *record = alert->record;
	const char *signal = sigabbrev_np((int)record->stopped_by);

	switch (record->stop_cause) {
	case PERFGUARD_STOP_CAUSE_SIGNAL:
		snprintf(text, PARAGRAPH_MAX, "%s%s", signal ? "SIG" : "a signal",
			 signal ? signal : "");
		break;
	case PERFGUARD_STOP_CAUSE_TRACER:
		snprintf(text, PARAGRAPH_MAX, "process %" PRIu32 "%s%s%s, which traces it",
			 record->stopped_by, alert->tracer ? " (" : "",
			 alert->tracer ? alert->tracer : "", alert->tracer ? ")" : "");
		break;
	default:
		snprintf(text, PARAGRAPH_MAX, "the freezer of its cgroup%s%s",
			 alert->cgroup ? " " : "", alert->cgroup ? alert->cgroup : "");
	}
	return text;
}

/*
 * The odds of the best type against the next one, if it is one of these two.
 * They suppose that all guards are on.  If one is off, which might have pointed to
 * another type, half of what they are beyond a coin's toss is left.
 */
double alert_confidence(const struct record *record)
{
	double ret = 1 / (1 + exp2(-(double)record->margin / MARGIN_PER_BIT));

	if (!record->profile_id || !record->type_id)
		return -1;
	return record->is_degraded ? 0.5 + (ret - 0.5) / 2 : ret;
}
