// SPDX-License-Identifier: GPL-2.0

#include "out/alert/reason.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/duration.h"
#include "base/syscall-name.h"
#include "data/stack-copy.h"
#include "out/text.h"

enum {
	/* About what a page fault takes; only decides if it is worth a line. */
	MIN_FAULT_NS = 500,
	MAJ_FAULT_NS = 100000,
	/* Of fewer units of a type, what they never did says little. */
	MIN_TRAINED = 20,
	/* Guards met so many times as often as normally are named. */
	MANY_TIMES = 4,
};

/* A type that meets a context in less than this share of its units does not. */
#define HARDLY_EVER 0.01

/* Others are of files and disks: read, write, fsync, open, stat, ...; also of pipes and sockets. */
static const uint32_t lock_calls[] = {
	SYS_futex, 449 /* futex_waitv */, 455 /* futex_wait */, SYS_semop, SYS_semtimedop, SYS_flock,
};

static const uint32_t sleep_calls[] = {
	SYS_nanosleep, SYS_clock_nanosleep, SYS_pause, SYS_rt_sigsuspend, SYS_sched_yield,
};

static const uint32_t wait_calls[] = {
	SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_wait, SYS_epoll_pwait,
	441 /* epoll_pwait2 */, SYS_accept, SYS_accept4, SYS_connect, SYS_recvfrom, SYS_recvmsg,
	SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_msgrcv, SYS_mq_timedreceive,
	SYS_wait4, SYS_waitid, SYS_rt_sigtimedwait,
};

#define IS_ONE_OF(calls, syscall) is_one_of(calls, sizeof(calls) / sizeof((calls)[0]), syscall)

static bool is_one_of(const uint32_t *calls, size_t nr, uint32_t syscall)
{
	for (size_t i = 0; i < nr; i++)
		if (calls[i] == syscall)
			return true;
	return false;
}

static enum reason_kind kind_of(uint32_t syscall)
{
	if (syscall == SLICE_NO_SYSCALL)
		return REASON_BLOCKED;
	if (IS_ONE_OF(lock_calls, syscall))
		return REASON_LOCK;
	if (IS_ONE_OF(sleep_calls, syscall))
		return REASON_SLEEP;
	return IS_ONE_OF(wait_calls, syscall) ? REASON_WAIT : REASON_IO;
}

/* What the stacks say of the blocked time: how much of which kind, and where. */
struct blocking {
	uint64_t sum_ns;
	uint64_t ns[REASON_NR_KINDS];
	uint64_t most_ns[REASON_NR_KINDS];
	uint32_t syscall[REASON_NR_KINDS];
};

static uint64_t time_in(const struct reason_stack *stacks, uint32_t nr, uint32_t syscall)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (stacks[i].is_blocked && stacks[i].syscall == syscall)
			ns += stacks[i].ns;
	return ns;
}

static void blocking_set(struct blocking *blocking, const struct reason_stack *stacks, uint32_t nr)
{
	memset(blocking, 0, sizeof(*blocking));
	for (int i = 0; i < REASON_NR_KINDS; i++)
		blocking->syscall[i] = SLICE_NO_SYSCALL;
	for (uint32_t i = 0; i < nr; i++) {
		enum reason_kind kind = kind_of(stacks[i].syscall);
		uint64_t ns;

		if (!stacks[i].is_blocked)
			continue;
		blocking->ns[kind] += stacks[i].ns;
		blocking->sum_ns += stacks[i].ns;
		ns = time_in(stacks, nr, stacks[i].syscall);
		if (ns <= blocking->most_ns[kind])
			continue;
		blocking->most_ns[kind] = ns;
		blocking->syscall[kind] = stacks[i].syscall;
	}
}

static void add_part(struct reason *reason, enum reason_kind kind, double ns, double normal_ns,
		     uint32_t syscall)
{
	if (ns <= 0 || ns <= normal_ns)
		return;
	reason->parts[reason->nr_parts++] = (struct reason_part){
		.kind = kind,
		.ns = (uint64_t)ns,
		.normal_ns = normal_ns,
		.excess_ns = ns - normal_ns,
		.syscall = syscall,
	};
}

static void add_blocked(struct reason *reason, const struct account *account,
			const struct blocking *blocking, double normal_ns)
{
	double whole = (double)account->blocked_ns, io = 0, rest;

	/* What the kernel counted as block I/O is I/O, whatever the stacks say. */
	if (account->has_block_io)
		io = (double)account->block_io_ns;
	if (blocking->sum_ns)
		io = fmax(io, whole * (double)blocking->ns[REASON_IO] / (double)blocking->sum_ns);
	io = fmin(io, whole);
	rest = (double)(blocking->sum_ns - blocking->ns[REASON_IO]);
	for (int kind = REASON_LOCK; kind <= REASON_BLOCKED; kind++) {
		double ns = 0;

		if (kind == REASON_IO)
			ns = io;
		else if (rest > 0)
			ns = (whole - io) * (double)blocking->ns[kind] / rest;
		else if (kind == REASON_BLOCKED)
			ns = whole - io;
		add_part(reason, kind, ns, whole > 0 ? normal_ns * ns / whole : 0,
			 blocking->syscall[kind]);
	}
}

static void add_faults(struct reason *reason, const struct account *account,
		       const struct reason_normal *normal)
{
	double min = (double)account->min_faults - normal->min_faults;
	double maj = (double)account->maj_faults - normal->maj_faults;

	if (min < 64 + (MANY_TIMES - 1) * normal->min_faults)
		min = 0;
	if (maj < 1 + (MANY_TIMES - 1) * normal->maj_faults)
		maj = 0;
	add_part(reason, REASON_FAULTS,
		 fmin(min * MIN_FAULT_NS + maj * MAJ_FAULT_NS, (double)account->elapsed_ns), 0,
		 SLICE_NO_SYSCALL);
}

static int compare_parts(const void *left, const void *right)
{
	const struct reason_part *a = left, *b = right;

	if (a->excess_ns != b->excess_ns)
		return a->excess_ns < b->excess_ns ? 1 : -1;
	return (int)a->kind - (int)b->kind;
}

/* The parts' excesses may be more than the whole's, where others fell short. */
static void keep_large(struct reason *reason)
{
	double whole = 0;

	for (uint32_t i = 0; i < reason->nr_parts; i++)
		if (reason->parts[i].kind != REASON_FAULTS)
			whole += reason->parts[i].excess_ns;
	while (reason->nr_parts > 1 && reason->parts[reason->nr_parts - 1].excess_ns < whole / 10)
		reason->nr_parts--;
}

void reason_set(struct reason *reason, const struct account *account,
		const struct reason_stack *stacks, uint32_t nr, const struct reason_normal *normal)
{
	static const struct reason_normal none;
	struct blocking blocking;
	double blocked_ns;

	if (!normal || !normal->units)
		normal = &none;
	*reason = (struct reason){
		.has_normal = normal->units != 0,
		.account = *account,
		.normal = *normal,
	};
	if (!text_has_account(account))
		return;
	blocked_ns = fmax(normal->elapsed_ns - normal->cpu_ns - normal->runqueue_ns, 0);
	blocking_set(&blocking, stacks, nr);
	add_part(reason, REASON_CPU, (double)account->cpu_ns, normal->cpu_ns, SLICE_NO_SYSCALL);
	add_part(reason, REASON_RUNQUEUE, (double)account->runqueue_ns, normal->runqueue_ns,
		 SLICE_NO_SYSCALL);
	add_blocked(reason, account, &blocking, blocked_ns);
	add_part(reason, REASON_STOPPED, (double)account->stopped_ns, 0, SLICE_NO_SYSCALL);
	add_faults(reason, account, normal);
	if (reason->nr_parts)
		qsort(reason->parts, reason->nr_parts, sizeof(*reason->parts), compare_parts);
	keep_large(reason);
}

const char *reason_kind_name(enum reason_kind kind)
{
	static const char *const names[REASON_NR_KINDS] = {
		[REASON_CPU] = "cpu",	      [REASON_RUNQUEUE] = "runqueue",
		[REASON_LOCK] = "lock",	      [REASON_IO] = "io",
		[REASON_SLEEP] = "sleep",     [REASON_WAIT] = "wait",
		[REASON_BLOCKED] = "blocked", [REASON_STOPPED] = "stopped",
		[REASON_FAULTS] = "faults",
	};

	return kind < REASON_NR_KINDS ? names[kind] : "?";
}

/* What the unit did, where, and the same verb of its type. */
static const struct {
	const char *did;
	const char *where;
	const char *does;
} words[REASON_NR_KINDS] = {
	[REASON_CPU] = { "computed", "", "computes" },
	[REASON_RUNQUEUE] = { "was ready", " without getting a CPU", "has to wait" },
	[REASON_LOCK] = { "blocked", " for a lock", "blocks" },
	[REASON_IO] = { "blocked", " for I/O", "blocks" },
	[REASON_SLEEP] = { "slept", "", "blocks" },
	[REASON_WAIT] = { "waited", " for others", "blocks" },
	[REASON_BLOCKED] = { "blocked", "", "blocks" },
	[REASON_STOPPED] = { "was stopped", "", "" },
};

static void faults_text(const struct reason *reason, char text[REASON_TEXT_MAX])
{
	char count[TEXT_MAX];

	snprintf(text, REASON_TEXT_MAX, "%s page faults",
		 text_count(reason->account.min_faults + reason->account.maj_faults, count));
	if (reason->account.maj_faults)
		text_append(text, REASON_TEXT_MAX, " (%s from disk)",
			    text_count(reason->account.maj_faults, count));
	if (reason->has_normal)
		text_append(text, REASON_TEXT_MAX, ", where this type has %.3g",
			    reason->normal.min_faults + reason->normal.maj_faults);
}

char *reason_part_text(const struct reason *reason, uint32_t index, char text[REASON_TEXT_MAX])
{
	const struct reason_part *part = &reason->parts[index];
	char ns[DURATION_TEXT_MAX], normal[DURATION_TEXT_MAX];
	const char *name = NULL;

	if (part->kind == REASON_FAULTS) {
		faults_text(reason, text);
		return text;
	}
	if (part->syscall != SLICE_NO_SYSCALL)
		name = syscall_any_name(part->syscall);
	snprintf(text, REASON_TEXT_MAX, "%s %s%s%s", words[part->kind].did,
		 duration_format(part->ns, ns), name ? " in " : words[part->kind].where,
		 name ? name : "");
	if (part->kind == REASON_STOPPED)
		return text;
	if (reason->has_normal && part->normal_ns < 1000)
		text_append(text, REASON_TEXT_MAX, ", where this type hardly %s",
			    words[part->kind].does);
	else if (reason->has_normal)
		text_append(text, REASON_TEXT_MAX, ", where this type %s %s",
			    words[part->kind].does,
			    duration_format((uint64_t)part->normal_ns, normal));
	return text;
}

double reason_usual(const struct reason_context *context)
{
	return context->units ? (double)context->sum / (double)context->units : 0;
}

/* In bits; 0 if it is not out of the ordinary. */
static double surprise(const struct reason_context *context)
{
	double usual;

	if (!context->is_known)
		return 64;
	if (context->units < MIN_TRAINED || !context->hits)
		return 0;
	if ((double)context->visits < HARDLY_EVER * (double)context->units)
		return log2(((double)context->units + 1) / ((double)context->visits + 0.5));
	usual = (double)context->sum / (double)context->visits;
	if (context->hits <= context->most || context->hits < MANY_TIMES * usual)
		return 0;
	return log2(context->hits / usual);
}

uint32_t reason_contexts(const struct reason_context *contexts, uint32_t nr, uint32_t *ret,
			 uint32_t max)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < nr; i++) {
		double bits = surprise(&contexts[i]);
		uint32_t at = found;

		if (bits <= 0)
			continue;
		while (at && bits > surprise(&contexts[ret[at - 1]]))
			at--;
		if (at == max)
			continue;
		if (found == max)
			found--;
		memmove(&ret[at + 1], &ret[at], (found - at) * sizeof(*ret));
		ret[at] = i;
		found++;
	}
	return found;
}
