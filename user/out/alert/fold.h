/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Equal alerts, folded: of late units of one type with one hot path, the first
 * is printed at once, and those that come within a window only by their number, at
 * its end.  If there were any, the next window follows on, so that what goes on
 * and on makes one line a window; a window without any ends it.
 *
 * Where a unit that computes was when somebody looked is chance, so that its hot
 * path may be another each time: of a type's paths only the first few are printed,
 * and all others in common.
 *
 * A unit that is folded stays so with its further records as long as the window
 * lasts.  If it is still heard of later, it is requested again: a unit that is
 * stuck is never lost in a count.
 *
 * Plain state machine: times are the caller's, CLOCK_MONOTONIC.
 */
#ifndef _USER_OUT_ALERT_FOLD_H
#define _USER_OUT_ALERT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FOLD_MAX_WINDOWS = 1024, /* more different alerts at once are printed singly */
	/* Hot paths of a type in their windows; the others are folded into one. */
	FOLD_MAX_PATHS = 5,
};

/* Paths of all units that fit no type, that were stopped, and beyond FOLD_MAX_PATHS. */
#define FOLD_NOVEL UINT64_MAX
#define FOLD_STOPPED (UINT64_MAX - 1)
#define FOLD_VARIOUS (UINT64_MAX - 2)

struct fold_key {
	uint32_t target;
	uint32_t type; /* 0: none */
	uint64_t path; /* hotpath_hash() */
};

/* What a folded line says of the alert that was printed. */
struct fold_subject {
	uint64_t seq;
	uint32_t type;
	uint32_t pid;
	uint64_t group; /* see alert_head.group */
	bool is_various; /* no alert was printed: there are too many places */
	bool is_novel; /* it fits no type; else it is late */
	bool is_request; /* no unit, but a client's request */
	char *exe; /* may be NULL, like the others */
	char *build_id;
	char *comm;
	char *type_name;
	char *function; /* where the time goes; of a request "waiting for ..." and such */
};

struct fold_window {
	uint64_t id; /* never used again; 0: none */
	struct fold_key key;
	struct fold_subject subject;
	uint64_t begin_ns;
	uint32_t nr_units; /* folded in this window */
	uint32_t nr_ended; /* of them */
	uint64_t min_ns, max_ns; /* times of those */
	uint64_t running_ns; /* longest time so far of one that has not */
};

struct fold {
	uint64_t window_ns; /* 0: nothing is folded */
	uint64_t next_id;
	struct fold_window *windows;
	uint32_t nr;
	size_t max;
};

void fold_init(struct fold *fold, uint64_t window_ns);
void fold_deinit(struct fold *fold);

/*
 * A late unit that is heard of for the first time.  Returns the id of the
 * window it is folded into, or 0: it is to be printed.  In that case @subject,
 * which is emptied, is kept for those that follow.
 */
uint64_t fold_add(struct fold *fold, const struct fold_key *key, struct fold_subject *subject,
		  uint64_t now_ns, uint64_t elapsed_ns, bool has_ended);

/*
 * Further records of a unit that was folded into window @id.  Returns false if
 * that is over: the unit is to be added again.
 */
bool fold_go_on(struct fold *fold, uint64_t id, uint64_t elapsed_ns, bool has_ended);

/* When the next window ends; UINT64_MAX for never. */
uint64_t fold_due(const struct fold *fold);

/*
 * A window that ended by @now_ns with units in it, to be printed; call it until it
 * returns false.  What @ret->subject points to is valid until the next call of
 * any function of this file.  @now_ns UINT64_MAX ends all.
 */
bool fold_next(struct fold *fold, uint64_t now_ns, struct fold_window *ret);

void fold_subject_clear(struct fold_subject *subject);

#endif /* _USER_OUT_ALERT_FOLD_H */
