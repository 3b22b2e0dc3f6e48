/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units that are in time except for the run queue, so that the machine is what is slow: reported
 * once for the time that it lasts, and not unit by unit.
 *
 * It begins when, between two readings of the module's sums, ten units and one in a hundred
 * were starved, and is over when that has not been so for ten seconds.
 */
#ifndef _USER_OUT_ALERT_STARVATION_H
#define _USER_OUT_ALERT_STARVATION_H

#include <stdbool.h>
#include <stdint.h>

/* Of all guarded types, ever rising while no profile comes or goes. */
struct starvation_sums {
	uint64_t units;
	uint64_t starved;
};

enum starvation_change {
	STARVATION_NONE,
	STARVATION_BEGUN,
	STARVATION_OVER,
};

struct starvation {
	bool is_on;
	uint64_t since_ns; /* of the last change */
	struct starvation_sums counts; /* since it began */
	/* private: */
	bool has_begun;
	uint64_t read_ns; /* the reading before, */
	struct starvation_sums read; /* and what it had */
	uint64_t seen_ns; /* end of the last interval with starved units */
};

/* A reading.  Times are of any one clock. */
enum starvation_change starvation_update(struct starvation *starvation,
					 const struct starvation_sums *sums, uint64_t now_ns);

#endif /* _USER_OUT_ALERT_STARVATION_H */
