// SPDX-License-Identifier: GPL-2.0

#include "out/alert/alert.h"

#include <math.h>

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
