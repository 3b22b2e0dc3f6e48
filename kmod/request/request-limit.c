// SPDX-License-Identifier: GPL-2.0

#include "request/request-limit.h"

#include "profile/profile.h"
#include "request/connection.h"
#include "target/target.h"

#include <linux/rcupdate.h>

static void limit_of_profile(const struct pguard_profile *profile,
			     const struct pguard_client_request *request,
			     struct pguard_request_limit *ret)
{
	u32 type = request->type - 1;

	ret->ticks = profile->request_most;
	ret->profile = profile->id;
	if (!request->type || request->profile != profile->id ||
	    profile->ticks[type].request == U64_MAX)
		return;
	ret->ticks = profile->ticks[type].request;
	ret->type = profile->types[type].id;
}

/**
 * pguard_request_limit() - from when on a request is late
 * @table: of its connection
 * @request: what is known of it by now; its connection is locked
 * @ret: filled in
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_request_limit(const struct pguard_connection_table *table,
			  const struct pguard_client_request *request,
			  struct pguard_request_limit *ret)
{
	u64 limit = READ_ONCE(table->late.limit);
	const struct pguard_profile *profile;

	*ret = (struct pguard_request_limit){ };
	if (READ_ONCE(table->late.is_learnt)) {
		rcu_read_lock();
		profile = rcu_dereference(table->target->profile);
		if (profile)
			limit_of_profile(profile, request, ret);
		rcu_read_unlock();
	}
	/* None (0) is above all. */
	if (limit - 1 < ret->ticks - 1)
		*ret = (struct pguard_request_limit){ .ticks = limit };
}
