/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports about late units, and about units that fit no type.
 *
 * A unit may be found late by one of its guards, by the watchdog, or at its
 * end.  Whoever finds it, the steps are the same: ask the rate limit; set LATE
 * in the thread's unit word, so that one finder alone reports it; make a record
 * with the account and the stack; add it to the ring under the thread's lock;
 * charge the target for the time.
 */
#ifndef _KMOD_REPORT_LATE_UNIT_H
#define _KMOD_REPORT_LATE_UNIT_H

#include "target/image.h"
#include "target/tenant.h"
#include "target/thread.h"

#include <linux/types.h>

struct pguard_account;
struct pguard_alert_record;
struct pguard_stack;
struct pt_regs;

/*
 * Return: true if a late unit of the thread could be reported just now.  Context: any; the
 * thread is referenced.
 */
static inline bool pguard_late_unit_is_open(const struct pguard_thread *thread)
{
	const struct pguard_image *image = thread->image;

	return pguard_rate_limit_has(&image->tenant->alert_limit) &&
	       (atomic64_read(&image->target->report_left) > 0 ||
		pguard_rate_limit_has(&image->tenant->least_limit));
}

struct pguard_alert_record *pguard_late_unit_record(struct pguard_thread *thread,
						    const struct pguard_account *account,
						    u64 word, u32 kind, u32 found_by, gfp_t gfp);
struct pguard_stack *pguard_late_unit_stack(struct pguard_thread *thread, u64 word);
int pguard_late_unit_claim(struct pguard_thread *thread, u64 *word, u64 phase);
void pguard_late_unit_report(struct pguard_thread *thread, u64 word, const struct pt_regs *regs,
			     u64 elapsed);
void pguard_late_unit_sample(struct pguard_thread *thread, u64 word);
void pguard_late_unit_report_end(struct pguard_thread *thread, u64 word,
				 const struct pguard_account *account);
bool pguard_late_unit_report_novel(struct pguard_thread *thread, u64 word,
				   const struct pguard_account *account);

#endif /* _KMOD_REPORT_LATE_UNIT_H */
