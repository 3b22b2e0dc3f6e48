// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel memory that guarding takes: "name figure" lines, in KiB of
 * /proc/meminfo (slabs, vmalloc and per-CPU memory), and bytes where named so.
 *
 *   profile-NAME         a profile with 200 guards is armed
 *   threads-NAME         a thousand threads have been in a unit of it
 *   thread-bytes-NAME    the same, of one thread
 *   left-NAME            what is still taken when it is disarmed
 *                        NAME is first (15 types), then again, and many
 *                        (115); in a second time, the kernel has already its
 *                        own data of a thread for uprobes
 *   module-bytes         the module itself
 */

#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/perfguard.h"
#include "self.h"

enum { NR_THREADS = 1000, NR_GUARDS = 200, STRIDE = 16, NR_CANDIDATES = 4, STACK = 64 * 1024 };

#define NEVER_NS (1000000000000ULL)

/* As many as Apache has, and enough to show the cost of a type. */
enum { FEW_TYPES = 15, MANY_TYPES = 115 };

extern void first(void);
__asm__(".text\n.p2align 4\n.globl first\n.type first, @function\n"
	"first:\n\t"
	".rept 200\n\t.p2align 4\n\tpush %rbp\n\tpop %rbp\n\tret\n\t.endr\n");

static struct self_guard guards[NR_GUARDS];
static pthread_barrier_t begin, end;
static int is_over;

static __attribute__((noipa)) void do_unit(void (*call)(void))
{
	self_unit();
	call();
	self_unit();
	__asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

/* In each turn one unit, between two barriers. */
static void *run(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		if (is_over)
			return unused;
		do_unit(first);
		pthread_barrier_wait(&end);
	}
}

/* One thread shows the depth of the guard in a unit. */
static void *note(void *unused)
{
	do_unit(self_mark);
	self_note_depth();
	return unused;
}

static uint64_t taken_kib(void)
{
	uint64_t sum = 0, kib;
	char line[128];
	FILE *file = fopen("/proc/meminfo", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Slab: %" SCNu64, &kib) == 1 ||
		    sscanf(line, "VmallocUsed: %" SCNu64, &kib) == 1 ||
		    sscanf(line, "Percpu: %" SCNu64, &kib) == 1)
			sum += kib;
	if (!file || !sum)
		errx(1, "/proc/meminfo");
	fclose(file);
	return sum;
}

static void print_figure(const char *what, const char *name, double figure)
{
	char text[64];

	snprintf(text, sizeof(text), "%s-%s", what, name);
	self_tell(text, figure);
}

/* The memory that a turn of all threads takes, KiB. */
static double turn(void)
{
	uint64_t before = taken_kib(), after;
	struct self_counts counts;

	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	after = taken_kib();
	counts = self_counts();
	if (counts.hits != NR_THREADS || counts.units != NR_THREADS || counts.unknown_hits)
		errx(1, "%" PRIu64 " hits, %" PRIu64 " units, %" PRIu64 " unknown", counts.hits,
		     counts.units, counts.unknown_hits);
	return (double)after - (double)before;
}

static void measure(const char *name, uint32_t nr_types)
{
	struct self_profile profile = {
		.guards = guards,
		.nr_guards = NR_GUARDS,
		.nr_types = nr_types,
		.threshold_ns = NEVER_NS,
		.target_flags = PERFGUARD_TARGET_FLAGS_ACCOUNT,
	};
	uint64_t before = taken_kib();
	double threads;

	self_arm(&profile);
	print_figure("profile", name, (double)taken_kib() - (double)before);
	threads = turn();
	print_figure("threads", name, threads);
	print_figure("thread-bytes", name, threads * 1024 / NR_THREADS);
	self_disarm();
	sleep(1); /* for memory that RCU frees */
	print_figure("left", name, (double)taken_kib() - (double)before);
}

static void tell_module(void)
{
	FILE *file = fopen("/sys/module/perfguard/coresize", "re");
	uint64_t bytes;

	if (!file || fscanf(file, "%" SCNu64, &bytes) != 1)
		errx(1, "coresize");
	fclose(file);
	self_tell("module-bytes", (double)bytes);
}

int main(void)
{
	static pthread_t threads[NR_THREADS];
	pthread_attr_t attr;

	for (uint32_t i = 0; i < NR_GUARDS; i++)
		guards[i] = (struct self_guard){ first, NR_CANDIDATES, i * STRIDE, 0 };
	self_init();
	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK) ||
	    pthread_barrier_init(&begin, NULL, NR_THREADS + 1) ||
	    pthread_barrier_init(&end, NULL, NR_THREADS + 1))
		errx(1, "setup");
	if (pthread_create(&threads[0], &attr, note, NULL) || pthread_join(threads[0], NULL))
		errx(1, "thread");
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], &attr, run, NULL))
			errx(1, "thread %d", i);
	/* A thread's first turn takes memory of the kernel. */
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	measure("first", FEW_TYPES);
	measure("again", FEW_TYPES);
	measure("many", MANY_TYPES);
	tell_module();
	is_over = 1;
	pthread_barrier_wait(&begin);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
