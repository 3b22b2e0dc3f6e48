// SPDX-License-Identifier: GPL-2.0

#include "app/record/structure-sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/record/recording-tables.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "out/text.h"

enum {
	/* Hits after which the hot functions are known, without a limit and, as breakpoints cost, with one. */
	REHEARSAL_HITS = 200000,
	LIMITED_HITS = 5000,
	HOT_SHARE = 50, /* a leaf with more than one hit of so many is hot */
	INNER_CALLS = 30, /* of a hot function for each system call: it is of a loop within units */
	MOST_WHILE_ON = 10, /* times its own time, which sites may add while they are on */
};

/* How long to wait for those. */
#define REHEARSAL_NS (2 * NSEC_PER_SEC)
/* How often the program's CPU time is looked at. */
#define LOOK_NS (20 * NSEC_PER_MSEC)
/* Units are to be whole in it. */
#define LEAST_WINDOW_NS (100 * NSEC_PER_MSEC)

static bool is_limited(const struct recording *recording)
{
	return recording->slowdown.most > 0;
}

static bool are_on(const struct recording *recording)
{
	return !recording->disarmed_ns;
}

/* What a hit of a function of the trace counts for. */
static double weight_of(const struct recording *recording, uint32_t function)
{
	return recording_is_window(recording, recording->source[function]) ? SLOWDOWN_INLINE_HIT : 1;
}

/* Of an event in the stage; what is lost is mostly of records that were read together. */
static double weight(const struct recording *recording, const struct perfguard_event *event)
{
	uint32_t function = trace_number(event);

	if (recording->stage != RECORDING_STRUCTURE || !recording->is_inline)
		return 1;
	if (trace_kind(event) == PERFGUARD_EVENT_KIND_LOST)
		return SLOWDOWN_INLINE_HIT;
	return function < recording->trace.nr_functions ? weight_of(recording, function) : 1;
}

void structure_sites_count(struct recording *recording, const struct perfguard_event *events,
			   uint32_t nr)
{
	struct slowdown *slowdown = &recording->slowdown;
	double hits = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_HIT)
			hits += weight(recording, &events[i]);
		else if (trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_LOST)
			hits += (double)events[i].value * weight(recording, &events[i]);
		else if (trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_ENTER)
			recording->calls += are_on(recording);
	}
	slowdown_count(slowdown, hits);
}

/* Where it matters, and not each time that the stream has something. */
static int look_at_cpu(struct recording *recording)
{
	const struct session *session = &recording->session;
	uint64_t now_ns = time_now_ns();
	uint32_t *pids;
	int error;

	if (!is_limited(recording) || now_ns - recording->cpu_look_ns < LOOK_NS)
		return 0;
	recording->cpu_look_ns = now_ns;
	error = array_new(pids, session->nr_known);
	for (uint32_t i = 0; i < session->nr_known && !error; i++)
		pids[i] = session->processes[i].pid;
	if (!error)
		error = slowdown_look(&recording->slowdown, pids, session->nr_known);
	free(pids);
	return error ? cmd_no_memory() : 0;
}

/* The sites were on, or off, until now; none is lost that was made by then. */
static int turn_sites(struct recording *recording, bool were_on)
{
	uint64_t waits;
	int ret;

	if (!is_limited(recording))
		return 0;
	recording->cpu_look_ns = 0;
	ret = look_at_cpu(recording) ?: recording_waits(recording, &waits);
	if (!ret)
		slowdown_turn(&recording->slowdown, were_on, waits);
	return ret;
}

static int count_hits_anew(struct recording *recording)
{
	free(recording->hits);
	recording->hits = calloc(recording->trace.nr_functions + 1, sizeof(*recording->hits));
	recording->calls = 0;
	return recording->hits ? 0 : cmd_no_memory();
}

int structure_sites_begin(struct recording *recording)
{
	int ret = look_at_cpu(recording) ?: recording_begin_covered(recording);

	if (ret)
		return ret;
	ret = count_hits_anew(recording);
	if (ret)
		return ret;
	slowdown_begin(&recording->slowdown);
	recording->is_rehearsal = true;
	recording->on_ns = 0;
	recording->rehearsed_ns = time_now_ns();
	return turn_sites(recording, false) ?: recording_arm_trace(recording);
}

struct hot_function {
	double hits; /* by what they cost, as those of the slowdown */
	uint32_t function; /* of the trace */
	bool is_leaf;
};

static int by_falling_hits(const void *a, const void *b)
{
	const struct hot_function *left = a, *right = b;

	return order_of(right->hits, left->hits);
}

/*
 * Hot leaves make most of the events and show nothing of the tree's shape.  Nor do functions of loops
 * within units, which may be called only later.
 */
static bool is_to_go(const struct recording *recording, const struct hot_function *hot, double sum)
{
	if (hot->hits <= sum / HOT_SHARE)
		return false;
	return (hot->is_leaf && recording->is_rehearsal) ||
	       (is_limited(recording) && hot->hits > INNER_CALLS * (double)(recording->calls + 1));
}

/*
 * How much of the program's own time sites may take while they are on.  With a limit the hottest
 * others go, too, until units are short enough for many to be whole in a window; where most functions
 * jump, breakpoints until the sites need not be off at all, as far as that can be seen at first.
 */
static double most_while_on(const struct recording *recording, const struct hot_function *hot)
{
	if (recording->is_inline && recording->is_rehearsal &&
	    !recording_is_window(recording, recording->source[hot->function]))
		return recording->slowdown.most;
	return MOST_WHILE_ON;
}

static uint32_t leave_out(struct recording *recording, struct hot_function *hot, double sum)
{
	const struct slowdown *slowdown = &recording->slowdown;
	double own_ns = slowdown_own_ns(slowdown, slowdown->hits, slowdown->cpu_ns);
	uint32_t nr = recording->trace.nr_functions, left_out = 0;
	double hits = sum;

	qsort(hot, nr, sizeof(*hot), by_falling_hits);
	for (uint32_t i = 0; i < nr; i++) {
		double sites = hits * slowdown->hit_ns;

		if (!is_to_go(recording, &hot[i], sum) &&
		    !(is_limited(recording) &&
		      sites > most_while_on(recording, &hot[i]) * own_ns))
			continue;
		recording->covered[recording->source[hot[i].function]] = false;
		hits -= hot[i].hits;
		left_out++;
	}
	/* So many may be in the next window. */
	if (left_out && hits < slowdown->window_hits)
		recording->slowdown.window_hits = hits;
	return left_out;
}

static int find_hot(struct recording *recording, uint32_t *ret_nr)
{
	struct hot_function *hot;
	double sum = 0;
	uint32_t nr = recording->trace.nr_functions;

	if (array_new(hot, nr))
		return cmd_no_memory();
	for (uint32_t i = 0; i < nr; i++) {
		hot[i] = (struct hot_function){
			.hits = (double)recording->hits[i] * weight_of(recording, i),
			.function = i,
			.is_leaf = recording->program.functions[recording->source[i]].is_leaf,
		};
		sum += hot[i].hits;
	}
	*ret_nr = leave_out(recording, hot, sum);
	free(hot);
	return 0;
}

static uint64_t sum_of_hits(const struct recording *recording)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < recording->trace.nr_functions; i++)
		sum += recording->hits[i];
	return sum;
}

/* The trace begins again without the functions that are hot, if there are any: then no site is on. */
static int leave_out_hot(struct recording *recording, bool *ret_any)
{
	uint32_t left_out = 0;
	int ret = find_hot(recording, &left_out);

	*ret_any = left_out;
	if (ret || !left_out)
		return ret;
	log_progress("structure: %" PRIu32 " hot function%s left out", left_out,
		     left_out == 1 ? " is" : "s are");
	if (are_on(recording))
		ret = recording_disarm(recording);
	return ret ?: recording_drop(recording) ?: recording_begin_covered(recording) ?:
	       count_hits_anew(recording);
}

static int end_window(struct recording *recording, bool *ret_any)
{
	int ret;

	recording->on_ns += time_now_ns() - recording->armed_ns;
	/* What is in the stream by now is of the window; some functions may be hot only now. */
	ret = recording_disarm(recording) ?: recording_read(recording) ?:
	      turn_sites(recording, true) ?: leave_out_hot(recording, ret_any);
	slowdown_settle(&recording->slowdown);
	return ret;
}

/* The stage begins again without the hot functions. */
static int end_rehearsal(struct recording *recording)
{
	uint64_t sum = sum_of_hits(recording);
	bool any, is_enough = is_limited(recording) ? recording->slowdown.hits >= LIMITED_HITS
						    : sum >= REHEARSAL_HITS;
	int ret;

	if (!sum)
		recording->rehearsed_ns = time_now_ns();
	if (!is_enough &&
	    time_now_ns() - recording->rehearsed_ns < REHEARSAL_NS)
		return 0;
	ret = is_limited(recording) ? end_window(recording, &any) : leave_out_hot(recording, &any);
	recording->is_rehearsal = false;
	if (!ret && any && !is_limited(recording))
		ret = recording_arm_trace(recording);
	return ret || !any ? ret : recording_begin_again(recording);
}

/* Events before are no part of what comes: as if they had been lost. */
static int begin_window(struct recording *recording)
{
	struct perfguard_event gap = {
		.what = (uint32_t)PERFGUARD_EVENT_KIND_LOST << TRACE_KIND_SHIFT,
	};
	int ret = recording_drop(recording);

	recording->slowdown.window_hits = 0;
	ret = ret ?: turn_sites(recording, false) ?: recording_arm_trace(recording);
	if (ret)
		return ret;
	gap.time_ns = recording->armed_ns;
	return trace_add(&recording->trace, &gap, 1) ? cmd_no_memory() : 0;
}

/* Sites go on and off, as the limit allows. */
static int turn_windows(struct recording *recording)
{
	const struct slowdown *slowdown = &recording->slowdown;
	bool any;

	if (!are_on(recording))
		return slowdown_may_begin(slowdown) ? begin_window(recording) : 0;
	if (time_now_ns() - recording->armed_ns < LEAST_WINDOW_NS || !slowdown_is_over(slowdown))
		return 0;
	return end_window(recording, &any);
}

int structure_sites_turn(struct recording *recording)
{
	int ret = look_at_cpu(recording);

	if (ret)
		return ret;
	if (recording->is_rehearsal)
		return end_rehearsal(recording);
	return is_limited(recording) ? turn_windows(recording) : 0;
}

void structure_sites_describe(const struct recording *recording, char ret[STRUCTURE_SITES_TEXT_MAX])
{
	const struct slowdown *slowdown = &recording->slowdown;
	uint64_t on_ns = recording->on_ns;
	char text[DURATION_TEXT_MAX];

	ret[0] = '\0';
	if (recording->stage != RECORDING_STRUCTURE || !is_limited(recording))
		return;
	if (are_on(recording))
		on_ns += time_now_ns() - recording->armed_ns;
	snprintf(ret, STRUCTURE_SITES_TEXT_MAX, "; sites were on for %s, and made it %.0f %% slower",
		 duration_format(on_ns, text),
		 100 * slowdown_of(slowdown, slowdown->hits, slowdown->cpu_ns));
}

int structure_sites_end(struct recording *recording)
{
	/* A short load is over before it. */
	recording->is_rehearsal = false;
	return are_on(recording) ? recording_disarm(recording) : 0;
}
