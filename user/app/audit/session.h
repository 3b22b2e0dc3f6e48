/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One audit from arming to disarming: what the operator asked for, and all
 * that was learnt meanwhile.
 */
#ifndef _USER_APP_AUDIT_SESSION_H
#define _USER_APP_AUDIT_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "app/audit/auto-threshold.h"
#include "app/audit/discovery.h"
#include "app/audit/named-wait.h"
#include "app/audit/slowest.h"
#include "app/common/child.h"
#include "app/common/selector.h"
#include "data/loop.h"
#include "data/requests.h"
#include "link/link.h"
#include "out/json.h"

enum session_end {
	SESSION_RUNS,
	SESSION_DURATION, /* the time is over */
	SESSION_SIGNAL, /* the operator ended it */
	SESSION_COMMAND, /* the command ended */
	SESSION_GONE, /* no process of the target is left */
	SESSION_DISARMED, /* somebody else removed the target */
	SESSION_DONE, /* whoever uses the session has what he wants */
};

struct session {
	const char *verb; /* that it is for */
	/* Set by the operator. */
	bool is_json;
	FILE *lines; /* where JSON goes; NULL: nowhere */
	bool has_account;
	bool has_requests;
	uint32_t nr_slowest;
	uint64_t duration_ns; /* 0: until something else ends it */
	uint64_t threshold_ns; /* 0: auto threshold */
	struct selector selector;
	struct named_waits named; /* the loops' waits, if the operator knows them */

	/*
	 * Who does more with a session than audit it: more flags of the target,
	 * and what to do at each turn, at least each 100 ms and when @turn_fd
	 * can be read.  @turn returns 0, or an exit code after it reported why, and
	 * sets is_done when it has enough.
	 */
	uint32_t target_flags;
	int (*turn)(struct session *session, void *arg);
	void *turn_arg;
	int turn_fd; /* -1: none */
	bool is_done;
	int turn_failed; /* what @turn returned last */
	bool keeps_loops; /* what the event loops are is decided */

	/* Kept while it runs. */
	struct link *link;
	struct unwinder *unwinder;
	struct discovery discovery;
	struct slowest slowest;
	struct auto_threshold auto_threshold;
	struct child child;
	struct json json;
	int signals;
	int holder; /* of holder_begin() */
	uint32_t target_id;
	uint64_t next_alert; /* sequence number */
	uint64_t auto_threshold_ns; /* auto threshold in force */
	uint64_t lost_alerts;
	uint64_t put_off_ns; /* when the module put a request off last */
	struct process *processes; /* when last looked at, by rising pid */
	uint32_t nr_known; /* of them */
	uint32_t nr_seen; /* processes in all */
	uint32_t nr_processes; /* now, as the module says */
	bool is_disarmed; /* by somebody else */
	uint64_t start_ns; /* CLOCK_MONOTONIC, as the next three */
	uint64_t ready_ns; /* when the first loops were known; 0: never */
	uint64_t end_ns;
	uint64_t gone_ns; /* since when there is no process */
	uint64_t stop_ns; /* when to end, after a first SIGINT */
	enum session_end ended_by;

	/* Sums by image and loop, the latest that were read. */
	struct loop *loops;
	uint32_t nr_loops;
	struct requests requests; /* the same */
	/* Read at the end. */
	struct target target;
	struct stats stats_begin;
	struct stats stats_end;
};

/*
 * Arm (session-begin.c).  Says what is wrong in one line.  Returns 0 or an exit
 * code; session_finish() and session_deinit() are to be called all the same.
 */
int session_begin(struct session *session);

/*
 * Watch until something ends it; prints alerts as they come to lines.
 * Returns 0 or an exit code; what is wrong was reported.
 */
int session_run(struct session *session);

/* Read the latest sums and counters, while it is armed.  Returns 0 or the link's error. */
int session_take_sums(struct session *session);

/* Take the last readings, and leave nothing armed.  Returns as session_run(). */
int session_finish(struct session *session);

/*
 * Print the result of a session that was finished (audit-report.c).  Returns CMD_OK, or
 * CMD_FAILED if there was nothing to measure or the output cannot be written.
 */
int report_print(struct session *session);

void session_deinit(struct session *session);

/* What the files of the session share. */

/*
 * See which processes there are.  Only these are kept in mind: an audit of hours may
 * see a million.  Returns 0 or a negative errno.
 */
int session_look_at_processes(struct session *session);

/*
 * Read the target's counters; a target that is gone keeps the last ones.  Returns as
 * above.
 */
int session_take_target(struct session *session, bool *ret_is_there);

/* Decide on the event loops, and report when the first are known. */
int session_decide(struct session *session);

#endif /* _USER_APP_AUDIT_SESSION_H */
