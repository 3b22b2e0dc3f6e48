/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The dynamic section of a file, found without section headers.
 */
#ifndef _USER_BINARY_FILE_DYNAMIC_H
#define _USER_BINARY_FILE_DYNAMIC_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "binary/stack/fde.h"

/* All pointers are into the file. */
struct dynamic {
	const uint8_t *entries; /* Elf64_Dyn, maybe not aligned */
	uint64_t nr;
	const char *strings;
	uint64_t strings_size; /* bytes */
};

/* A file that is linked statically has no entries. */
void dynamic_init(struct dynamic *dynamic, const struct file_view *view, Elf *elf);

/* The value of the first entry @tag (DT_*), or 0. */
uint64_t dynamic_value(const struct dynamic *dynamic, int64_t tag);

enum {
	DYNAMIC_STRING_MAX = 256, /* with the NUL */
};

/*
 * Copy the string at @offset of the string table.  Returns false if it does not end
 * in there, or is longer than @ret.
 */
bool dynamic_string(const struct dynamic *dynamic, uint64_t offset, char ret[DYNAMIC_STRING_MAX]);

#endif /* _USER_BINARY_FILE_DYNAMIC_H */
