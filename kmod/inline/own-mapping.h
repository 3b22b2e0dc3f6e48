/* SPDX-License-Identifier: GPL-2.0 */
/* Mappings that the module makes in a program: of a file of their own, which holds the module. */
#ifndef _KMOD_INLINE_OWN_MAPPING_H
#define _KMOD_INLINE_OWN_MAPPING_H

#include <linux/fs.h>
#include <linux/types.h>

#include <perfguard/own-mapping.h>

struct mm_struct;
struct vm_area_struct;

/**
 * struct pguard_own_mapping - what is to be mapped
 * @name: that the list of the process' mappings shows
 * @fops: of the file; its mmap sets the rest
 * @data: the file's private_data, for its mmap, which takes it away; not NULL
 * @start: where
 * @size: bytes, whole pages
 * @prot: PROT_READ and others
 */
struct pguard_own_mapping {
	const char *name;
	const struct file_operations *fops;
	void *data;
	unsigned long start;
	unsigned long size;
	unsigned long prot;
};

int pguard_own_mapping_make(const struct pguard_own_mapping *mapping);
int pguard_own_mapping_unmap(struct mm_struct *mm, unsigned long start, unsigned long size);
unsigned long pguard_free_range(unsigned long low, unsigned long high, unsigned long near,
				unsigned long size);

/* For vm_operations_struct: to a program that takes the range for its own, an error says so. */
int pguard_own_mapping_split(struct vm_area_struct *vma, unsigned long address);
int pguard_own_mapping_move(struct vm_area_struct *vma);
int pguard_own_mapping_protect(struct vm_area_struct *vma, unsigned long start, unsigned long end,
			       unsigned long flags);

#endif /* _KMOD_INLINE_OWN_MAPPING_H */
