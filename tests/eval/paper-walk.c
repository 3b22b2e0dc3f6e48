// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of finding the calling context, in guest instructions, at stacks
 * of different depths: "name-DEPTH figure" lines.
 *
 *   inference    a hit of a guard: the context by its depth, and the type by it
 *   probe        a probe at the same place whose sample has no stack
 *   pointers     the same with the stack by frame pointers, as the kernel
 *                walks it; this program has them here, most have none
 *   copy         the same with a copy of 8 KiB of the stack, for a walk later
 *   backtrace    backtrace() of the C library, by the unwind rules, in the
 *                program itself
 *   unwind       the walk of a copied stack by the unwind rules, as pg-collect
 *                does it, with names; all files were read before
 */

#include <err.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "binary/stack/unwind.h"
#include "own-stack.h"
#include "self.h"

enum { CALLS = 200, ROUNDS = 5, WALKS = 5, COPY_BYTES = 8192, MAX_FRAMES = 200 };

#define NEVER_NS (1000000000000ULL)

static const int stacks[] = { 5, 10, 24, 50, 100 };

enum { NR_STACKS = sizeof(stacks) / sizeof(stacks[0]) };

extern void guarded(void);
__asm__(".text\n.p2align 4\n.globl guarded\n.type guarded, @function\n"
	"guarded:\n\tpush %rbp\n\tpop %rbp\n\tret\n");

/* The action at the bottom, with @call to be called. */
typedef double (*bottom_fn)(void (*call)(void));

static double free_calls; /* without any probe, of the stack at hand */
static struct unwinder *unwinder;
static int walked; /* frames that were found */

static __attribute__((noinline)) double descend(int frames, bottom_fn bottom, void (*call)(void))
{
	double ret;

	/* main and this program's start are frames, too; so is the bottom. */
	if (frames > 1)
		ret = descend(frames - 1, bottom, call);
	else
		ret = bottom(call);
	__asm__ volatile("" ::: "memory"); /* a call, not a jump */
	return ret;
}

/* The least of some rounds, of one call. */
static __attribute__((noinline)) double repeat(void (*call)(void))
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = self_now(), took;

		for (int i = 0; i < CALLS; i++)
			call();
		took = self_now() - start;
		best = took < best ? took : best;
	}
	return (double)best / CALLS;
}

static double walk_backtrace(void (*call)(void))
{
	uint64_t best = UINT64_MAX;
	void *frames[MAX_FRAMES];

	(void)call;
	for (int i = 0; i < WALKS; i++) {
		uint64_t start = self_now(), took;

		walked = backtrace(frames, MAX_FRAMES);
		took = self_now() - start;
		best = took < best ? took : best;
	}
	return (double)best;
}

static double walk_unwind(void (*call)(void))
{
	static struct frame frames[UNWIND_MAX_FRAMES];
	uint64_t best = UINT64_MAX;
	struct slice slice = { 0 };
	enum unwind_end end;

	(void)call;
	own_stack(&slice);
	for (int i = 0; i < WALKS; i++) {
		uint64_t start = self_now(), took;

		walked = unwind_slice(unwinder, (uint32_t)getpid(), &slice, frames,
				      UNWIND_MAX_FRAMES, &end);
		took = self_now() - start;
		best = took < best ? took : best;
	}
	if (walked < 0 || end != UNWIND_COMPLETE)
		errx(1, "unwind: %d frames, %s", walked, unwind_end_name(end));
	return (double)best;
}

static long number_in(const char *path)
{
	char text[64] = "";
	FILE *file = fopen(path, "re");

	if (!file || !fgets(text, sizeof(text), file))
		err(1, "%s", path);
	fclose(file);
	return strtol(text, NULL, 10);
}

/* A probe at guarded() whose samples go to a buffer that is overwritten. */
static int sample_probe(uint64_t sample_type, void **ret_ring, size_t *ret_size)
{
	size_t size = (1 + 64) * (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)number_in("/sys/bus/event_source/devices/uprobe/type"),
		.probe_offset = self_offset(guarded),
		.sample_period = 1,
		.sample_type = sample_type,
		.sample_stack_user = COPY_BYTES,
		.sample_regs_user = 0xff0fff,
		.exclude_callchain_kernel = 1,
		.write_backward = 1,
	};
	char exe[256] = "";
	int fd;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		err(1, "/proc/self/exe");
	attr.uprobe_path = (uintptr_t)exe;
	if (!(sample_type & PERF_SAMPLE_STACK_USER))
		attr.sample_stack_user = 0;
	if (!(sample_type & PERF_SAMPLE_REGS_USER))
		attr.sample_regs_user = 0;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		err(1, "perf_event_open");
	*ret_ring = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (*ret_ring == MAP_FAILED)
		err(1, "mmap");
	*ret_size = size;
	return fd;
}

/* How many frames the newest sample has. */
static int frames_in(const void *ring)
{
	const struct perf_event_mmap_page *head = ring;
	uint64_t at = head->data_head & (head->data_size - 1);
	const struct {
		struct perf_event_header header;
		uint64_t nr;
		uint64_t frames[];
	} *sample = (const void *)((const char *)ring + head->data_offset + at);

	return sample->header.type == PERF_RECORD_SAMPLE ? (int)sample->nr : 0;
}

static void measure_samples(const char *name, uint64_t sample_type)
{
	void *ring;
	size_t size;
	int fd = sample_probe(sample_type, &ring, &size);

	for (int i = 0; i < NR_STACKS; i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s-%d", name, stacks[i]);
		self_tell(text, descend(stacks[i], repeat, guarded) - free_calls);
		if (sample_type == PERF_SAMPLE_CALLCHAIN) {
			snprintf(text, sizeof(text), "frames-%s-%d", name, stacks[i]);
			self_tell(text, frames_in(ring));
		}
	}
	munmap(ring, size);
	close(fd);
}

static void measure_walk(const char *name, bottom_fn walk)
{
	for (int i = 0; i < NR_STACKS; i++) {
		char text[64];

		/* Files are read, and memory is touched, by the first one. */
		descend(stacks[i], walk, guarded);
		snprintf(text, sizeof(text), "%s-%d", name, stacks[i]);
		self_tell(text, descend(stacks[i], walk, guarded));
		snprintf(text, sizeof(text), "frames-%s-%d", name, stacks[i]);
		self_tell(text, walked);
	}
}

static void measure_inference(void)
{
	static const struct self_guard guards[] = { { .function = guarded, .candidates = 4 } };
	struct self_profile profile = {
		.guards = guards, .nr_guards = 1, .nr_types = 16, .threshold_ns = NEVER_NS,
	};
	struct self_counts counts;

	self_unit();
	for (int i = 0; i < NR_STACKS; i++) {
		descend(stacks[i], repeat, self_mark);
		self_note_depth();
	}
	if (self_nr_depths() != NR_STACKS)
		errx(1, "%" PRIu32 " depths", self_nr_depths());
	self_arm(&profile);
	self_unit();
	for (int i = 0; i < NR_STACKS; i++) {
		char text[64];

		snprintf(text, sizeof(text), "inference-%d", stacks[i]);
		self_tell(text, descend(stacks[i], repeat, guarded) - free_calls);
	}
	self_unit();
	counts = self_counts();
	if (counts.hits != NR_STACKS * ROUNDS * CALLS || counts.unknown_hits ||
	    counts.stray_hits)
		errx(1, "%" PRIu64 " hits, %" PRIu64 " unknown, %" PRIu64 " outside of units",
		     counts.hits, counts.unknown_hits, counts.stray_hits);
	self_disarm();
}

int main(void)
{
	self_init();
	unwinder = unwinder_create();
	if (!unwinder)
		errx(1, "no memory");
	free_calls = descend(stacks[0], repeat, guarded);
	measure_inference();
	measure_samples("probe", PERF_SAMPLE_IP);
	measure_samples("pointers", PERF_SAMPLE_CALLCHAIN);
	measure_samples("copy", PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER);
	measure_walk("backtrace", walk_backtrace);
	measure_walk("unwind", walk_unwind);
	unwinder_destroy(unwinder);
	return 0;
}
