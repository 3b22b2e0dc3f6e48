// SPDX-License-Identifier: GPL-2.0

#include "app/record/keeping-up.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "data/trace.h"

#define SPAN_NS (2 * NSEC_PER_SEC)

enum {
	MAX_THREADS = 512, /* those that come later are not looked at */
	NR_BEHIND = 3, /* spans in a row */
};

#define LEAST_IDLE 0.1 /* what it must have had to spare */
#define NO_IDLE 0.04 /* what counts as none */
#define FEWER 0.9 /* of its usual rate */
#define LEAST_RATE 1.0 /* calls a second, for a rate that says something */

void keeping_up_begin(struct keeping_up *keeping, bool is_slowed)
{
	keeping->begin_ns = 0;
	keeping->nr_spans = 0;
	keeping->is_slowed = is_slowed;
	for (uint32_t i = 0; i < keeping->nr; i++)
		keeping->threads[i].nr_behind = 0;
}

static int add(struct keeping_up *keeping, uint32_t at, uint32_t tid)
{
	struct keeping_thread *threads;

	if (array_grow(keeping->threads, keeping->nr, keeping->max))
		return -ENOMEM;
	threads = keeping->threads;
	memmove(&threads[at + 1], &threads[at], (keeping->nr - at) * sizeof(*threads));
	threads[at] = (struct keeping_thread){ .tid = tid, .busy_ns = UINT64_MAX };
	keeping->nr++;
	return 0;
}

int keeping_up_count(struct keeping_up *keeping, const struct perfguard_event *events, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct keeping_thread *threads = keeping->threads;
		uint32_t tid = events[i].tid, at;

		if (trace_kind(&events[i]) != PERFGUARD_EVENT_KIND_ENTER)
			continue;
		at = (uint32_t)array_bisect(k, keeping->nr, threads[k].tid >= tid);
		if (at == keeping->nr || threads[at].tid != tid) {
			if (keeping->nr >= MAX_THREADS)
				continue;
			if (add(keeping, at, tid))
				return -ENOMEM;
		}
		keeping->threads[at].calls++;
	}
	return 0;
}

double keeping_up_usual_rate(const struct keeping_thread *thread)
{
	return (double)thread->usual_calls * NSEC_PER_SEC / (double)thread->usual_ns;
}

double keeping_up_usual_idle(const struct keeping_thread *thread)
{
	return 1 - (double)thread->usual_busy_ns / (double)thread->usual_ns;
}

/* Judge it by a span in which it was busy for so long. */
static void judge(struct keeping_thread *thread, uint64_t busy_ns, uint64_t span_ns)
{
	double rate = (double)thread->calls * NSEC_PER_SEC / (double)span_ns, usual;

	if (!thread->usual_ns || keeping_up_usual_idle(thread) < LEAST_IDLE)
		return;
	usual = keeping_up_usual_rate(thread);
	if ((double)busy_ns < (1 - NO_IDLE) * (double)span_ns || usual < LEAST_RATE ||
	    rate > FEWER * usual) {
		thread->nr_behind = 0;
		return;
	}
	if (!thread->nr_behind)
		thread->behind_ns = 0;
	thread->rate = rate;
	thread->behind_ns += span_ns;
	thread->nr_behind++;
}

/* The first span of a stage has what begins it. */
static void take_usual(struct keeping_thread *thread, uint64_t busy_ns, uint64_t span_ns)
{
	thread->usual_calls += thread->calls;
	thread->usual_busy_ns += busy_ns;
	thread->usual_ns += span_ns;
}

static void end_span(struct keeping_up *keeping, uint64_t span_ns, uint64_t (*busy)(uint32_t tid))
{
	for (uint32_t i = 0; i < keeping->nr; i++) {
		struct keeping_thread *thread = &keeping->threads[i];
		uint64_t now = busy(thread->tid), before = thread->busy_ns;
		bool is_known = now != UINT64_MAX && before != UINT64_MAX && now >= before;

		if (is_known && keeping->begin_ns && keeping->is_slowed)
			judge(thread, now - before, span_ns);
		else if (is_known && keeping->begin_ns && keeping->nr_spans)
			take_usual(thread, now - before, span_ns);
		thread->busy_ns = now;
		thread->calls = 0;
	}
}

const struct keeping_thread *keeping_up_look(struct keeping_up *keeping, uint64_t now_ns,
					     uint64_t (*busy)(uint32_t tid))
{
	uint64_t span_ns = now_ns - keeping->begin_ns;

	if (keeping->begin_ns && span_ns < SPAN_NS)
		return NULL;
	end_span(keeping, span_ns, busy);
	keeping->nr_spans += keeping->begin_ns != 0;
	keeping->begin_ns = now_ns;
	for (uint32_t i = 0; i < keeping->nr; i++)
		if (keeping->threads[i].nr_behind >= NR_BEHIND)
			return &keeping->threads[i];
	return NULL;
}

uint64_t keeping_up_busy_ns(uint32_t tid)
{
	uint64_t ran_ns, waited_ns;
	char path[48];
	FILE *file;
	int nr;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/schedstat", tid);
	file = fopen(path, "re");
	if (!file)
		return UINT64_MAX;
	nr = fscanf(file, "%" SCNu64 " %" SCNu64, &ran_ns, &waited_ns);
	fclose(file);
	return nr == 2 ? ran_ns + waited_ns : UINT64_MAX;
}

void keeping_up_deinit(struct keeping_up *keeping)
{
	free(keeping->threads);
	*keeping = (struct keeping_up){ 0 };
}
