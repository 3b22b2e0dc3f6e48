/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ranges of code that the unwind tables of a file describe, and that of Go, sorted by
 * address and without overlap.
 */
#ifndef _USER_BINARY_CODE_RANGES_H
#define _USER_BINARY_CODE_RANGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "binary/file/go-table.h"
#include "binary/stack/fde.h"

enum {
	RANGES_NONE = UINT32_MAX,
};

enum range_kind {
	RANGE_FUNCTION,
	RANGE_COLD, /* begins in mid-function: a cold part */
	RANGE_PLT, /* jumps to functions of other files */
};

struct range {
	uint64_t addr; /* of the file */
	uint64_t offset; /* in the file */
	uint64_t lsda; /* address of its landing pads, or 0 */
	uint32_t size; /* bytes, more than 0 */
	uint32_t function; /* that it belongs to; see functions.h */
	uint32_t next; /* range of the same function, or RANGES_NONE */
	enum range_kind kind;
	bool is_go; /* jumps to its own start when its stack was too small, and is begun again */
};

struct ranges {
	struct range *entries;
	uint32_t nr;
	uint32_t nr_refused; /* entries that are damaged or contradict others */
};

/*
 * Returns 0, -ENODATA if the file has neither table, or -ENOMEM.  An entry
 * is left out if it is damaged, reaches beyond the executable segments, or
 * overlaps a shorter one.
 */
int ranges_read(const struct file_view *view, const struct fde_table *table, Elf *elf,
		const struct go_table *go, struct ranges *ret);
void ranges_deinit(struct ranges *ranges);

/* The range that @addr lies in, or NULL. */
struct range *ranges_find(const struct ranges *ranges, uint64_t addr);

#endif /* _USER_BINARY_CODE_RANGES_H */
