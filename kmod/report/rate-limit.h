/* SPDX-License-Identifier: GPL-2.0 */
/* How many late units are told, and what that takes. */
#ifndef _KMOD_REPORT_RATE_LIMIT_H
#define _KMOD_REPORT_RATE_LIMIT_H

#include "lib/account.h"
#include "target/image.h"

#include <linux/jiffies.h>

/* While something is told; on the stack of who does it. */
struct pguard_telling {
	struct pguard_mark mark;
	u64 begun;	/* pguard_clock() */
};

/* Where nothing can be told just now, nobody needs to ask.  Context: any. */
static inline bool pguard_telling_is_open(const struct pguard_target *target)
{
	return time_after_eq(jiffies, READ_ONCE(target->telling_opens));
}

bool pguard_telling_may(struct pguard_target *target);
bool pguard_telling_may_again(struct pguard_target *target);
void pguard_telling_begin(struct pguard_telling *telling);
void pguard_telling_end(const struct pguard_telling *telling, struct pguard_target *target);
void pguard_telling_add(struct pguard_target *target, u64 ns);
void pguard_telling_reset(struct pguard_target *target);
void pguard_telling_earn(struct pguard_target *target, u64 earned);

#endif /* _KMOD_REPORT_RATE_LIMIT_H */
