// SPDX-License-Identifier: GPL-2.0
/*
 * The number of stacks a second that one core unwinds by the rules of the files,
 * with names, as pg-collect does for each alert: "stacks-FRAMES figure" lines.
 * The best of some rounds; all files were read before.  Under scripts/vm --icount
 * a second is 10^9 instructions.
 */

#include <err.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "binary/stack/unwind.h"
#include "own-stack.h"

enum { ROUNDS = 20, STACKS = 200 };

static const int depths[] = { 10, 24, 50 };
static struct unwinder *unwinder;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void walk(const struct slice *slice, int least)
{
	static struct frame frames[UNWIND_MAX_FRAMES];
	enum unwind_end end;
	int nr = unwind_slice(unwinder, (uint32_t)getpid(), slice, frames, UNWIND_MAX_FRAMES,
			      &end);

	if (nr < least || end != UNWIND_COMPLETE || !frames[1].function)
		errx(1, "%d frames, %s", nr, unwind_end_name(end));
}

static __attribute__((noipa)) void descend(int frames, int depth)
{
	struct slice slice = { 0 };
	double best = 1e9;

	if (frames > 1) {
		descend(frames - 1, depth);
		__asm__ volatile("" ::: "memory"); /* a call, not a jump */
		return;
	}
	own_stack(&slice);
	walk(&slice, depth);
	for (int round = 0; round < ROUNDS; round++) {
		double start = seconds(), took;

		for (int i = 0; i < STACKS; i++)
			walk(&slice, depth);
		took = seconds() - start;
		best = took < best ? took : best;
	}
	printf("stacks-%d %.0f\n", depth, STACKS / best);
}

int main(void)
{
	unwinder = unwinder_create();
	if (!unwinder)
		errx(1, "no memory");
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		descend(depths[i], depths[i]);
	unwinder_destroy(unwinder);
	return 0;
}
