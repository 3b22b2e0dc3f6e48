/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A late unit as an operator sees it: the record with its stacks unwound, the
 * program, the type and its guards named, and why it is late.  An alert only
 * points to what its maker owns.
 */
#ifndef _USER_OUT_ALERT_ALERT_H
#define _USER_OUT_ALERT_ALERT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "data/alert-record.h"
#include "data/frame.h"
#include "out/alert/fold.h"
#include "out/alert/hotpath.h"
#include "out/alert/reason.h"
#include "out/alert/regression.h"
#include "out/alert/starvation.h"
#include "out/json.h"
#include "out/text.h"

struct alert_stack {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint64_t into_ns; /* since the unit's start; 0 if unknown */
	uint32_t state; /* enum perfguard_stack_state */
	uint32_t tid; /* of another thread, which holds the lock; 0: the unit's own */
	uint32_t syscall; /* the thread was in; SLICE_NO_SYSCALL for none */
	uint64_t lock; /* address of the futex it waited for; 0: none */
	uint32_t holder; /* thread that holds it; 0: not known */
	uint32_t nr_frames;
	struct frame *frames; /* innermost first */
	const char *end; /* why it ends there: "complete", ... */
};

/* What is known of the type of a unit. */
struct alert_type {
	uint32_t id;
	const char *name; /* functions that identify it; NULL if not known */
	double usual_ns; /* mean of its units; 0 if not known */
	bool is_rough; /* its threshold comes from fewer units than it needs */
	double accuracy; /* share of its units that are recognised; negative: not known */
	bool is_carried; /* its limits are of another build, and not confirmed by this one */
};

/* A context that the unit met. */
struct alert_met {
	const char *module; /* NULL if not known, like the next one */
	const char *function;
	uint64_t offset; /* in the file, of the function's first byte */
	uint32_t depth;
	struct reason_context context;
};

/* The lock that the unit waits for, or waited for last. */
struct alert_lock {
	uint64_t address;
	uint32_t syscall;
	uint32_t holder; /* 0: not known */
	char comm[16]; /* of the holder; "" if not known */
	const struct alert_stack *stack; /* of the holder, or NULL */
};

struct alert {
	const struct record *record;
	const char *exe; /* NULL if not known, like the next two */
	const char *build_id;
	const char *cgroup;
	uint32_t loop; /* as the report counts them, of its own number in its
			* image for watch; 0 if not known */
	uint64_t running_ns; /* of a unit that still runs: its time by now */
	bool is_brief; /* as JSON: without stacks, functions and contexts */
	bool is_cut; /* its thread ended, or ran another program, inside of it */
	uint32_t nr_stacks;
	struct alert_stack *stacks;

	/* The rest is printed by 'watch' alone. */
	const struct alert_type *type; /* NULL: no type was inferred */
	const struct hotpath *hotpath; /* of all stacks so far; NULL: not known */
	const struct reason *reason; /* NULL: not known */
	const char *interpreter; /* that carries out a program in these stacks; NULL: none */
	const struct alert_lock *lock; /* NULL: none */
	const char *tracer; /* name of the process that stopped it; NULL: not known */
	const struct alert_met *met;
	uint32_t nr_met;
	const uint32_t *unusual; /* indices of met, the most surprising first */
	uint32_t nr_unusual;
};

/* A type whose level changed. */
struct alert_level {
	uint64_t time_ns; /* CLOCK_REALTIME, like regression.since_ns */
	const char *exe;
	const char *profile; /* path of its file */
	uint32_t profile_id;
	const struct alert_type *type;
	uint64_t limit_ns; /* of a unit's own time; 0: none */
	const struct regression *regression;
};

/* Who used the CPUs. */
struct alert_cpu_user {
	uint32_t pid;
	const char *comm;
	double share; /* of a CPU */
};

/* Starvation that has begun, or is over; then without users. */
struct alert_starvation {
	uint64_t time_ns; /* CLOCK_REALTIME, like starvation.since_ns */
	const struct starvation *starvation;
	const struct alert_cpu_user *users;
	uint32_t nr_users;
};

/*
 * One line with the fields of an alert.  @kind is "late", "ended", "lost",
 * "novel" or "slow".  Returns what json_end_line() does.
 */
int alert_json(struct json *json, FILE *file, const struct alert *alert,
	       const char *kind);

/* See alert_head.group; 0 of one without a hot path. */
uint64_t alert_unit_group(const struct alert *alert);

/* A folded window, of kind "repeated".  @time_ns is CLOCK_REALTIME. */
int alert_folded_json(struct json *json, FILE *file, const struct fold_window *window,
		      uint64_t window_ns, uint64_t time_ns);

/* Of kind "level". */
int alert_level_json(struct json *json, FILE *file, const struct alert_level *level);

/* Of kind "starved". */
int alert_starvation_json(struct json *json, FILE *file, const struct alert_starvation *alert);

/* How the text of an alert begins: when it was, of what kind, and of which thread. */
void alert_begin_text(FILE *file, const struct record *record, const char *colour,
		      const char *kind);

/* A line with the container of the alert's process, or its ids there, if it has such. */
void alert_container_text(FILE *file, const struct record *record, const char *cgroup);

/* All that is known of a late unit, as a block of lines. */
void alert_text(FILE *file, const struct alert *alert);

/*
 * What is new of a unit that was printed already when it had taken @printed_ns; the
 * path, too, if @has_path.
 */
void alert_again_text(FILE *file, const struct alert *alert, uint64_t printed_ns, bool has_path);

/* Where its time went, as its stacks show it; with @has_path on which path, and by which lock. */
void alert_where_text(FILE *file, const struct alert *alert, bool has_path);

/* Its stacks and, where that is known, its hot path. */
void alert_where_json(struct json *json, const struct alert *alert);

/* A unit that fits no type, in one line. */
void alert_novel_text(FILE *file, const struct alert *alert);

void alert_folded_text(FILE *file, const struct fold_window *window, uint64_t window_ns,
		       uint64_t time_ns);
void alert_level_text(FILE *file, const struct alert_level *level);
void alert_starvation_text(FILE *file, const struct alert_starvation *alert);

/*
 * The same of @alerts[@index], one of the slowest, where those before it were
 * printed already: what their stacks have in common is not repeated.
 */
void alert_slow_text(FILE *file, const struct alert *alerts, uint32_t index);

/* "late", "ended", "lost", "novel"; "?" for what a newer module sends. */
const char *alert_kind_name(uint32_t kind);

/* True if it is in time, and would be late if what it was stopped were its own time. */
bool alert_is_stop(const struct record *record);

/*
 * Who stopped it: "SIGSTOP", "process 816 (gdb), which traces it", "the freezer of its cgroup";
 * of a record with a cause.
 */
char *alert_stopper(const struct alert *alert, char text[PARAGRAPH_MAX]);

/* How sure the type is, 0 to 1; negative if there is none. */
double alert_confidence(const struct record *record);

#endif /* _USER_OUT_ALERT_ALERT_H */
