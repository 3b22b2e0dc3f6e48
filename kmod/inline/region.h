/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Regions: the landings of the sites of a file, in the processes of an image, and which of
 * the sites jump there.
 *
 * A region is a mapping that can be read and executed, within reach of the file's text, at the
 * same place in all processes of the image.  Every process that has it mapped is known, if
 * watched or not: children inherit the mapping, and with it the jumps.  As long as it is, the
 * sites' uprobes belong into its memory: what takes a uprobe of another user off there puts the
 * first byte back, and would leave the others.
 */
#ifndef _KMOD_INLINE_REGION_H
#define _KMOD_INLINE_REGION_H

#include "inline/site-landing.h"
#include "lib/noted-hit.h"

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>

struct inode;
struct pguard_image;

/**
 * struct pguard_jump - a site whose hits a landing can note
 * @offset: in the file
 * @what: of the hits, see struct pguard_noted_hit
 * @sp_delta: from the landing's stack pointer, when it begins, to that at the function's entry
 * @is_off: it is not to jump for now
 * @insn: the instruction as it stands in the file
 * @window: the same, read
 */
struct pguard_jump {
	u64 offset;
	u32 what;
	u32 sp_delta;
	bool is_off;
	u8 insn[EMULATE_MAX_LENGTH];
	struct pguard_window window;
};

/**
 * struct pguard_jumps - such sites of one file
 * @inode: of the file; kept by who made this
 * @regions: one for each image whose threads came by; RCU; writers are serialized by the caller
 *	of the functions below
 * @nr: how many sites
 */
struct pguard_jumps {
	struct inode *inode;
	struct list_head regions;
	u32 nr;
	struct pguard_jump list[];
};

/**
 * struct pguard_region - the landings of sites, for an image
 * @list: in pguard_jumps.regions; as long as that is there
 * @all: in the list of all, see region-list.h
 * @round: that it was looked at in
 * @jumps: the sites; NULL once they are gone
 * @image_id: of the image
 * @base: address of the file's first byte, or where that would be
 * @start: address of the first landing
 * @size: bytes, whole pages
 * @code: the landings, by number of the site
 * @heads: the jump to each, PGUARD_LANDING_HEAD bytes; the first one 0: it has none
 * @nr: how many sites
 * @lock: of @uses; nothing is taken in it
 * @uses: where it is mapped; RCU
 * @refs: one of pguard_jumps, one of each use
 */
struct pguard_region {
	struct list_head list;
	struct list_head all;
	u32 round;
	struct pguard_jumps *jumps;
	u32 image_id;
	unsigned long base;
	unsigned long start;
	unsigned long size;
	u8 *code;
	u8 (*heads)[PGUARD_LANDING_HEAD];
	u32 nr;
	spinlock_t lock;
	struct list_head uses;
	struct kref refs;
	struct rcu_head rcu;
};

/**
 * struct pguard_region_use - a region in a memory
 * @list: in pguard_region.uses
 * @rcu: of the last put
 * @region: it, referenced
 * @mm: where; stays while it is mapped
 * @nr_mappings: more than one while mremap() tries to move it; pguard_region.lock
 * @refs: one of the mapping
 * @round: that it was looked at in, see region-list.h
 * @is_pinned: a thread may return there from a signal, or what was a jump could not be changed; a
 *	child's is as its parent's
 * @nr_jumps: bits in @jumps
 * @jumps: a bit for each site that jumps; the memory's map lock, held for writing
 */
struct pguard_region_use {
	struct list_head list;
	struct rcu_head rcu;
	struct pguard_region *region;
	struct mm_struct *mm;
	u32 nr_mappings;
	struct kref refs;
	u32 round;
	bool is_pinned;
	u32 nr_jumps;
	unsigned long jumps[];
};

void pguard_region_put(struct pguard_region *region);
void pguard_region_use_put(struct pguard_region_use *use);
struct pguard_jumps *pguard_jumps_alloc(u32 nr);
void pguard_jumps_free(struct pguard_jumps *jumps);
bool pguard_jumps_are_same(const struct pguard_jumps *a, const struct pguard_jumps *b);
bool pguard_jumps_are_in(struct pguard_jumps *jumps, const struct mm_struct *mm);
int pguard_jumps_install(struct pguard_jumps *jumps, struct pguard_image *image);
void pguard_jumps_leave(struct pguard_jumps *jumps);
void pguard_jumps_remove(struct pguard_jumps *jumps);
void pguard_jumps_remove_one(struct pguard_jumps *jumps, u32 number);

#endif /* _KMOD_INLINE_REGION_H */
