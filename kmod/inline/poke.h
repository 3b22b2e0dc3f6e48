/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changing the instructions at sites of a memory, while its threads run there.
 *
 * A site that has a uprobe's breakpoint becomes a jump in three steps: behind the breakpoint, which
 * whoever comes by runs into, the rest of the jump is written; all CPUs that run threads of the
 * memory take note; then the first byte is written.  The way back is the reverse.  All of it is
 * done under the memory's map lock, held for writing: so no fork copies a state in between, and no
 * uprobe of another user is put on or off (kernel/events/uprobes.c).
 *
 * The jump takes the place of one whole instruction, so no thread, no frame of a signal and no
 * jump of the program can be in its middle.
 */
#ifndef _KMOD_INLINE_POKE_H
#define _KMOD_INLINE_POKE_H

#include <linux/types.h>

struct pguard_region_use;

void pguard_poke(struct pguard_region_use *use, u32 first, u32 last, bool is_jump);

#endif /* _KMOD_INLINE_POKE_H */
