// SPDX-License-Identifier: GPL-2.0

#include "lib/mapping.h"

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
	MAX_FILLS = 32,		/* of the table of blocks; then it says too much */
	NR_SEEN = 128,
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
	 * By the number of a block modulo NR_BLOCKS: whether a range that was not hit may reach
	 * into it.  Thousands of words of a stack come here, and nearly all are known by this
	 * to say nothing new.
	 */
	union {
		u8 blocks[NR_BLOCKS];
		char path[PATH_MAX];	/* at the end of the search */
	};
	/*
	 * The last pages that were searched, by their number modulo NR_SEEN: a heap may lie
	 * some multiple of the table's span from a library, or a stack next to a mapping.
	 */
	u64 seen[NR_SEEN];
	struct mm_struct *mm;		/* locked */
	struct pguard_mappings *known;	/* referenced; found again as they were, or NULL */
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
 * Context: may sleep, until current is killed, if it is current's.
 * Return: true if it is locked.
 */
bool pguard_mapping_lock(struct mm_struct *mm)
{
	if (mm != current->mm)
		return mmap_read_trylock(mm);
	return !mmap_read_lock_killable(mm);
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

static void ranges_find(struct pguard_mapping_search *search, struct mm_struct *mm, u32 max)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;

	search->known = NULL;
	search->nr = 0;
	search->nr_hit = 0;
	for_each_vma(vmi, vma) {
		if (search->nr == max)
			break;
		if (vma->vm_flags & VM_EXEC)
			search->ranges[search->nr++] =
				(struct exec_range) { vma->vm_start, vma->vm_end, vma };
	}
}

/**
 * pguard_mapping_search_begin() - lock a memory map, and look at its executable mappings
 *
 * Context: may sleep.
 * Return: to be given to pguard_mapping_search_end(), which unlocks the map; NULL for lack of
 * memory, or if the map could not be locked.
 */
struct pguard_mapping_search *pguard_mapping_search_begin(struct mm_struct *mm)
{
	/* Before it is locked: whoever wants to change it would wait for memory with us. */
	u32 max = min_t(u32, READ_ONCE(mm->map_count), MAX_RANGES);
	struct pguard_mapping_search *search;

	search = kvmalloc(struct_size(search, ranges, max), QUIET);
	if (!search)
		return NULL;
	if (!pguard_mapping_lock(mm)) {
		kvfree(search);
		return NULL;
	}
	search->mm = mm;
	ranges_find(search, mm, max);
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

/* Returns true if it was not hit before. */
static bool range_hit(struct pguard_mapping_search *search, struct exec_range *range)
{
	if (range->hit)
		return false;
	range->hit = true;
	search->nr_hit++;
	return true;
}

/* Find the mapping that a word points into.  Context: any.  Return: true if it is a new one. */
bool pguard_mapping_search_word(struct pguard_mapping_search *search, u64 word)
{
	struct exec_range *range = range_find(search, word);

	return range && range_hit(search, range);
}

/* Find the mappings that some words point into.  Context: any. */
void pguard_mapping_search_words(struct pguard_mapping_search *search, const u64 *words,
				 size_t nr)
{
	const u64 *end = words + nr;
	u64 page, *seen;
	u32 fills = 1;

	blocks_fill(search);
	/* No page has that number. */
	memset(search->seen, 0xff, sizeof(search->seen));
	for (; words < end; words++) {
		if (likely(!search->blocks[(*words >> BLOCK_SHIFT) % NR_BLOCKS]))
			continue;
		page = *words >> PAGE_SHIFT;
		seen = &search->seen[page % NR_SEEN];
		/* Mappings begin and end with pages: no word of it finds another one. */
		if (*seen == page)
			continue;
		*seen = page;
		if (pguard_mapping_search_word(search, *words) && fills++ < MAX_FILLS)
			blocks_fill(search);
	}
}

/* All but the path; a file that got another one since is the same file. */
static void mapping_set(struct pguard_mapping *mapping, const struct vm_area_struct *vma)
{
	/* What lies between the fields is compared, too. */
	memset(mapping, 0, sizeof(*mapping));
	mapping->start = vma->vm_start;
	mapping->end = vma->vm_end;
	mapping->offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	if (!vma->vm_file)
		return;
	mapping->inode = file_inode(vma->vm_file)->i_ino;
	mapping->dev = new_encode_dev(file_inode(vma->vm_file)->i_sb->s_dev);
}

static bool is_same(const struct pguard_mapping *a, const struct pguard_mapping *b)
{
	return !memcmp(a, b, offsetof(struct pguard_mapping, path));
}

/**
 * pguard_mapping_search_known() - as if words pointed into mappings found before
 * @known: referenced by the caller, and by the search if they are all there still
 *
 * Context: any.
 * Return: true if they are: then what was searched for them needs not be searched again.
 */
bool pguard_mapping_search_known(struct pguard_mapping_search *search,
				 struct pguard_mappings *known)
{
	struct pguard_mapping now;
	struct exec_range *range;
	bool are_same = true;
	u32 i;

	for (i = 0; i < known->nr; i++) {
		range = range_find(search, known->list[i].start);
		if (!range) {
			are_same = false;
			continue;
		}
		range_hit(search, range);
		mapping_set(&now, range->vma);
		are_same = are_same && is_same(&now, &known->list[i]);
	}
	if (are_same)
		search->known = pguard_mappings_get(known);
	return are_same;
}

static char *path_of(struct pguard_mapping_search *search, const struct vm_area_struct *vma)
{
	char *path;

	if (!vma->vm_file)
		return NULL;
	path = file_path(vma->vm_file, search->path, sizeof(search->path));
	return IS_ERR(path) ? NULL : kstrdup(path, QUIET);
}

static struct pguard_mappings *mappings_make(struct pguard_mapping_search *search)
{
	struct pguard_mappings *mappings = kvzalloc(struct_size(mappings, list, search->nr_hit),
						    QUIET);
	struct pguard_mapping *mapping;
	const struct exec_range *range;

	if (!mappings)
		return NULL;
	refcount_set(&mappings->refs, 1);
	for (range = search->ranges; range < search->ranges + search->nr; range++) {
		if (!range->hit)
			continue;
		mapping = &mappings->list[mappings->nr++];
		mapping_set(mapping, range->vma);
		mapping->path = path_of(search, range->vma);
	}
	return mappings;
}

/**
 * pguard_mapping_search_end() - return what was found
 *
 * Context: may sleep.
 * Return: for pguard_mappings_put(): those that were known, if there are no others; NULL for
 * want of memory.
 */
struct pguard_mappings *pguard_mapping_search_end(struct pguard_mapping_search *search)
{
	struct pguard_mappings *mappings = search->known;

	if (!mappings || mappings->nr != search->nr_hit) {
		pguard_mappings_put(mappings);
		mappings = mappings_make(search);
	}
	mmap_read_unlock(search->mm);
	kvfree(search);
	return mappings;
}

/* Context: any. */
bool pguard_mappings_are_same(const struct pguard_mappings *a, const struct pguard_mappings *b)
{
	u32 i;

	if (a == b || !a || !b || a->nr != b->nr)
		return a == b;
	for (i = 0; i < a->nr; i++)
		if (!is_same(&a->list[i], &b->list[i]))
			return false;
	return true;
}

/* Context: any.  Return: @mappings, which may be NULL. */
struct pguard_mappings *pguard_mappings_get(struct pguard_mappings *mappings)
{
	if (mappings)
		refcount_inc(&mappings->refs);
	return mappings;
}

/* Context: may sleep (kvfree). */
void pguard_mappings_put(struct pguard_mappings *mappings)
{
	u32 i;

	if (!mappings || !refcount_dec_and_test(&mappings->refs))
		return;
	for (i = 0; i < mappings->nr; i++)
		kfree(mappings->list[i].path);
	kvfree(mappings);
}
