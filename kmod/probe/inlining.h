/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inlining: sites that are recorded jump to landings, where they can, instead of running into the
 * breakpoint of their probe (inline/region.h).
 *
 * The probes stay.  A process begins with its breakpoints; the first thread that runs into one
 * changes all of the process on its way to user mode, and the landings of its image are made then;
 * those of a file that is mapped later when a thread runs into one of its breakpoints.
 * When a target goes, so do they, as soon as no thread is in one (inline/region-list.h).
 */
#ifndef _KMOD_PROBE_INLINING_H
#define _KMOD_PROBE_INLINING_H

#include <linux/types.h>

struct pguard_inlining;
struct pguard_jumps;
struct pguard_site;
struct pguard_target;
struct pguard_thread;

struct pguard_inlining *pguard_inlining_get(struct pguard_target *target,
					    struct pguard_jumps *jumps);
struct pguard_jumps *pguard_inlining_jumps(const struct pguard_inlining *inlining);
void pguard_inlining_begin(struct pguard_inlining *inlining);
void pguard_inlining_end(struct pguard_inlining *inlining);
void pguard_inlining_put_off(struct pguard_jumps *jumps, u32 number);
void pguard_inlining_put_on(struct pguard_jumps *jumps, u32 number);
void pguard_inlining_forget(struct pguard_target *target);
void pguard_inlining_visit(struct pguard_thread *thread);
void pguard_inlining_look(struct pguard_thread *thread);
void pguard_inlining_hit(struct pguard_thread *thread, const struct pguard_site *site);
void pguard_inlining_deinit(void);

#endif /* _KMOD_PROBE_INLINING_H */
