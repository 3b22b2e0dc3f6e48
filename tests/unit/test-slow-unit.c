// SPDX-License-Identifier: GPL-2.0
/* What an audit prints of a slow unit: the path of its stacks, and the one that was seen most. */

#include <string.h>

#include "base/duration.h"
#include "out/alert/alert.h"
#include "printed.h"
#include "tap.h"

enum { NR_STACKS = 6, NR_FRAMES = 3 };

/* A unit in which a function calls others, some more often than others. */
struct example {
	struct record record;
	struct frame frames[NR_STACKS][NR_FRAMES];
	struct alert_stack stacks[NR_STACKS];
	struct hotpath hotpath;
	struct alert alert;
};

static struct frame frame_of(const char *function, uint64_t offset)
{
	return (struct frame){
		.pc = 0x550000000000 + offset, .start = 0x550000000000 + offset,
		.module = "/usr/sbin/worker", .offset = offset, .function = function,
	};
}

static bool make(struct example *example, const char *const callees[NR_STACKS])
{
	struct hotpath_stack stacks[NR_STACKS];

	memset(example, 0, sizeof(*example));
	example->record = (struct record){
		.pid = 7, .tid = 7, .comm = "worker", .unit = 3,
		.account = { .elapsed_ns = 120 * NSEC_PER_MSEC },
	};
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		struct frame *frames = example->frames[i];

		frames[0] = frame_of(callees[i], 0x1000 + 0x100 * (uint64_t)callees[i][0]);
		frames[1] = frame_of("culprit", 0x900);
		frames[2] = frame_of("main", 0x800);
		stacks[i] = (struct hotpath_stack){
			.at_ns = (i + 1) * 20 * NSEC_PER_MSEC,
			.frames = frames, .nr_frames = NR_FRAMES,
		};
		example->stacks[i] = (struct alert_stack){
			.at_ns = stacks[i].at_ns, .into_ns = stacks[i].at_ns,
			.frames = frames, .nr_frames = NR_FRAMES,
		};
	}
	example->alert = (struct alert){
		.record = &example->record, .nr_stacks = NR_STACKS, .stacks = example->stacks,
		.hotpath = &example->hotpath,
	};
	return !hotpath_init(&example->hotpath, stacks, NR_STACKS, 140 * NSEC_PER_MSEC);
}

static void print(const struct alert *alerts, uint32_t index)
{
	FILE *file = printed_open();

	alert_slow_text(file, alerts, index);
	fclose(file);
}

static void test_several(struct example *example)
{
	static const char *const callees[] = { "a", "b", "c", "c", "d", "e" };

	ok(make(example, callees), "stacks with five callees");
	print(&example->alert, 0);
	ok(has("where     culprit and below, 100 % of the 120 ms seen (6 stacks); most of it\n            in c (33 %)") &&
	   has("100 %  culprit"), "the function that called them is on the path");
	ok(has("stack 60.0 ms into the unit, in 2 of 6 samples:\n      #0  c+0x0"),
	   "the stack that was seen most is printed");
	ok(has("and 4 other stacks (--json has all)") && !strstr(text, "#0  a+0x0"),
	   "the others are counted");
}

static void test_one(struct example *example)
{
	static const char *const callees[] = { "a", "a", "a", "a", "a", "a" };

	ok(make(example, callees), "the same stack six times");
	print(&example->alert, 0);
	ok(has("in 6 of 6 samples:") && !strstr(text, "where") && !strstr(text, "other stack"),
	   "a single stack shows the path itself");
}

static void test_holder(struct example *example)
{
	static const char *const callees[] = { "a", "b", "b", "h", "b", "b" };

	ok(make(example, callees), "stacks of a unit and of the holder of its lock");
	example->stacks[3].tid = 9;
	print(&example->alert, 0);
	ok(has("in 4 of 5 samples:\n      #0  b+0x0") &&
	   has("stack of thread 9, which holds the lock, 80.0 ms into the unit") &&
	   has("and 1 other stack (--json has all)"), "the holder's stack is printed, too");
}

int main(void)
{
	static struct example several, one, holder;

	plan(8);
	test_several(&several);
	test_one(&one);
	test_holder(&holder);
	hotpath_deinit(&several.hotpath);
	hotpath_deinit(&one.hotpath);
	hotpath_deinit(&holder.hotpath);
	free(text);
	return tap_status();
}
