// SPDX-License-Identifier: GPL-2.0

#include "app/record/slowdown.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/duration.h"

enum {
	LEAST_WAITS = 200, /* of which CPU time for a wait call is known */
	/* What a hit costs is no less than this, ns, and no more than so many times what was tried out. */
	LEAST_HIT_NS = 300,
	MOST_TIMES = 4,
};

void slowdown_begin(struct slowdown *slowdown)
{
	slowdown->cpu_ns = 0;
	slowdown->hits = slowdown->window_hits = slowdown->all_hits = 0;
	memset(slowdown->spans, 0, sizeof(slowdown->spans));
	slowdown->turned = (struct slowdown_span){ .waits = UINT64_MAX };
}

void slowdown_count(struct slowdown *slowdown, double hits)
{
	slowdown->hits += hits;
	slowdown->window_hits += hits;
	slowdown->all_hits += hits;
}

/* Too few wait calls, or hits, say nothing. */
static void price_hit(struct slowdown *slowdown)
{
	const struct slowdown_span *off = &slowdown->spans[false], *on = &slowdown->spans[true];
	double own_ns, hit_ns;

	if (off->waits < LEAST_WAITS || on->waits < LEAST_WAITS || on->hits < LEAST_WAITS)
		return;
	own_ns = (double)off->cpu_ns / (double)off->waits * (double)on->waits;
	hit_ns = ((double)on->cpu_ns - own_ns) / on->hits;
	if (!(slowdown->tried_ns > 0))
		slowdown->tried_ns = slowdown->hit_ns;
	slowdown->hit_ns = fmin(fmax(hit_ns, LEAST_HIT_NS), MOST_TIMES * slowdown->tried_ns);
}

void slowdown_turn(struct slowdown *slowdown, bool were_on, uint64_t waits)
{
	struct slowdown_span *span = &slowdown->spans[were_on], *turned = &slowdown->turned;

	if (turned->waits <= waits) {
		span->cpu_ns += slowdown->cpu_ns - turned->cpu_ns;
		span->waits += waits - turned->waits;
		span->hits += slowdown->all_hits - turned->hits;
		price_hit(slowdown);
	}
	*turned = (struct slowdown_span){ slowdown->cpu_ns, waits, slowdown->all_hits };
}

/* CPU time of a process; 0 if it is gone. */
static uint64_t cpu_of(uint32_t pid)
{
	struct timespec at;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &at))
		return 0;
	return (uint64_t)at.tv_sec * NSEC_PER_SEC + (uint64_t)at.tv_nsec;
}

static uint64_t cpu_before(const struct slowdown *slowdown, uint32_t pid)
{
	const struct slowdown_process *known = slowdown->processes;
	uint32_t at = (uint32_t)array_bisect(i, slowdown->nr, known[i].pid >= pid);

	return at < slowdown->nr && known[at].pid == pid ? known[at].cpu_ns : UINT64_MAX;
}

int slowdown_look(struct slowdown *slowdown, const uint32_t *pids, uint32_t nr)
{
	struct slowdown_process *now;

	if (array_new(now, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t before = cpu_before(slowdown, pids[i]);

		now[i] = (struct slowdown_process){ pids[i], cpu_of(pids[i]) };
		/* One that is new may have run long before. */
		if (now[i].cpu_ns > before)
			slowdown->cpu_ns += now[i].cpu_ns - before;
	}
	free(slowdown->processes);
	slowdown->processes = now;
	slowdown->nr = nr;
	return 0;
}

double slowdown_own_ns(const struct slowdown *slowdown, double hits, uint64_t cpu_ns)
{
	double own_ns = (double)cpu_ns - hits * slowdown->hit_ns;

	return fmax(own_ns, (double)cpu_ns / 100);
}

double slowdown_of(const struct slowdown *slowdown, double hits, uint64_t cpu_ns)
{
	double own_ns = slowdown_own_ns(slowdown, hits, cpu_ns);

	return own_ns > 0 ? hits * slowdown->hit_ns / own_ns : 0;
}

void slowdown_settle(struct slowdown *slowdown)
{
	double own_ns = slowdown_own_ns(slowdown, slowdown->hits, slowdown->cpu_ns);
	double most = ((double)slowdown->cpu_ns - own_ns) / slowdown->hit_ns;

	if (!(slowdown->hits > most))
		return;
	slowdown->window_hits *= most / slowdown->hits;
	slowdown->hits = most;
}

bool slowdown_is_over(const struct slowdown *slowdown)
{
	return slowdown_of(slowdown, slowdown->hits, slowdown->cpu_ns) > slowdown->most;
}

bool slowdown_may_begin(const struct slowdown *slowdown)
{
	double hits = slowdown->hits + slowdown->window_hits;
	uint64_t cpu_ns = slowdown->cpu_ns +
			  (uint64_t)(slowdown->window_hits * slowdown->hit_ns);

	return slowdown_of(slowdown, hits, cpu_ns) <= slowdown->most;
}

void slowdown_deinit(struct slowdown *slowdown)
{
	free(slowdown->processes);
}
