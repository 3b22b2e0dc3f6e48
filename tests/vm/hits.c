// SPDX-License-Identifier: GPL-2.0
/*
 * What a hit of a guard costs by the instruction under it, in guest
 * instructions: "name figure" lines.  Each figure is that of a call with the
 * probe on, less that of the same call without.
 *
 *   bare-uprobe      a probe on a nop whose handler does nothing
 *   again-SITE       a hit in a context that the unit met before
 *   first-SITE       the first one in its context, in a unit that met another
 *   stepped-SITE     how many hits of the guard the kernel single-stepped
 *   full-leave       the first hit of a unit that the loop's memo does not know, and
 *                    is too full for, more than a first one that it knows
 *   full-first       a further one that is the first in its context, on a nop
 *   full-again       one in such a unit, in a context that it met before, on a nop
 *   guarded-wait     the loop's wait, which ends a unit and begins the next
 *   guarded-account  the same with the time account
 *   guarded-fault    that of a unit with a page fault, so that its account is made
 *   guarded-event    that of a unit and of the call by which its event begins
 *   guarded-other    that of a unit and of such a call by another way, which begins none
 *   guarded-alike    that of two units with two such calls at the events' depth
 *   site-first       a hit of a guard on a push where events begin, the unit's first;
 *                    nothing else follows from it
 *   site-next        one that begins another unit
 *   site-elsewhere   as site-first, but elsewhere it distinguishes types, too
 *   guarded-short    the end of a unit that lacks hits of a guard that is shed, more
 *                    than one that fits
 *   guarded-empty    that of a wait that brought no event, where that is no unit
 *   guarded-queue    that of a unit, its event, and another one, which is a unit of its own
 *   jump-hit         a hit of a guard that is a jump
 *   jump-unit        a unit that meets 16 such guards, one hit of each, more than one by
 *                    guarded-wait
 *
 * Each context has 2 candidates among 100 types.
 *
 * usage: hits BARE_KO      the module in tests/bench/bare
 */

#include <err.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux/perfguard.h"
#include "self.h"

/* A round takes a quarter of a tick at most, so that most have none in them. */
enum { CALLS = 200, ROUNDS = 25 };

enum { NR_TYPES = 100, NR_CANDIDATES = 2, FILLINGS = 12, PATIENCE = 10 };

#define NEVER_NS (1000000000000ULL)

/* A function of a few instructions. */
#define FUNCTION(name, code)                                                  \
	extern void name(void);                                               \
	__asm__(".text\n.p2align 4\n.globl " #name "\n"                       \
		".type " #name ", @function\n" #name ":\n\t" code "\n\tret\n")

#define TAKE_8 "sub $8, %rsp\n\t"

FUNCTION(first_of_unit, "push %rbp\n\tpop %rbp");
FUNCTION(bare, "nop");
FUNCTION(by_nop, "nop");
FUNCTION(by_long_nop, "nopl (%rax, %rax)");
FUNCTION(by_push, "push %rbp\n\tpop %rbp");
FUNCTION(by_endbr64, "endbr64");
FUNCTION(by_jump, "jmp 1f\n1:");
FUNCTION(by_mov, "mov %rdi, %rax");
FUNCTION(by_load, "mov -16(%rsp), %rax");
FUNCTION(by_store, "mov %rax, -16(%rsp)");
FUNCTION(by_lea, "lea 8(%rsp), %rax");
FUNCTION(by_xor, "xor %eax, %eax");
FUNCTION(by_test, "test %rdi, %rdi");
/* Its first instruction moves SP; the guard is on the next one. */
FUNCTION(by_next, TAKE_8 "mov %rdi, %rax\n\tadd $8, %rsp");

/* That become jumps. */
#define WINDOW(n)	FUNCTION(window_##n, "mov $0x11223344, %eax");
#define EACH_WINDOW(x)                                                        \
	x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15)

EACH_WINDOW(WINDOW)

#define GUARD(n)	{ window_##n, NR_CANDIDATES, 0, 0 },

static const struct self_guard windows[] = { EACH_WINDOW(GUARD) };

enum { NR_WINDOWS = sizeof(windows) / sizeof(windows[0]) };

static const struct self_guard guards[] = {
	{ first_of_unit, NR_CANDIDATES, 0, 0 },
	{ by_nop, NR_CANDIDATES, 0, 0 },
	{ by_long_nop, NR_CANDIDATES, 0, 0 },
	{ by_push, NR_CANDIDATES, 0, 0 },
	{ by_endbr64, NR_CANDIDATES, 0, 0 },
	{ by_jump, NR_CANDIDATES, 0, 0 },
	{ by_mov, NR_CANDIDATES, 0, 0 },
	{ by_load, NR_CANDIDATES, 0, 0 },
	{ by_store, NR_CANDIDATES, 0, 0 },
	{ by_lea, NR_CANDIDATES, 0, 0 },
	{ by_xor, NR_CANDIDATES, 0, 0 },
	{ by_test, NR_CANDIDATES, 0, 0 },
	{ by_next, NR_CANDIDATES, 4, 8 },
};

/* Units meet both, and the second one is shed. */
static const struct self_guard both[] = {
	{ by_nop, NR_CANDIDATES, 0, 0 },
	{ by_long_nop, NR_CANDIDATES, 0, 0 },
};

/* To part events only. */
static const struct self_guard site = { first_of_unit, 0, 0, 0 };

static const char *const names[] = {
	"", "nop", "long-nop", "push", "endbr64", "jump", "mov", "load", "store", "lea", "xor",
	"test", "after-sub",
};

enum { NR_GUARDS = sizeof(guards) / sizeof(guards[0]) };

enum { NOP = 1 };	/* of the guards */

/* Without guards: a call; one in a unit of its own; and such a unit with bare(). */
static double free_again[NR_GUARDS], free_first[NR_GUARDS], free_unit, free_wait, free_fault;
static double free_event, free_queue, free_other, free_alike, free_site, free_next;
static double free_window, free_windows;

/* A call behind two others. */
static double free_behind;

/* With guards: a unit with bare(). */
static double hit_unit;

static volatile char page[4096] __attribute__((aligned(4096)));

/* Calls in the unit that runs, or of its own. */
static __attribute__((noinline)) uint64_t repeat(void (*call)(void))
{
	uint64_t start = self_now();

	for (int i = 0; i < CALLS; i++)
		call();
	return self_now() - start;
}

/* A unit with a page fault. */
static __attribute__((noinline)) void unit_fault(void)
{
	self_unit();
	if (madvise((void *)page, sizeof(page), MADV_DONTNEED))
		err(1, "madvise");
	page[0] = 1;
}

/* A unit of one event. */
static __attribute__((noinline)) void unit_event(void)
{
	self_unit();
	self_event();
}

/* A unit with a call that could begin an event, were it not for its caller. */
static __attribute__((noinline)) void unit_other(void)
{
	self_unit();
	self_other();
}

/* Two units between two waits: the second event begins one. */
static __attribute__((noinline)) void unit_queue(void)
{
	self_unit();
	self_event();
	self_event();
}

/* The same, with calls at the events' depth that begin none. */
static __attribute__((noinline)) void unit_alike(void)
{
	self_unit();
	self_alike();
	self_event();
	self_alike();
	self_event();
}

/* A unit whose event begins at a guard. */
static __attribute__((noinline)) void unit_site(void)
{
	self_unit();
	first_of_unit();
}

#define CALL(n)	window_##n();

/* A unit that meets all that become jumps. */
static __attribute__((noinline)) void unit_windows(void)
{
	self_unit();
	EACH_WINDOW(CALL)
	__asm__ volatile(""); /* no tail call */
}

/* The depth of that, to be noted. */
static __attribute__((noinline)) void mark_windows(void)
{
	self_unit();
	self_mark();
	__asm__ volatile(""); /* no tail call */
}

/* Waits that bring nothing, and then an event. */
static __attribute__((noinline)) uint64_t repeat_empty(void (*call)(void))
{
	uint64_t took = repeat(call);

	self_event();
	return took;
}

/* Calls in the unit that runs, behind a hit that the loop's memo may not know. */
static __attribute__((noinline)) uint64_t repeat_behind(void (*call)(void))
{
	uint64_t start;

	first_of_unit();
	call();
	start = self_now();
	for (int i = 0; i < CALLS; i++)
		call();
	return self_now() - start;
}

/* A unit by some of the guards but the first: there are more sets than a memo holds. */
static __attribute__((noinline)) void unit_any(void)
{
	static uint32_t any = 1;

	self_unit();
	any = any * 1664525 + 1013904223; /* of Numerical Recipes */
	for (int i = 1; i < NR_GUARDS; i++)
		if (any >> (8 + i) & 1)
			guards[i].function();
}

/* Each call in a unit of its own. */
static __attribute__((noinline)) uint64_t repeat_units(void (*call)(void))
{
	uint64_t start = self_now();

	for (int i = 0; i < CALLS; i++) {
		self_unit();
		first_of_unit();
		call();
	}
	return self_now() - start;
}

/* The least of some rounds, of one call: timers' ticks fall into the others. */
static __attribute__((noinline)) double least(uint64_t (*way)(void (*call)(void)),
					      void (*call)(void))
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t took;

		self_unit();
		took = way(call);
		best = took < best ? took : best;
	}
	return (double)best / CALLS;
}

static void print_figure(const char *what, const char *name, double figure)
{
	char text[64];

	snprintf(text, sizeof(text), "%s-%s", what, name);
	self_tell(text, figure);
}

static void measure_free(void)
{
	free_wait = least(repeat, self_unit);
	free_fault = least(repeat, unit_fault);
	free_event = least(repeat, unit_event);
	free_other = least(repeat, unit_other);
	free_alike = least(repeat, unit_alike);
	free_queue = least(repeat, unit_queue);
	free_site = least(repeat, unit_site);
	free_next = least(repeat, first_of_unit);
	free_window = least(repeat, window_0);
	free_windows = least(repeat, unit_windows);
	free_unit = least(repeat_units, bare);
	free_behind = least(repeat_behind, guards[NOP].function);
	for (int i = 1; i < NR_GUARDS; i++) {
		free_again[i] = least(repeat, guards[i].function);
		free_first[i] = least(repeat_units, guards[i].function);
	}
}

static void measure_bare_uprobe(const char *module)
{
	double alone = least(repeat, bare);

	self_bare_on(module, bare);
	self_tell("bare-uprobe", least(repeat, bare) - alone);
	self_bare_off();
}

/* Of @call, which is so many units. */
static double tell_units(const char *name, void (*call)(void), double free, uint64_t units)
{
	uint64_t before = self_counts().units, now;
	double took = least(repeat, call) - free;

	self_tell(name, took);
	now = self_counts().units;
	/* What goes before the first one of a round counts as well. */
	if (now - before < ROUNDS * CALLS * units || now - before > ROUNDS * (CALLS + 2) * units)
		errx(1, "%s: %" PRIu64 " units", name, now - before);
	return took;
}

/* Where few of the spans between two waits are units. */
static void tell_empty(struct self_profile profile)
{
	uint64_t units;

	profile.has_empty = true;
	self_arm(&profile);
	self_tell("guarded-empty", least(repeat_empty, self_unit) - free_wait);
	units = self_counts().units;
	/* The last one runs. */
	if (units != ROUNDS - 1)
		errx(1, "%" PRIu64 " units among empty spans", units);
	self_disarm();
}

static void tell_short(struct self_profile profile)
{
	uint64_t novel;
	double fits;

	profile.guards = both;
	profile.nr_guards = 2;
	profile.sheds_last = true;
	self_arm(&profile);
	fits = least(repeat_units, by_nop);
	self_disarm();
	profile.least_final = 2;
	self_arm(&profile);
	for (int second = 0; second < PATIENCE && !self_counts().shed; second++) {
		least(repeat, by_long_nop);
		sleep(1);
	}
	if (self_counts().shed != 1)
		errx(1, "no guard was shed");
	/* Units by the second one alone were. */
	novel = self_counts().novel;
	self_tell("guarded-short", least(repeat_units, by_nop) - fits);
	if (self_counts().novel != novel)
		errx(1, "units that lack hits of a shed guard are novel");
	self_disarm();
}

/* Alone: what is counted of the others is not disturbed. */
static void measure_units(struct self_profile profile)
{
	double pair;

	self_arm(&profile);
	tell_units("guarded-wait", self_unit, free_wait, 1);
	self_disarm();
	profile.target_flags = PERFGUARD_TARGET_FLAGS_ACCOUNT;
	self_arm(&profile);
	pair = tell_units("guarded-account", self_unit, free_wait, 1);
	tell_units("guarded-fault", unit_fault, free_fault, 1);
	self_disarm();
	profile.has_events = true;
	self_arm(&profile);
	tell_units("guarded-event", unit_event, free_event, 1);
	tell_units("guarded-other", unit_other, free_other, 1);
	tell_units("guarded-queue", unit_queue, free_queue, 2);
	tell_units("guarded-alike", unit_alike, free_alike, 2);
	self_disarm();
	profile.has_events = false;
	profile.has_site = true;
	self_arm(&profile);
	tell_units("site-elsewhere", unit_site, free_site + pair, 1);
	self_disarm();
	profile.guards = &site;
	profile.nr_guards = 1;
	self_arm(&profile);
	tell_units("site-first", unit_site, free_site + pair, 1);
	tell_units("site-next", first_of_unit, free_next, 1);
	self_disarm();
	profile.guards = guards;
	profile.nr_guards = NR_GUARDS;
	profile.has_site = false;
	profile.has_events = true;
	tell_empty(profile);
	profile.has_events = false;
	tell_short(profile);
}

/* A profile of which all guards become jumps. */
static void measure_jumps(struct self_profile profile)
{
	const uint64_t each = (uint64_t)ROUNDS * CALLS;
	struct self_counts counts;
	double pair;

	profile.guards = windows;
	profile.nr_guards = NR_WINDOWS;
	profile.flags = PERFGUARD_PROFILE_FLAGS_INLINE;
	self_arm(&profile);
	/* The first units run into breakpoints, and the ring's pages are touched. */
	least(repeat, window_0);
	pair = least(repeat, self_unit) - free_wait;
	self_tell("jump-hit", least(repeat, window_0) - free_window);
	self_tell("jump-unit", least(repeat, unit_windows) - free_windows - pair);
	self_unit();
	counts = self_counts();
	if (counts.hits != each * (2 + NR_WINDOWS) || counts.unknown_hits || counts.stray_hits ||
	    counts.novel)
		errx(1, "%" PRIu64 " hits by jumps, %" PRIu64 " unknown, %" PRIu64
		     " outside of units", counts.hits, counts.unknown_hits, counts.stray_hits);
	self_disarm();
}

static void check_hits(void)
{
	const uint64_t each = (uint64_t)ROUNDS * CALLS;
	struct self_counts counts;

	self_unit();
	counts = self_counts();
	/* Of each but the first guard, again and first; and of that, before each other. */
	if (counts.hits != each * (3 * NR_GUARDS - 2) || counts.unknown_hits ||
	    counts.stray_hits || counts.late)
		errx(1, "%" PRIu64 " hits, %" PRIu64 " unknown, %" PRIu64 " outside of units, %"
		     PRIu64 " late", counts.hits, counts.unknown_hits, counts.stray_hits,
		     counts.late);
}

static void measure_hits(void)
{
	uint64_t stepped = 0;

	hit_unit = least(repeat_units, bare);
	for (int i = 1; i < NR_GUARDS; i++) {
		uint64_t now_stepped;

		print_figure("again", names[i], least(repeat, guards[i].function) - free_again[i]);
		print_figure("first", names[i], least(repeat_units, guards[i].function) -
					hit_unit - (free_first[i] - free_unit));
		now_stepped = self_counts().stepped;
		print_figure("stepped", names[i], (double)(now_stepped - stepped));
		stepped = now_stepped;
	}
}

/* What a memo took before it was full: no two fill alike, for it grows by the clock. */
struct full {
	double leave, first, again;
};

static struct full full_once(const struct self_profile *profile)
{
	struct full full;
	double unit;

	self_arm(profile);
	least(repeat, unit_any);
	unit = least(repeat_units, bare);
	if (unit - hit_unit < 100)
		errx(1, "a memo takes more sets than there can be");
	full.leave = unit - hit_unit;
	full.first = least(repeat_units, guards[NOP].function) - unit -
		     (free_first[NOP] - free_unit);
	full.again = least(repeat_behind, guards[NOP].function) - free_behind;
	if (self_counts().unknown_hits || self_counts().stray_hits)
		errx(1, "%" PRIu64 " unknown hits", self_counts().unknown_hits);
	self_disarm();
	return full;
}

/* Where the memo's table is searched without success for the shortest. */
static void measure_full(const struct self_profile *profile)
{
	struct full least_full = full_once(profile);

	for (int i = 1; i < FILLINGS; i++) {
		struct full full = full_once(profile);

		least_full.leave = fmin(least_full.leave, full.leave);
		least_full.first = fmin(least_full.first, full.first);
		least_full.again = fmin(least_full.again, full.again);
	}
	self_tell("full-leave", least_full.leave);
	self_tell("full-first", least_full.first);
	self_tell("full-again", least_full.again);
}

int main(int argc, char **argv)
{
	struct self_profile profile = {
		.guards = guards,
		.nr_guards = NR_GUARDS,
		.nr_types = NR_TYPES,
		.threshold_ns = NEVER_NS,
	};

	if (argc != 2)
		errx(2, "usage: hits BARE_KO");
	self_init();
	least(repeat, self_mark);
	self_note_depth();
	least(repeat_units, self_mark);
	self_note_depth();
	least(repeat_behind, self_mark);
	self_note_depth();
	least(repeat, mark_windows);
	self_note_depth();
	measure_free();
	measure_bare_uprobe(argv[1]);
	self_arm(&profile);
	measure_hits();
	check_hits();
	self_disarm();
	measure_full(&profile);
	measure_units(profile);
	/* What is mapped for them stays, and makes page faults and breakpoints search longer. */
	measure_jumps(profile);
	return 0;
}
