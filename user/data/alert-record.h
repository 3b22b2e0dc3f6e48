/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A record of the module's alert ring or wait ring, decoded.  The fields are
 * those of attribute set "record" in the netlink spec, which says what they
 * mean.  Plain data: record_clear() frees what it holds.
 */
#ifndef _USER_DATA_ALERT_RECORD_H
#define _USER_DATA_ALERT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/perfguard.h>

#include "data/requests.h"
#include "data/stack-copy.h"

struct account {
	uint64_t elapsed_ns;
	uint64_t cpu_ns;
	uint64_t runqueue_ns;
	uint64_t blocked_ns;
	uint64_t block_io_ns; /* part of blocked; only if has_block_io */
	uint64_t stopped_ns; /* by a signal, a tracer or the freezer */
	uint64_t min_faults;
	uint64_t maj_faults;
	bool has_block_io;
};

struct record {
	uint64_t seq;
	uint32_t kind; /* enum perfguard_record_kind */
	uint32_t found_by; /* enum perfguard_found_by, 0 if none */
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint64_t at_ns; /* the same moment of CLOCK_MONOTONIC, as the stacks have it */
	uint32_t target_id;
	uint32_t image_id;
	uint32_t loop_id;
	uint32_t pid;
	uint32_t tid;
	uint32_t ns_pid; /* in its pid namespace; 0: that is the first one, like the next */
	uint32_t ns_tid;
	char comm[16];
	uint64_t unit;
	uint32_t part; /* enum perfguard_part: what exceeded its limit; 0: it has none */
	uint64_t threshold_ns; /* that limit */
	struct account account;
	uint32_t stop_cause; /* enum perfguard_stop_cause, 0 if it was not stopped */
	uint32_t stopped_by; /* the signal, or the tracer's process; 0: not known */
	bool is_stopped; /* it was when the record was made */
	uint64_t voluntary;
	uint64_t involuntary;
	uint32_t syscall; /* of a wait, like the next four */
	uint64_t wait_ip;
	uint64_t wait_sp;
	uint64_t enter_ns; /* CLOCK_MONOTONIC */
	int64_t result;
	uint64_t lost;
	uint32_t profile_id; /* 0: no profile, and the next ones mean nothing */
	uint32_t type_id; /* 0: none */
	uint32_t margin;
	uint64_t check_ns;
	bool is_novel;
	bool is_degraded;
	uint32_t nr_met;
	struct perfguard_met *met;
	struct slow_request request; /* of kind request */
	uint32_t nr_stacks;
	struct slice *stacks;
	bool is_gone; /* its process: another one may have its number now */
	uint8_t *messages; /* as it came, for link_record_decode(); NULL: not kept */
	uint32_t messages_size;
};

/* The part of the unit's time that exceeded its limit, ns. */
uint64_t record_part_ns(const struct record *record);

void record_clear(struct record *record);

#endif /* _USER_DATA_ALERT_RECORD_H */
