/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An event loop of one image and the sums over its units, as attribute set
 * "loop" of the netlink spec defines them.  Plain data: loop_clear() frees it.
 */
#ifndef _USER_DATA_LOOP_H
#define _USER_DATA_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/perfguard.h>

/* A place in which a thread waits for its next unit. */
struct context {
	uint32_t loop_id;
	uint32_t syscall;
	uint32_t distance; /* bytes from the stack pointer to the return slot */
	uint64_t return_address;
};

struct loop {
	uint32_t image_id;
	uint32_t id;
	uint32_t threads;
	uint32_t nr_contexts;
	struct context *contexts;
	uint64_t units;
	uint64_t late;
	uint64_t elapsed_ns; /* this and the next are sums over all units */
	uint64_t cpu_ns;
	uint64_t runqueue_ns;
	uint64_t block_io_ns; /* only if has_block_io */
	uint64_t min_faults;
	uint64_t maj_faults;
	uint64_t max_ns;
	uint64_t stopped; /* units that were late by this alone, and do not count as late */
	uint64_t stopped_ns;
	uint64_t hist[PERFGUARD_HIST_BUCKETS];
	bool has_block_io;
};

void loop_clear(struct loop *loop);

#endif /* _USER_DATA_LOOP_H */
