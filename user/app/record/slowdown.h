/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much slower sites make a program.
 *
 * The hits say how much of the program's CPU time is the sites', and the rest is its own.  An
 * operator allows a share of the latter.  While sites are on that may be exceeded; they stay off
 * until what they took is within the share again.  A hit that is recorded by a jump counts as a
 * small part of one.
 *
 * What a hit costs is tried out on this machine before, where others may have the CPU meanwhile, and is
 * not what it costs in this program.  So as soon as there are enough wait calls with sites on, and
 * off, the CPU time of both for a wait call says it.
 */
#ifndef _USER_APP_RECORD_SLOWDOWN_H
#define _USER_APP_RECORD_SLOWDOWN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a hit costs that is recorded by a jump, and fetched later, as a part of one by a trap: some
 * 67 instructions in place of some 950.
 */
#define SLOWDOWN_INLINE_HIT (1.0 / 16)

struct slowdown_process {
	uint32_t pid;
	uint64_t cpu_ns; /* when last looked at */
};

/* All times for which sites were on, or off. */
struct slowdown_span {
	uint64_t cpu_ns;
	uint64_t waits; /* the program's wait calls */
	double hits;
};

struct slowdown {
	double most; /* of the program's own CPU time; 0: whatever it is */
	double hit_ns; /* what a hit costs; at first as it was tried out */
	double tried_ns; /* that, once it is known better; else 0 */

	/* Since the last slowdown_begin(). */
	uint64_t cpu_ns; /* of the program, sites included */
	double hits; /* as many by traps would cost the same */
	double window_hits; /* in the last time for which the sites were on */
	struct slowdown_span spans[2]; /* sites off, on */
	struct slowdown_span turned; /* all of it, when they went on or off last */
	double all_hits; /* also those that slowdown_settle() takes for too many */
	struct slowdown_process *processes; /* by rising pid */
	uint32_t nr;
};

void slowdown_begin(struct slowdown *slowdown);

/* @pids rise.  Returns 0 or -ENOMEM. */
int slowdown_look(struct slowdown *slowdown, const uint32_t *pids, uint32_t nr);

/* Hits, of those that are on. */
void slowdown_count(struct slowdown *slowdown, double hits);

/*
 * Sites go on, or off: they were @were_on since this was called last, or since the beginning.
 * @waits: wait calls of the program since whenever.
 */
void slowdown_turn(struct slowdown *slowdown, bool were_on, uint64_t waits);

/* What is left of the CPU time without these hits, ns; some part is, however wrong the price is. */
double slowdown_own_ns(const struct slowdown *slowdown, double hits, uint64_t cpu_ns);

/* How much slower it was, as a share of its own time. */
double slowdown_of(const struct slowdown *slowdown, double hits, uint64_t cpu_ns);

/*
 * The sites are off: their hits have taken no more than there was CPU time, whatever one is said to
 * cost.  A price that was found out while others had the CPU may be many times too high.
 */
void slowdown_settle(struct slowdown *slowdown);

/* Have sites taken all that they may? */
bool slowdown_is_over(const struct slowdown *slowdown);

/* May they be on for as many hits as the last time? */
bool slowdown_may_begin(const struct slowdown *slowdown);

void slowdown_deinit(struct slowdown *slowdown);

#endif /* _USER_APP_RECORD_SLOWDOWN_H */
