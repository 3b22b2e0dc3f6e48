/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of functions that a program written in Go has for itself (.gopclntab): where each
 * begins, its name, and how far its stack pointer is from its return address.  It is there
 * in stripped programs too, which have no entries of Go's code in .eh_frame.  That of Go 1.18 and
 * later is read.
 */
#ifndef _USER_BINARY_FILE_GO_TABLE_H
#define _USER_BINARY_FILE_GO_TABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "binary/stack/fde.h"

/* All pointers are into the file. */
struct go_table {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t names; /* offsets in @bytes: of names, */
	uint64_t values; /* of tables by code address, */
	uint64_t rows; /* and of the functions, by rising address */
	uint64_t text; /* address that those of the functions count from */
	uint32_t nr; /* functions; 0: the file has no such table */
};

struct go_function {
	uint64_t start; /* address of the file */
	uint64_t size; /* bytes, up to the next function */
	const char *name; /* NULL if it is damaged */
};

struct go_frame {
	uint32_t distance; /* of the return address from the stack pointer */
	bool is_top; /* the function has no caller */
};

/* A file without the table gets an empty one. */
void go_table_init(struct go_table *table, const struct file_view *view, Elf *elf);

/* Function number @row.  Returns false if it is damaged. */
bool go_table_function(const struct go_table *table, uint32_t row, struct go_function *ret);

/* The frame of the function at @addr; false if it is not known. */
bool go_table_frame(const struct go_table *table, uint64_t addr, struct go_frame *ret);

#endif /* _USER_BINARY_FILE_GO_TABLE_H */
