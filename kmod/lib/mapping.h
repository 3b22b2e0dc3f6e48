/* SPDX-License-Identifier: GPL-2.0 */
/* Executable mappings that a stack's words point into, by which it is unwound. */
#ifndef _KMOD_LIB_MAPPING_H
#define _KMOD_LIB_MAPPING_H

#include <linux/refcount.h>
#include <linux/types.h>

struct mm_struct;
struct pguard_mapping_search;

struct pguard_mapping {
	u64 start;
	u64 end;
	u64 offset;
	u64 inode;
	u32 dev;
	char *path;	/* NULL without a file */
};

/**
 * struct pguard_mappings - those of a stack, by address
 * @refs: of the stacks that have them; they do not change
 */
struct pguard_mappings {
	refcount_t refs;
	u32 nr;
	struct pguard_mapping list[];
};

bool pguard_mapping_lock(struct mm_struct *mm);
struct pguard_mapping_search *pguard_mapping_search_begin(struct mm_struct *mm);
bool pguard_mapping_search_word(struct pguard_mapping_search *search, u64 word);
void pguard_mapping_search_words(struct pguard_mapping_search *search, const u64 *words,
				 size_t nr);
bool pguard_mapping_search_known(struct pguard_mapping_search *search,
				 struct pguard_mappings *known);
struct pguard_mappings *pguard_mapping_search_end(struct pguard_mapping_search *search);
bool pguard_mappings_are_same(const struct pguard_mappings *a, const struct pguard_mappings *b);
struct pguard_mappings *pguard_mappings_get(struct pguard_mappings *mappings);
void pguard_mappings_put(struct pguard_mappings *mappings);

#endif /* _KMOD_LIB_MAPPING_H */
