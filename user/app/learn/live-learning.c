// SPDX-License-Identifier: GPL-2.0

#include "app/learn/live-learning.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/learn/learning.h"
#include "app/learn/live-reading.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/time.h"
#include "link/link.h"
#include "out/text.h"
#include "train/model/adopt.h"
#include "train/model/derive.h"
#include "train/samples/live-times.h"

enum {
	NR_WINDOWS = 24, /* even: half of them are held back */
};

struct live {
	struct learning *learning;
	struct link *link;
	struct live_window *windows; /* NR_WINDOWS of each type of the model */
};

/* What the units of a type computed, and were blocked. */
static uint64_t sum_of(const struct armed_type *type)
{
	return type->elapsed_ns - type->runqueue_ns + type->late_cpu_ns + type->late_blocked_ns;
}

static void add_window(struct live *live, uint32_t window, const struct live_reading *before,
		       const struct live_reading *after)
{
	const struct model *model = &live->learning->model;

	for (uint32_t i = 0; i < model->nr_types; i++) {
		uint32_t id = model->types[i].id;
		const struct armed_type *a = live_reading_type(before, id);
		const struct armed_type *b = live_reading_type(after, id);
		const struct armed_times *from = live_reading_times(before, id);
		const struct armed_times *to = live_reading_times(after, id);
		struct live_window *to_fill = &live->windows[i * NR_WINDOWS + window];

		if (!a || !b || !from || !to)
			continue;
		to_fill->units = b->units + b->late - a->units - a->late;
		to_fill->starved = b->starved - a->starved;
		to_fill->sum_ns = sum_of(b) - sum_of(a);
		to_fill->is_degraded = before->nr_shed || after->nr_shed;
		live_times_since(from, to, &to_fill->times);
	}
}

/* Watch, and read what was counted at the end of each window. */
static int watch_windows(struct live *live, uint64_t duration_ns)
{
	const char *path = live->learning->path;
	uint64_t begin_ns = time_now_ns();
	struct live_reading before = { 0 }, after;
	int ret = live_reading_take(live->link, path, &before);

	for (uint32_t i = 0; i < NR_WINDOWS && !ret; i++) {
		uint64_t end_ns = begin_ns + duration_ns / NR_WINDOWS * (i + 1);
		char left[DURATION_TEXT_MAX];

		time_sleep_until(end_ns);
		after = (struct live_reading){ 0 };
		ret = live_reading_take(live->link, path, &after);
		if (ret)
			break;
		add_window(live, i, &before, &after);
		live_reading_deinit(&before);
		before = after;
		log_progress("watched units, %s left",
			     duration_format(begin_ns + duration_ns - end_ns, left));
	}
	live_reading_deinit(&before);
	return ret;
}

static uint64_t units_of(const struct adopt_type *seen)
{
	return seen->times[0].of[SAMPLES_OWN].nr + seen->times[1].of[SAMPLES_OWN].nr;
}

static void print_omitted(const struct live_omitted *omitted)
{
	if (omitted->degraded)
		printf("; guards were off in %" PRIu32 " of %d windows", omitted->degraded,
		       NR_WINDOWS);
	if (omitted->starved)
		printf("; starved in %" PRIu32, omitted->starved);
	if (omitted->slow)
		printf("; slow in %" PRIu32, omitted->slow);
}

static void print_type(const struct model_type *type, uint64_t limit_ns,
		       const struct adopt_type *seen, const struct live_omitted *omitted)
{
	char before[DURATION_TEXT_MAX], after[DURATION_TEXT_MAX], units[TEXT_MAX];

	if (!units_of(seen) && !omitted->degraded && !omitted->starved && !omitted->slow)
		return;
	printf("type %" PRIu32 ": %s units", type->id, text_count(units_of(seen), units));
	if (seen->is_slow)
		fputs(", far slower than the other types: not learnt", stdout);
	else if (!seen->is_adopted)
		printf(", which is too few (%d)", ADOPT_MIN_UNITS);
	else
		printf(", limit %s, was %s", duration_format(type->limit_ns[SAMPLES_OWN], after),
		       duration_format(limit_ns, before));
	print_omitted(omitted);
	putchar('\n');
}

/* What was watched: by type, how it was, what was left out, and its limit before. */
struct lesson {
	struct adopt_type *seen;
	struct live_omitted *omitted;
	uint64_t *limits_ns;
};

static int learn_types(struct live *live, struct lesson *lesson)
{
	struct learning *learning = live->learning;
	struct model *model = &learning->model;
	struct adopt_pace pace;
	int ret;

	for (uint32_t i = 0; i < model->nr_types; i++) {
		lesson->limits_ns[i] = model->types[i].limit_ns[SAMPLES_OWN];
		lesson->omitted[i] = live_times_sum(&live->windows[i * NR_WINDOWS], NR_WINDOWS,
						    lesson->seen[i].times);
	}
	long_step_begin("learning limits");
	ret = adopt_times(&learning->samples, model, lesson->seen, &pace);
	if (!ret)
		ret = model_derive_limits(&learning->samples, model);
	long_step_end();
	if (ret) {
		log_error("cannot learn: %s", ret == -ENOMEM ? "out of memory" :
							       "the profile has no timed units");
		return CMD_FAILED;
	}
	printf("units compute %.2f times as long as they did in training\n",
	       pace.of[SAMPLES_CPU]);
	for (uint32_t i = 0; i < model->nr_types; i++)
		print_type(&model->types[i], lesson->limits_ns[i], &lesson->seen[i],
			   &lesson->omitted[i]);
	return 0;
}

static int learn(struct live *live, uint64_t duration_ns)
{
	uint32_t nr = live->learning->model.nr_types;
	struct lesson lesson = { 0 };
	int ret;

	if (array_new(live->windows, nr * NR_WINDOWS) || array_new(lesson.seen, nr) ||
	    array_new(lesson.omitted, nr) || array_new(lesson.limits_ns, nr))
		ret = cmd_no_memory();
	else
		ret = watch_windows(live, duration_ns);
	if (!ret)
		ret = learn_types(live, &lesson);
	free(live->windows);
	free(lesson.seen);
	free(lesson.omitted);
	free(lesson.limits_ns);
	return ret;
}

int live_learn(struct learning *learning, uint64_t duration_ns)
{
	struct live live = { .learning = learning };
	int ret;

	if (!learning->model.nr_types) {
		log_error("%s has no types: 'pg-collect train' makes them", learning->path);
		return CMD_FAILED;
	}
	ret = cmd_open_link(&live.link);
	if (ret)
		return ret;
	ret = learn(&live, duration_ns);
	link_close(live.link);
	return ret;
}
