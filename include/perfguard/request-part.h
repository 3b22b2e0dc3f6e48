/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long each part of a request was, as limits have it.
 *
 * What a request waits for a CPU is the machine's doing, and it is not known in which of
 * its parts it did: so each is taken without all of it, but the wait for others, which is for no
 * CPU.  One source for the module and for training: what is learnt is what is compared.
 */
#ifndef _PERFGUARD_REQUEST_PART_H
#define _PERFGUARD_REQUEST_PART_H

#include <linux/types.h>

/* As enum perfguard_request_part of the netlink spec has them, less 1. */
enum {
	REQUEST_PART_ALL,
	REQUEST_PART_WORKING,
	REQUEST_PART_PEERS,
	REQUEST_PART_HELD,
	REQUEST_NR_PARTS,
};

/* By part; of one unit of time. */
struct request_parts {
	__u64 of[REQUEST_NR_PARTS];
};

static inline __u64 request_part_without(__u64 time, __u64 runqueue)
{
	return time > runqueue ? time - runqueue : 0;
}

/*
 * A request took @elapsed; units worked for it for @working of that, others for @peers,
 * it was held up for @held, and it waited @runqueue for a CPU.
 */
static inline struct request_parts request_parts_of(__u64 elapsed, __u64 working, __u64 peers,
						    __u64 held, __u64 runqueue)
{
	return (struct request_parts){
		.of = {
			[REQUEST_PART_ALL] = request_part_without(elapsed, runqueue),
			[REQUEST_PART_WORKING] = request_part_without(working, runqueue),
			[REQUEST_PART_PEERS] = peers,
			[REQUEST_PART_HELD] = request_part_without(held, runqueue),
		},
	};
}

#endif /* _PERFGUARD_REQUEST_PART_H */
