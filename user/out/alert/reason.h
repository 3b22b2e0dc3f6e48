/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why this unit: what of its time account, and which of the guards it met, are
 * out of the ordinary for its type.
 *
 * Pure comparison.  The account says how long the unit was off the CPU, and its
 * stacks in which system calls; the module sends only the sum of the two for
 * the units in time, so a kind of blocking is compared with its share of that.
 */
#ifndef _USER_OUT_ALERT_REASON_H
#define _USER_OUT_ALERT_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/alert-record.h"

enum reason_kind {
	REASON_CPU,
	REASON_RUNQUEUE, /* ready to run, but others had the CPUs */
	REASON_LOCK, /* futex */
	REASON_IO, /* files and disks */
	REASON_SLEEP, /* it asked for it */
	REASON_WAIT, /* for another process or machine: poll, recv, ... */
	REASON_BLOCKED, /* the system call is not known */
	REASON_STOPPED, /* by a signal, a tracer or the freezer */
	REASON_FAULTS,
	REASON_NR_KINDS,
};

/* Means over the units of the type that were in time; units 0: not known. */
struct reason_normal {
	uint64_t units;
	double elapsed_ns;
	double cpu_ns;
	double runqueue_ns;
	double block_io_ns;
	double min_faults;
	double maj_faults;
};

/* What a stack of the unit stands for, see hotpath.h. */
struct reason_stack {
	uint64_t ns;
	uint32_t syscall; /* SLICE_NO_SYSCALL for none */
	bool is_blocked;
};

struct reason_part {
	enum reason_kind kind;
	uint64_t ns; /* of REASON_FAULTS an estimate, which is part of the others */
	double normal_ns;
	double excess_ns; /* over the normal; all of it where that is not known */
	uint32_t syscall; /* with most of it; SLICE_NO_SYSCALL if not known */
};

struct reason {
	bool has_normal;
	struct account account; /* of the unit */
	struct reason_normal normal; /* of its type */
	uint32_t nr_parts;
	struct reason_part parts[REASON_NR_KINDS]; /* by excess, falling */
};

/*
 * The parts that are out of the ordinary: those with at least a tenth of the
 * excess.  None if no time account was kept.
 */
void reason_set(struct reason *reason, const struct account *account,
		const struct reason_stack *stacks, uint32_t nr,
		const struct reason_normal *normal);

/* "cpu", "runqueue", "lock", "io", "sleep", "wait", "blocked", "stopped" or "faults". */
const char *reason_kind_name(enum reason_kind kind);

#define REASON_TEXT_MAX 192

/* "blocked 212 ms in futex, where this type blocks 0.1 ms" */
char *reason_part_text(const struct reason *reason, uint32_t part, char text[REASON_TEXT_MAX]);

/* A context that the unit met, and what training saw of it in its type. */
struct reason_context {
	uint32_t hits; /* in the unit, at most 255 */
	bool is_known; /* the profile has it, for any type */
	uint64_t units; /* of the type, in training; 0: not known */
	uint64_t visits; /* of these, that met it */
	uint64_t sum; /* hits in them */
	uint32_t most; /* hits in one of them */
};

/* How often a unit of the type meets it, in the mean. */
double reason_usual(const struct reason_context *context);

/*
 * Indices of the contexts that the type hardly ever meets, or far less often,
 * the most surprising first.  Returns how many; at most @max.
 */
uint32_t reason_contexts(const struct reason_context *contexts, uint32_t nr, uint32_t *ret,
			 uint32_t max);

#endif /* _USER_OUT_ALERT_REASON_H */
