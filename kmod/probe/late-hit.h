/* SPDX-License-Identifier: GPL-2.0 */
/* Hits that find their unit late, and report it once the handler is over. */
#ifndef _KMOD_PROBE_LATE_HIT_H
#define _KMOD_PROBE_LATE_HIT_H

#include <linux/types.h>

struct pguard_thread;
struct pt_regs;

int pguard_late_hit(struct pguard_thread *thread, u64 word, const struct pt_regs *regs,
		    u64 elapsed);
void pguard_late_hit_deinit(void);

#endif /* _KMOD_PROBE_LATE_HIT_H */
