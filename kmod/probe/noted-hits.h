/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What becomes of the hits that a thread's landings have noted: hits of guards go to its unit,
 * others into the training stream.
 *
 * They are taken before anything else that comes in the thread after them is heeded: a hooked call,
 * and the breakpoint of a guard or of a site to record.
 */
#ifndef _KMOD_PROBE_NOTED_HITS_H
#define _KMOD_PROBE_NOTED_HITS_H

struct pguard_site;
struct pguard_thread;

void pguard_noted_hits_look(struct pguard_thread *thread, bool may_sleep);
void pguard_noted_hits_begin(struct pguard_thread *thread);
void pguard_noted_hits_before(const struct pguard_site *site);
void pguard_noted_hits_take(struct pguard_thread *thread);

#endif /* _KMOD_PROBE_NOTED_HITS_H */
