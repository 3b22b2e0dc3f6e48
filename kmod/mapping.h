/* SPDX-License-Identifier: GPL-2.0 */
/* Executable mappings that a stack's words point into, by which it is unwound. */
#ifndef _PGUARD_MAPPING_H
#define _PGUARD_MAPPING_H

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

bool pguard_mapping_lock(struct mm_struct *mm);
struct pguard_mapping_search *pguard_mapping_search_begin(struct mm_struct *mm);
void pguard_mapping_search_words(struct pguard_mapping_search *search, const u64 *words,
				 size_t nr);
void pguard_mapping_search_known(struct pguard_mapping_search *search,
				 const struct pguard_mapping *known, u32 nr);
struct pguard_mapping *pguard_mapping_search_end(struct pguard_mapping_search *search,
						 u32 *ret_nr);
bool pguard_mapping_are_same(const struct pguard_mapping *a, const struct pguard_mapping *b,
			     u32 nr);
void pguard_mapping_free(struct pguard_mapping *mappings, u32 nr);

#endif /* _PGUARD_MAPPING_H */
