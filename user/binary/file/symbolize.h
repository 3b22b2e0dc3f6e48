/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The function names of one file: .symtab, else that of a separate debug file
 * or .gnu_debugdata, else .dynsym, as libdwfl finds them; and those of Go's own table.
 */
#ifndef _USER_BINARY_FILE_SYMBOLIZE_H
#define _USER_BINARY_FILE_SYMBOLIZE_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

#include "binary/file/go-table.h"

struct symbol {
	uint64_t start; /* address of the file */
	uint64_t size; /* 0 if the file has none */
	const char *name; /* as in the file, owned by it */
};

/* Sorted by start; later entries of equal start are the better names. */
struct symbols {
	struct symbol *entries;
	uint32_t nr;
};

/* Read the names of @file and of its table @go.  Returns 0 or -ENOMEM; no names are not an error. */
int symbols_init(struct symbols *symbols, Dwfl_Module *file, const struct go_table *go);
void symbols_deinit(struct symbols *symbols);

/*
 * The function that @addr lies in, or NULL.  A name is never stretched over
 * code behind its function: @addr is inside the symbol's size or, where that
 * is 0, inside the function [@start, @end) by unwind rules (0, 0 if unknown)
 * that the symbol begins.
 */
const struct symbol *symbols_find(const struct symbols *symbols, uint64_t addr,
				  uint64_t start, uint64_t end);

#endif /* _USER_BINARY_FILE_SYMBOLIZE_H */
