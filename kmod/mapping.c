// SPDX-License-Identifier: GPL-2.0

#include "mapping.h"

#include "compat.h"

#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

/* Mappings are optional; to be without memory for them is nothing to warn of. */
#define QUIET (GFP_KERNEL | __GFP_NOWARN)

enum {
	MAX_RANGES = 512,	/* looked at in one process */
	BLOCK_SHIFT = 16,
	NR_BLOCKS = 4096,
};

/* An executable mapping, while the mmap lock is held. */
struct exec_range {
	unsigned long start;
	unsigned long end;
	struct vm_area_struct *vma;
	bool hit;
};

struct pguard_mapping_search {
	/*
	 * By the number of a block modulo NR_BLOCKS: may a range that was not hit reach into
	 * it?  Thousands of words of a stack are looked at, and nearly all are known by this
	 * to say nothing new.
	 */
	u8 blocks[NR_BLOCKS];
	u32 nr;
	u32 nr_hit;
	struct exec_range ranges[];	/* by address */
};

/**
 * pguard_mapping_lock() - lock a memory map for reading
 *
 * Another's is not waited for: a process that is stuck with its map locked must
 * not stop the watch over all others.
 *
 * Context: may sleep if it is current's.
 * Return: whether it is locked.
 */
bool pguard_mapping_lock(struct mm_struct *mm)
{
	if (mm != current->mm)
		return mmap_read_trylock(mm);
	mmap_read_lock(mm);
	return true;
}

static void blocks_add(u8 *blocks, const struct exec_range *range)
{
	u64 first = range->start >> BLOCK_SHIFT, last = (range->end - 1) >> BLOCK_SHIFT;
	u32 nr = min_t(u64, last - first + 1, NR_BLOCKS), at = first % NR_BLOCKS;
	u32 before_wrap = min(nr, NR_BLOCKS - at);

	memset(blocks + at, true, before_wrap);
	memset(blocks, true, nr - before_wrap);
}

static void blocks_fill(struct pguard_mapping_search *search)
{
	u32 i;

	memset(search->blocks, false, sizeof(search->blocks));
	for (i = 0; i < search->nr; i++)
		if (!search->ranges[i].hit)
			blocks_add(search->blocks, &search->ranges[i]);
}

/**
 * pguard_mapping_search_begin() - look at the executable mappings of a process
 * @mm: locked by the caller until the search ends
 *
 * Context: may sleep.
 * Return: to be given to pguard_mapping_search_end(); NULL for want of memory.
 */
struct pguard_mapping_search *pguard_mapping_search_begin(struct mm_struct *mm)
{
	VMA_ITERATOR(vmi, mm, 0);
	u32 max = min_t(u32, mm->map_count, MAX_RANGES);
	struct pguard_mapping_search *search;
	struct vm_area_struct *vma;

	search = kvmalloc(struct_size(search, ranges, max), QUIET);
	if (!search)
		return NULL;
	search->nr = 0;
	search->nr_hit = 0;
	for_each_vma(vmi, vma) {
		if (search->nr == max)
			break;
		if (vma->vm_flags & VM_EXEC)
			search->ranges[search->nr++] =
				(struct exec_range) { vma->vm_start, vma->vm_end, vma };
	}
	blocks_fill(search);
	return search;
}

static struct exec_range *range_find(struct pguard_mapping_search *search, u64 word)
{
	u32 low = 0, high = search->nr;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (word < search->ranges[middle].start)
			high = middle;
		else if (word >= search->ranges[middle].end)
			low = middle + 1;
		else
			return &search->ranges[middle];
	}
	return NULL;
}

static void word_add(struct pguard_mapping_search *search, u64 word)
{
	struct exec_range *range = range_find(search, word);

	if (!range || range->hit)
		return;
	range->hit = true;
	search->nr_hit++;
	blocks_fill(search);
}

/**
 * pguard_mapping_search_words() - find the mappings that some words point into
 *
 * Context: any.
 */
void pguard_mapping_search_words(struct pguard_mapping_search *search, const u64 *words,
				 size_t nr)
{
	const u64 *end = words + nr;

	for (; words < end; words++)
		if (unlikely(search->blocks[(*words >> BLOCK_SHIFT) % NR_BLOCKS]))
			word_add(search, *words);
}

/**
 * pguard_mapping_search_known() - as if words pointed into mappings found before
 *
 * Context: any.
 */
void pguard_mapping_search_known(struct pguard_mapping_search *search,
				 const struct pguard_mapping *known, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		word_add(search, known[i].start);
}

static void mapping_set(struct pguard_mapping *mapping, const struct vm_area_struct *vma,
			char *buf)
{
	char *path;

	mapping->start = vma->vm_start;
	mapping->end = vma->vm_end;
	mapping->offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	if (!vma->vm_file)
		return;
	mapping->inode = file_inode(vma->vm_file)->i_ino;
	mapping->dev = new_encode_dev(file_inode(vma->vm_file)->i_sb->s_dev);
	path = file_path(vma->vm_file, buf, PATH_MAX);
	if (!IS_ERR(path))
		mapping->path = kstrdup(path, QUIET);
}

/**
 * pguard_mapping_search_end() - tell what was found, by address
 *
 * Context: may sleep.
 * Return: for pguard_mapping_free(); NULL and none for want of memory.
 */
struct pguard_mapping *pguard_mapping_search_end(struct pguard_mapping_search *search,
						 u32 *ret_nr)
{
	struct pguard_mapping *mappings = kvcalloc(search->nr_hit, sizeof(*mappings), QUIET);
	char *buf = kmalloc(PATH_MAX, QUIET);
	u32 nr = 0, i;

	if (!mappings || !buf) {
		kvfree(mappings);
		mappings = NULL;
		goto out_free;
	}
	for (i = 0; i < search->nr; i++)
		if (search->ranges[i].hit)
			mapping_set(&mappings[nr++], search->ranges[i].vma, buf);
out_free:
	kfree(buf);
	kvfree(search);
	*ret_nr = nr;
	return mappings;
}

/* A mapping's file does not change without the rest.  Context: any. */
bool pguard_mapping_are_same(const struct pguard_mapping *a, const struct pguard_mapping *b,
			     u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (memcmp(&a[i], &b[i], offsetof(struct pguard_mapping, path)))
			return false;
	return true;
}

/* Context: may sleep (kvfree). */
void pguard_mapping_free(struct pguard_mapping *mappings, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		kfree(mappings[i].path);
	kvfree(mappings);
}
