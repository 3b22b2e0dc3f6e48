/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sites: places in a program's code, and what it means when a thread comes by.
 */
#ifndef _KMOD_PROBE_SITE_H
#define _KMOD_PROBE_SITE_H

#include <linux/types.h>

struct mm_struct;
struct pguard_guard_sums;
struct pguard_jumps;
struct pguard_profile;
struct pguard_target;
struct pt_regs;

/**
 * struct pguard_site - a site of a target
 * @target: whose threads are recorded; its batch holds a reference
 * @profile: whose guard it is, NULL if it is no guard but a site to record
 * @sums: how often that was hit
 * @left: so many hits of the profile's guards more, and the CPU reports them
 * @jumps: of its batch and file, if some of those are to jump where they can
 * @jump: of a guard: its number among these, or PGUARD_NO_JUMP
 * @id: what the events of its hits carry; the index of the guard
 * @sp_delta: from the stack pointer here to that at the function's entry
 * @key: infer_key() of the guard, for a stack pointer of 0 and a frame at 0
 * @events: a bit for each loop of the profile of which it is an event site
 * @has_contexts: of the guard; else all that it says is that an event begins
 * @one_shot: one hit is enough
 * @seen: it was recorded; only where one is enough
 * @starts: the loop of which it is a start site, or NULL
 */
struct pguard_site {
	struct pguard_target *target;
	struct pguard_profile *profile;
	struct pguard_guard_sums __percpu *sums;
	s32 __percpu *left;
	u64 key;
	struct pguard_jumps *jumps;
	u32 jump;
	u32 id;
	u32 sp_delta;
	u32 events;
	bool has_contexts;
	bool one_shot;
	bool seen;
	struct pguard_loop *starts;
};

/* Words of the user that hits were to record, and that were not in memory. */
extern atomic64_t pguard_site_unread;

bool pguard_site_wants(const struct pguard_site *site, struct mm_struct *mm);
bool pguard_site_hit(struct pguard_site *site, const struct pt_regs *regs);

#endif /* _KMOD_PROBE_SITE_H */
