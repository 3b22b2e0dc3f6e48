// SPDX-License-Identifier: GPL-2.0

#include "train/loops/loop-shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "train/loops/wait-shape.h"

enum {
	REPEAT_LEVELS = 3, /* the same for a call that is repeated */
	NEAR_LEVELS = 5, /* calls from the loop's frame in which a dispatch is looked for */
	MAX_CALLEES = 8, /* of a dispatch, told apart */
	MAX_GROUPS = 256, /* of a loop; there are few but in code that makes no sense */
	TINY_CALLS = 8, /* a segment with fewer says nothing */
	NR_SIZES = 4 * 32,
};

/* It is made in this share of the segments with work, and has, */
static const double OFTEN = 0.2;
/* in this share of those, most of their work under it. */
static const double MOST_SEGMENTS = 0.5;
static const double MOST_WORK = 0.6;
/* Nearly all waits are for any of several things; they bring several at once. */
static const double NEARLY_ALL = 0.9;
/* A queue that is taken from without a wait is no case for a dispatch. */
static const double SELDOM = 0.05;
/* Segments that differ from their wait by less are taken for accidents. */
static const double ACCIDENTS = 0.002;

/*
 * A function that makes indirect calls in a loop, at one depth; or one direct
 * call of it.
 */
struct group {
	uint32_t function;
	uint32_t depth;
	bool is_direct;
	struct course_site site; /* of a direct call */
	bool has_wait; /* the loop waits under it */
	uint64_t repeated; /* segments in which it was made more than once */
	uint64_t work; /* calls under it, over all segments */
	uint64_t dispatches;
	uint64_t present; /* segments with work in which it was made */
	uint64_t segments; /* with most of their work under it */
	uint32_t callees[MAX_CALLEES];
	uint32_t nr_callees;
	uint32_t most; /* in a segment */
	/* In the segment at hand. */
	uint32_t here;
	uint64_t calls;
};

/* What is counted of a loop. */
struct survey {
	struct course *course;
	struct group *groups;
	uint32_t nr_groups;
	uint64_t worked; /* segments that are not tiny */
	uint64_t work; /* calls in them */
	uint64_t sizes[NR_SIZES]; /* of those, by calls: powers of two, each in four */
	uint64_t of_many; /* waits for any of several things */
};

struct surveyor {
	struct survey *surveys; /* by loop */
	/* The thread's segment. */
	uint64_t calls;
	uint32_t waits;
	bool is_open;
	uint32_t of_level[NEAR_LEVELS]; /* group by which the frame was called */
};

static const struct walk_frame *last_frame(const struct pass *pass)
{
	return &pass->walk.frames[pass->walk.nr_frames - 1];
}

static bool is_site(const struct course_site *site, const struct walk_frame *frame)
{
	return site->object == frame->object && site->offset == frame->return_offset;
}

/* Was the frame's function called, and not jumped to by the one that was? */
static bool is_callee(const struct walk_frame *frame)
{
	return !frame->call || frame->call->callee == TRACE_NONE ||
	       frame->call->callee == frame->function;
}

static bool leads_to_wait(const struct course *course, const struct walk_frame *frame)
{
	for (uint32_t i = 0; i < course->nr_chains; i++)
		if (is_site(&course->chains[i], frame))
			return true;
	return false;
}

bool course_is_chain(const struct course *course, const struct pass *pass)
{
	return pass->walk.nr_frames == 1 && is_callee(last_frame(pass)) &&
	       leads_to_wait(course, last_frame(pass));
}

/*
 * The function that called the last frame, and the depth of its frame; if it is
 * one that may dispatch, and not the loop's on the way to its wait.
 */
static bool dispatcher_of(const struct course *course, const struct pass *pass,
			  uint32_t *ret_function, uint32_t *ret_depth)
{
	const struct walk *walk = &pass->walk;
	const struct walk_frame *frame = last_frame(pass);

	if (walk->nr_frames > NEAR_LEVELS || !frame->call || !frame->call->is_indirect ||
	    !frame->call->is_in_loop)
		return false;
	if (walk->nr_frames == 1 && leads_to_wait(course, frame))
		return false;
	*ret_function = TRACE_NONE;
	*ret_depth = 0;
	if (walk->nr_frames > 1) {
		const struct walk_frame *caller = frame - 1;

		if (frame->call->caller != caller->function)
			return false;
		*ret_function = caller->function;
		*ret_depth = (uint32_t)(pass->loop_sp - caller->sp);
	}
	return true;
}

/* The same of a direct call that a segment may make for each of its events. */
static bool repeater_of(const struct course *course, const struct pass *pass,
			uint32_t *ret_function, uint32_t *ret_depth)
{
	const struct walk *walk = &pass->walk;
	const struct walk_frame *frame = last_frame(pass);

	if (walk->nr_frames > REPEAT_LEVELS || !frame->call || frame->call->is_indirect ||
	    !is_callee(frame))
		return false;
	if (walk->nr_frames == 1 && leads_to_wait(course, frame))
		return false;
	*ret_function = walk->nr_frames > 1 ? frame[-1].function : TRACE_NONE;
	*ret_depth = walk->nr_frames > 1 ? (uint32_t)(pass->loop_sp - frame[-1].sp) : 0;
	return true;
}

static bool is_repeat(const struct course *course, const struct pass *pass, uint32_t level)
{
	const struct walk_frame *frame = &pass->walk.frames[level];
	uint64_t caller_sp = level ? frame[-1].sp : pass->loop_sp;

	return is_site(&course->repeat, frame) && is_callee(frame) &&
	       pass->loop_sp - caller_sp == course->dispatcher_depth;
}

bool course_is_dispatch(const struct course *course, const struct pass *pass)
{
	uint32_t function, depth;

	if (course->is_repeat)
		return is_repeat(course, pass, pass->walk.nr_frames - 1);
	return course->mode == COURSE_DISPATCH && dispatcher_of(course, pass, &function, &depth) &&
	       function == course->dispatcher && depth == course->dispatcher_depth;
}

bool course_is_under_dispatch(const struct course *course, const struct pass *pass)
{
	for (uint32_t i = 0; i < pass->walk.nr_frames; i++) {
		const struct walk_frame *frame = &pass->walk.frames[i];
		uint64_t caller_sp = i ? pass->walk.frames[i - 1].sp : pass->loop_sp;

		if (pass->loop_sp - caller_sp > course->dispatcher_depth)
			break;
		if (course->is_repeat && is_repeat(course, pass, i))
			return true;
		if (course->is_repeat)
			continue;
		if (pass->loop_sp - caller_sp == course->dispatcher_depth)
			return frame->call && frame->call->is_indirect &&
			       frame->call->is_in_loop && (i || !leads_to_wait(course, frame));
	}
	return false;
}

/* First pass: by which calls the loop's function comes to its wait. */
static int note_chain(struct pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;
	struct course *course = surveyor->surveys[pass->loop].course;
	const struct walk_frame *frame = pass->walk.frames;
	struct course_site *site = course->chains;

	course->waits++;
	surveyor->surveys[pass->loop].of_many +=
		shape_kind_of(trace_number(pass->event) & TRACE_SYSCALL_MASK) == SHAPE_MANY;
	if (!pass->walk.nr_frames || frame->object == TRACE_NONE)
		return 0;
	if (frame->call)
		course->owner = frame->call->caller;
	while (site < course->chains + course->nr_chains && !is_site(site, frame))
		site++;
	if (site == course->chains + COURSE_MAX_CHAINS)
		return 0;
	if (site == course->chains + course->nr_chains) {
		*site = (struct course_site){
			.object = frame->object,
			.offset = frame->return_offset,
		};
		course->nr_chains++;
	}
	site->seen++;
	return 0;
}

static int by_seen(const void *a, const void *b)
{
	const struct course_site *left = a, *right = b;

	if (left->seen != right->seen)
		return left->seen < right->seen ? 1 : -1;
	if (left->object != right->object)
		return left->object < right->object ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Sizes of 4 calls and more; a quarter of a power of two is near enough. */
static uint32_t size_bucket(uint64_t calls)
{
	uint32_t shift = 0;

	for (; calls >= 8; calls /= 2)
		shift++;
	shift = shift * 4 + (uint32_t)(calls & 3);
	return shift < NR_SIZES ? shift : NR_SIZES - 1;
}

static uint32_t typical_size(const struct survey *survey)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < NR_SIZES; i++) {
		seen += survey->sizes[i];
		if (2 * seen > survey->worked)
			return (uint32_t)((4 + (uint64_t)i % 4) << (i / 4));
	}
	return 0;
}

static void close_segment(struct surveyor *surveyor, struct survey *survey)
{
	struct course *course = survey->course;
	bool worked = surveyor->calls >= TINY_CALLS;

	if (surveyor->is_open) {
		course->segments++;
		course->unbroken += !surveyor->waits;
		course->repeated += surveyor->waits > 1 ? surveyor->waits - 1 : 0;
		survey->worked += worked;
		survey->work += worked ? surveyor->calls : 0;
		survey->sizes[size_bucket(surveyor->calls)] += worked;
	}
	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		struct group *group = &survey->groups[i];

		if (surveyor->is_open && worked && group->here) {
			group->present++;
			group->repeated += group->here > 1;
			group->work += group->calls;
			group->segments += (double)group->calls >=
					   MOST_WORK * (double)surveyor->calls;
		}
		if (surveyor->is_open && group->here > group->most)
			group->most = group->here;
		group->here = 0;
		group->calls = 0;
	}
	surveyor->calls = 0;
	surveyor->waits = 0;
	surveyor->is_open = false;
	for (uint32_t i = 0; i < NEAR_LEVELS; i++)
		surveyor->of_level[i] = TRACE_NONE;
}

static bool is_same_group(const struct group *a, const struct group *b)
{
	return a->function == b->function && a->depth == b->depth &&
	       a->is_direct == b->is_direct && a->site.object == b->site.object &&
	       a->site.offset == b->site.offset;
}

/* *@ret is TRACE_NONE if there are too many. */
static int group_get(struct survey *survey, const struct group *like, uint32_t *ret)
{
	struct group *grown;

	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		if (is_same_group(&survey->groups[i], like)) {
			*ret = i;
			return 0;
		}
	}
	*ret = TRACE_NONE;
	if (survey->nr_groups == MAX_GROUPS)
		return 0;
	grown = reallocarray(survey->groups, survey->nr_groups + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	survey->groups = grown;
	*ret = survey->nr_groups++;
	grown[*ret] = *like;
	return 0;
}

static void note_callee(struct group *group, uint32_t function)
{
	for (uint32_t i = 0; i < group->nr_callees; i++)
		if (group->callees[i] == function)
			return;
	if (group->nr_callees < MAX_CALLEES)
		group->callees[group->nr_callees++] = function;
}

/* Second pass: the segments, and what is under which call of them. */
static int note_call(struct pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;
	struct survey *survey = &surveyor->surveys[pass->loop];
	uint32_t level = pass->walk.nr_frames - 1, group = TRACE_NONE;
	struct group like = { 0 };
	int error;

	if (course_is_chain(survey->course, pass)) {
		close_segment(surveyor, survey);
		surveyor->is_open = true;
	}
	surveyor->calls++;
	if (level < NEAR_LEVELS) {
		surveyor->of_level[level] = TRACE_NONE;
		if (repeater_of(survey->course, pass, &like.function, &like.depth)) {
			like.is_direct = true;
			like.site.object = last_frame(pass)->object;
			like.site.offset = last_frame(pass)->return_offset;
		}
		if (like.is_direct ||
		    dispatcher_of(survey->course, pass, &like.function, &like.depth)) {
			error = group_get(survey, &like, &group);
			if (error)
				return error;
		}
		if (group != TRACE_NONE) {
			surveyor->of_level[level] = group;
			survey->groups[group].here++;
			survey->groups[group].dispatches++;
			note_callee(&survey->groups[group], last_frame(pass)->function);
		}
	}
	for (uint32_t i = 0; i <= level && i < NEAR_LEVELS; i++)
		if (surveyor->of_level[i] != TRACE_NONE)
			survey->groups[surveyor->of_level[i]].calls++;
	return 0;
}

static int note_wait(struct pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;
	struct survey *survey = &surveyor->surveys[pass->loop];

	for (uint32_t i = 0; i < pass->walk.nr_frames && i < NEAR_LEVELS; i++)
		if (surveyor->of_level[i] != TRACE_NONE)
			survey->groups[surveyor->of_level[i]].has_wait = true;
	surveyor->waits++;
	return 0;
}

/* What was cut off counts in nothing. */
static int note_leave(struct pass *pass, void *arg)
{
	struct surveyor *surveyor = arg;

	surveyor->is_open = false;
	close_segment(surveyor, &surveyor->surveys[pass->loop]);
	return 0;
}

/*
 * Could the calls of @group each handle an event?  A queue holds little things
 * too, so a call that is repeated has to have most of the work of all; and what
 * nearly all segments repeat is a step of one event.
 */
static bool may_dispatch(const struct survey *survey, const struct group *group,
			 bool brings_many)
{
	if (group->is_direct)
		return !brings_many && !group->has_wait &&
		       (double)group->work >= MOST_WORK * (double)survey->work &&
		       (double)group->repeated <= NEARLY_ALL * (double)group->present &&
		       (double)group->repeated > ACCIDENTS * (double)group->present;
	return brings_many && (group->nr_callees >= 2 || group->most >= 2);
}

/* The dispatch nearest to the loop, if there is one. */
static const struct group *find_dispatch(const struct survey *survey)
{
	const struct course *course = survey->course;
	const struct group *best = NULL;
	bool brings_many;

	brings_many = (double)survey->of_many >= NEARLY_ALL * (double)course->waits &&
		      (double)course->unbroken <= SELDOM * (double)course->segments;
	for (uint32_t i = 0; i < survey->nr_groups; i++) {
		const struct group *group = &survey->groups[i];

		if ((double)group->present < OFTEN * (double)survey->worked ||
		    (double)group->segments < MOST_SEGMENTS * (double)group->present)
			continue;
		if (!may_dispatch(survey, group, brings_many))
			continue;
		if (!best || group->depth < best->depth)
			best = group;
	}
	return best;
}

static void decide(struct survey *survey)
{
	struct course *course = survey->course;
	const struct group *group = find_dispatch(survey);
	double odd = (double)(course->unbroken + course->repeated);

	course->typical_calls = typical_size(survey);
	if (group) {
		course->mode = COURSE_DISPATCH;
		course->dispatcher = group->function;
		course->dispatcher_depth = group->depth;
		course->dispatches = group->dispatches;
		course->most_dispatches = group->most;
		course->is_repeat = group->is_direct;
		course->repeat = group->site;
	} else if (odd > ACCIDENTS * (double)course->segments) {
		course->mode = COURSE_SEGMENTS;
	}
}

int courses_find(const struct pass_input *input, struct course **ret)
{
	const struct pass_ops first = { .wait = note_chain };
	const struct pass_ops second = {
		.call = note_call,
		.wait = note_wait,
		.leave = note_leave,
	};
	uint32_t nr = input->loops.nr;
	struct surveyor surveyor = { .surveys = calloc(nr + 1, sizeof(struct survey)) };
	struct course *courses = calloc(nr + 1, sizeof(*courses));
	int error = surveyor.surveys && courses ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < nr; i++) {
		surveyor.surveys[i].course = &courses[i];
		courses[i].owner = TRACE_NONE;
		courses[i].dispatcher = TRACE_NONE;
	}
	for (uint32_t i = 0; i < NEAR_LEVELS; i++)
		surveyor.of_level[i] = TRACE_NONE;
	if (!error)
		error = pass_run(input, &first, &surveyor);
	for (uint32_t i = 0; !error && i < nr; i++)
		qsort(courses[i].chains, courses[i].nr_chains, sizeof(courses[i].chains[0]),
		      by_seen);
	if (!error)
		error = pass_run(input, &second, &surveyor);
	for (uint32_t i = 0; !error && i < nr; i++)
		decide(&surveyor.surveys[i]);
	for (uint32_t i = 0; surveyor.surveys && i < nr; i++)
		free(surveyor.surveys[i].groups);
	free(surveyor.surveys);
	if (error)
		free(courses);
	else
		*ret = courses;
	return error;
}
