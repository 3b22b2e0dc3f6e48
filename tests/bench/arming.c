// SPDX-License-Identifier: GPL-2.0
/*
 * The time it takes to install and remove guards of this process, by their number:
 * "name-NUMBER figure" lines, in microseconds of CLOCK_MONOTONIC.
 *
 *   load     the profile is sent to the module
 *   arm      the module installs the guards, and the first unit is guarded
 *   disarm   it removes them
 *   bare-on, bare-off   a module installs and removes as many empty uprobes
 *
 * usage: arming BARE_KO
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "self.h"

enum { ROUNDS = 3, MAX_GUARDS = 10000, STRIDE = 16, NR_TYPES = 100, NR_CANDIDATES = 2 };

#define NEVER_NS (1000000000000ULL)

static const int numbers[] = { 10, 1000, 10000 };

/* As many functions, each with an instruction that the kernel emulates. */
extern void first(void);
__asm__(".text\n.p2align 4\n.globl first\n.type first, @function\n"
	"first:\n\t"
	".rept 10000\n\t.p2align 4\n\tpush %rbp\n\tpop %rbp\n\tret\n\t.endr\n");

static struct self_guard guards[MAX_GUARDS];

static void print_figure(const char *what, int number, uint64_t ns)
{
	char text[64];

	snprintf(text, sizeof(text), "%s-%d", what, number);
	self_tell(text, (double)ns / 1000);
}

static uint64_t number_in(const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t ret;

	if (!file || fscanf(file, "%" SCNu64, &ret) != 1)
		errx(1, "%s", path);
	fclose(file);
	return ret;
}

static void measure_bare(const char *module, int number)
{
	char command[512], exe[256] = "";

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		err(1, "/proc/self/exe");
	snprintf(command, sizeof(command), "insmod %s path=%s offset=%" PRIu64 " nr=%d stride=%d",
		 module, exe, self_offset(first), number, STRIDE);
	if (system(command))
		errx(1, "%s failed", command);
	print_figure("bare-on", number, number_in("/sys/module/bare/parameters/on_ns"));
	print_figure("bare-off", number, number_in("/sys/module/bare/parameters/off_ns"));
	self_bare_off();
}

/* The least of some rounds: the first one also waits for files that are read. */
struct times {
	uint64_t load, arm, disarm;
};

static void measure_ours(int number, struct times *least)
{
	struct self_profile profile = {
		.guards = guards,
		.nr_guards = (uint32_t)number,
		.nr_types = NR_TYPES,
		.threshold_ns = NEVER_NS,
	};
	uint64_t load, armed, disarm;
	struct self_counts counts;

	load = self_now();
	self_load(&profile);
	armed = self_now();
	load = armed - load;
	self_arm_loaded(&profile);
	armed = self_now() - armed;
	self_unit();
	first();
	self_unit();
	counts = self_counts();
	if (counts.hits != 1 || counts.units != 1)
		errx(1, "%" PRIu64 " hits in %" PRIu64 " units", counts.hits, counts.units);
	disarm = self_now();
	self_disarm();
	disarm = self_now() - disarm;
	least->load = load < least->load ? load : least->load;
	least->arm = armed < least->arm ? armed : least->arm;
	least->disarm = disarm < least->disarm ? disarm : least->disarm;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: arming BARE_KO");
	for (uint32_t i = 0; i < MAX_GUARDS; i++)
		guards[i] = (struct self_guard){ first, NR_CANDIDATES, i * STRIDE, 0 };
	self_init();
	self_mark();
	self_note_depth();
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct times least = { UINT64_MAX, UINT64_MAX, UINT64_MAX };

		measure_bare(argv[1], numbers[i]);
		for (int round = 0; round < ROUNDS; round++)
			measure_ours(numbers[i], &least);
		print_figure("load", numbers[i], least.load);
		print_figure("arm", numbers[i], least.arm);
		print_figure("disarm", numbers[i], least.disarm);
	}
	return 0;
}
