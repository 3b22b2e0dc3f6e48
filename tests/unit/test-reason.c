// SPDX-License-Identifier: GPL-2.0
/* Why a unit is late: its account and its guards against those of its type. */

#include <string.h>
#include <sys/syscall.h>

#include "data/stack-copy.h"
#include "out/alert/reason.h"
#include "tap.h"

#define US 1000u
#define MS 1000000u

/* 3.2 ms: 2.9 on the CPU, 0.1 for one, 0.2 blocked. */
static const struct reason_normal normal = {
	.units = 1000,
	.elapsed_ns = 3.2 * MS,
	.cpu_ns = 2.9 * MS,
	.runqueue_ns = 0.1 * MS,
	.min_faults = 3,
};

static struct account account_of(uint64_t cpu, uint64_t runqueue, uint64_t blocked)
{
	return (struct account){
		.elapsed_ns = cpu + runqueue + blocked,
		.cpu_ns = cpu,
		.runqueue_ns = runqueue,
		.blocked_ns = blocked,
		.min_faults = 3,
	};
}

static bool is_text(const struct reason *reason, uint32_t part, const char *expected)
{
	char text[REASON_TEXT_MAX] = "no such part";

	if (part < reason->nr_parts)
		reason_part_text(reason, part, text);
	if (!strcmp(text, expected))
		return true;
	diag("%s", text);
	return false;
}

static void test_parts(void)
{
	struct reason_stack stacks[] = {
		{ .ns = 190 * MS, .syscall = SYS_futex, .is_blocked = true },
		{ .ns = 10 * MS, .syscall = SLICE_NO_SYSCALL },
	};
	struct account account = account_of(3 * MS, 100 * US, 212 * MS);
	struct reason reason;

	reason_set(&reason, &account, stacks, 2, &normal);
	ok(reason.nr_parts == 1 && reason.parts[0].kind == REASON_LOCK,
	   "a lock: that alone is reported");
	ok(is_text(&reason, 0, "blocked 212 ms in futex, where this type blocks 200 us"),
	   "with how long its type blocks");
	ok(reason.parts[0].excess_ns > 211 * MS && reason.parts[0].excess_ns < 212 * MS,
	   "and how much more this is");

	account = account_of(80 * MS, 100 * US, 200 * US);
	reason_set(&reason, &account, NULL, 0, &normal);
	ok(reason.nr_parts == 1 &&
		   is_text(&reason, 0, "computed 80.0 ms, where this type computes 2.90 ms"),
	   "it computed");

	account = account_of(3 * MS, 50 * MS, 0);
	reason_set(&reason, &account, NULL, 0, &normal);
	ok(reason.nr_parts == 1 && is_text(&reason, 0, "was ready 50.0 ms without getting a CPU, "
							"where this type has to wait 100 us"),
	   "others had the CPUs");

	account = account_of(40 * MS, 20 * MS, 100 * MS);
	stacks[0].syscall = SYS_fsync;
	reason_set(&reason, &account, stacks, 2, &normal);
	ok(reason.nr_parts == 3 && reason.parts[0].kind == REASON_IO &&
		   reason.parts[1].kind == REASON_CPU && reason.parts[2].kind == REASON_RUNQUEUE,
	   "several parts, that with most excess first");

	account = account_of(3 * MS, 0, 200 * US);
	reason_set(&reason, &account, NULL, 0, &normal);
	ok(reason.nr_parts == 1 && reason.parts[0].kind == REASON_CPU,
	   "what is as usual has no more than a little");

	account = account_of(2 * MS, 0, 0);
	reason_set(&reason, &account, NULL, 0, &normal);
	ok(!reason.nr_parts, "or nothing");
}

static void test_blocked(void)
{
	struct reason_stack stacks[] = {
		{ .ns = 10 * MS, .syscall = SYS_read, .is_blocked = true },
		{ .ns = 20 * MS, .syscall = SYS_write, .is_blocked = true },
		{ .ns = 60 * MS, .syscall = SYS_futex, .is_blocked = true },
		{ .ns = 10 * MS, .syscall = SYS_clock_nanosleep, .is_blocked = true },
	};
	struct account account = account_of(0, 0, 200 * MS);
	struct reason reason;

	reason_set(&reason, &account, stacks, 4, &normal);
	ok(reason.nr_parts == 3 && reason.parts[0].kind == REASON_LOCK &&
		   reason.parts[0].ns == 120 * MS && reason.parts[1].kind == REASON_IO &&
		   reason.parts[1].ns == 60 * MS && reason.parts[1].syscall == SYS_write &&
		   reason.parts[2].kind == REASON_SLEEP && reason.parts[2].ns == 20 * MS,
	   "the stacks show what the blocked time was spent on");

	account.has_block_io = true;
	account.block_io_ns = 150 * MS;
	reason_set(&reason, &account, stacks, 4, &normal);
	ok(reason.parts[0].kind == REASON_IO && reason.parts[0].ns == 150 * MS,
	   "what the kernel counts as block I/O is believed before them");

	reason_set(&reason, &account, NULL, 0, &normal);
	ok(reason.nr_parts == 2 && reason.parts[0].kind == REASON_IO &&
		   reason.parts[1].kind == REASON_BLOCKED && reason.parts[1].ns == 50 * MS,
	   "without stacks the rest is only blocked");
	ok(is_text(&reason, 0, "blocked 150 ms for I/O, where this type blocks 150 us"),
	   "and no system call is named");
}

static void test_unknown(void)
{
	struct account account = account_of(3 * MS, 100 * US, 212 * MS), none = { 0 };
	struct reason_normal new = { 0 };
	struct reason reason;

	reason_set(&reason, &account, NULL, 0, NULL);
	ok(!reason.has_normal && reason.nr_parts == 1 && is_text(&reason, 0, "blocked 212 ms"),
	   "without a type: where most of the time went");
	reason_set(&reason, &account, NULL, 0, &new);
	ok(!reason.has_normal, "the same if no unit of the type was in time");
	none.elapsed_ns = 5 * MS;
	reason_set(&reason, &none, NULL, 0, &normal);
	ok(!reason.nr_parts, "nothing if no account was kept");
}

static void test_faults(void)
{
	struct account account = account_of(6 * MS, 0, 0);
	struct reason reason;

	account.min_faults = 9000;
	account.maj_faults = 2;
	reason_set(&reason, &account, NULL, 0, &normal);
	ok(reason.nr_parts == 2 && reason.parts[1].kind == REASON_CPU, "page faults and their cost");
	ok(is_text(&reason, 0, "9,002 page faults (2 from disk), where this type has 3"),
	   "with their number");
	account.min_faults = 9;
	account.maj_faults = 0;
	reason_set(&reason, &account, NULL, 0, &normal);
	ok(reason.nr_parts == 1, "a few more are nothing");
}

static void test_contexts(void)
{
	const struct reason_context contexts[] = {
		/* as usual */
		{ .hits = 1, .is_known = true, .units = 500, .visits = 500, .sum = 500, .most = 1 },
		/* far more often */
		{ .hits = 212, .is_known = true, .units = 500, .visits = 500, .sum = 500, .most = 2 },
		/* hardly ever */
		{ .hits = 1, .is_known = true, .units = 500, .visits = 1, .sum = 1, .most = 1 },
		/* never */
		{ .hits = 3, .is_known = true, .units = 500 },
		/* often, but so it was in training */
		{ .hits = 90, .is_known = true, .units = 500, .visits = 90, .sum = 900, .most = 100 },
		/* a type of which little is known */
		{ .hits = 3, .is_known = true, .units = 5 },
		/* no type has it */
		{ .hits = 1 },
	};
	uint32_t ret[8], nr;

	nr = reason_contexts(contexts, 7, ret, 8);
	ok(nr == 4 && ret[0] == 6 && ret[1] == 3 && ret[2] == 2 && ret[3] == 1,
	   "contexts out of the ordinary, the most surprising first");
	nr = reason_contexts(contexts, 7, ret, 2);
	ok(nr == 2 && ret[0] == 6 && ret[1] == 3, "no more than asked for");
	ok(!reason_contexts(contexts, 1, ret, 8) && !reason_contexts(contexts, 0, ret, 8) &&
		   !reason_contexts(contexts, 7, ret, 0),
	   "nothing of what is usual");
	ok(reason_usual(&contexts[1]) == 1 && reason_usual(&contexts[6]) == 0, "the usual number");
}

int main(void)
{
	plan(22);
	test_parts();
	test_blocked();
	test_unknown();
	test_faults();
	test_contexts();
	return tap_status();
}
