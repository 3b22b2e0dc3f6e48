/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A landing: the code to which a jump in the place of an instruction leads.
 *
 * It notes the hit in the ring of the thread (inline/area.h), executes the instruction, and
 * jumps back behind it.  It keeps flags, registers and the red zone.  It is made from a fixed
 * template and a window (perfguard/window.h); no code comes from user space but that
 * instruction, which stands in the file.
 */
#ifndef _KMOD_INLINE_SITE_LANDING_H
#define _KMOD_INLINE_SITE_LANDING_H

#include <perfguard/window.h>

#include <linux/types.h>

enum {
	PGUARD_LANDING_SIZE = 112,	/* bytes between landings */
	PGUARD_LANDING_HEAD = 5,	/* bytes of the jump to it */
};

/**
 * struct pguard_landing_spec - what a landing is made of
 * @window: the instruction
 * @insn: its bytes
 * @site: where it stands in memory
 * @at: where the landing stands
 * @areas: where the areas begin, below 2 GiB
 * @what: of the hits, see struct pguard_noted_hit
 * @sp_delta: from the landing's stack pointer, when it begins, to that at the function's entry
 * @has_value: it notes the word there
 */
struct pguard_landing_spec {
	const struct pguard_window *window;
	const u8 *insn;
	unsigned long site;
	unsigned long at;
	u32 areas;
	u32 what;
	u32 sp_delta;
	bool has_value;
};

int pguard_landing_make(u8 code[PGUARD_LANDING_SIZE], const struct pguard_landing_spec *spec);
int pguard_landing_head(u8 head[PGUARD_LANDING_HEAD], const struct pguard_window *window,
			unsigned long site, unsigned long at);

#endif /* _KMOD_INLINE_SITE_LANDING_H */
