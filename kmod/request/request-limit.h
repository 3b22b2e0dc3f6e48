/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of requests: one of all requests of a target, which people set, and those of its
 * profile, which has one for each type of unit that reads requests.
 */
#ifndef _KMOD_REQUEST_REQUEST_LIMIT_H
#define _KMOD_REQUEST_REQUEST_LIMIT_H

#include <linux/types.h>

struct pguard_client_request;
struct pguard_connection_table;

/**
 * struct pguard_request_limit - that of a request
 * @ticks: beyond which it is late; 0: none
 * @profile: id of the profile by which it has that, and
 * @type: id of the type; both 0 if people have set it, the second one also if the type is not
 *	known: then it is the largest
 */
struct pguard_request_limit {
	u64 ticks;
	u32 profile;
	u32 type;
};

void pguard_request_limit(const struct pguard_connection_table *table,
			  const struct pguard_client_request *request, u64 runqueue,
			  struct pguard_request_limit *ret);
void pguard_request_count(const struct pguard_connection_table *table,
			  const struct pguard_client_request *request, u64 elapsed);

#endif /* _KMOD_REQUEST_REQUEST_LIMIT_H */
