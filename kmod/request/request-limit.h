/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of requests: one of all requests of a target, which people set, and those of its
 * profile, which has one of each part of a request for each type of unit that reads requests.
 */
#ifndef _KMOD_REQUEST_REQUEST_LIMIT_H
#define _KMOD_REQUEST_REQUEST_LIMIT_H

#include <linux/types.h>

#include <perfguard/request-part.h>

struct pguard_client_request;
struct pguard_connection_table;
struct pguard_request_times;

/* Bits of parts, by enum perfguard_request_part. */
enum { PGUARD_REQUEST_ALL_PARTS = ~0U };

/**
 * struct pguard_request_limits - those of a request
 * @wanted: of all of its time, however long it waits for a CPU, that people have set, ticks; 0: none
 * @learnt: of each part, the same
 * @profile: id of the profile by which it has those
 * @type: id of the type; 0 if that is not known: then they are the largest
 */
struct pguard_request_limits {
	u64 wanted;
	struct request_parts learnt;
	u32 profile;
	u32 type;
};

/**
 * struct pguard_request_excess - the limit that a request exceeds, by the largest factor
 * @limit: ticks; 0: it exceeds none
 * @took: what it took of that part, the same
 * @part: PERFGUARD_REQUEST_PART_*; 0: the limit is people's
 * @profile: and
 * @type: as above; both 0 if the limit is people's
 */
struct pguard_request_excess {
	u64 limit;
	u64 took;
	u32 part;
	u32 profile;
	u32 type;
};

void pguard_request_limits(const struct pguard_connection_table *table,
			   const struct pguard_client_request *request,
			   struct pguard_request_limits *ret);
u64 pguard_request_least(const struct pguard_request_limits *limits);
struct request_parts pguard_request_parts(const struct pguard_request_times *times, u64 since);
struct pguard_request_excess pguard_request_exceeds(const struct pguard_request_limits *limits,
						    const struct pguard_request_times *times,
						    const struct request_parts *parts);
u64 pguard_request_left(const struct pguard_request_limits *limits, u64 elapsed,
			const struct request_parts *parts, u32 growing, u8 doublings);
void pguard_request_count(const struct pguard_connection_table *table,
			  const struct pguard_client_request *request,
			  const struct request_parts *parts);

#endif /* _KMOD_REQUEST_REQUEST_LIMIT_H */
