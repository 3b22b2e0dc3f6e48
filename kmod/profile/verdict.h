/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verdicts about units: what the scores of infer.h say of them in a profile.
 */
#ifndef _KMOD_PROFILE_VERDICT_H
#define _KMOD_PROFILE_VERDICT_H

#include "profile/profile.h"
#include "profile/verdict-cache.h"

u32 pguard_verdict_within(const struct pguard_loop *loop, u16 type);
void pguard_verdict_make(struct pguard_verdict *verdict, const struct pguard_loop *loop,
			 const struct infer_state *state);
void pguard_verdict_make_known(struct pguard_cached_verdict *known, const struct pguard_loop *loop,
			       const struct infer_state *state);
size_t pguard_verdict_make_first(struct pguard_loop *loop);
size_t pguard_verdict_grow(struct pguard_loop *loop);

#endif /* _KMOD_PROFILE_VERDICT_H */
