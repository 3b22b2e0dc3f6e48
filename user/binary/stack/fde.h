/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of a stripped file: each has a frame description entry (FDE)
 * in .eh_frame, and .eh_frame_hdr is a table of them sorted by address.  It is
 * found by its program header, so it is there even without section headers.
 */
#ifndef _USER_BINARY_STACK_FDE_H
#define _USER_BINARY_STACK_FDE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded part of the file. */
struct segment {
	uint64_t offset;
	uint64_t size; /* in the file */
	uint64_t addr;
	bool executable;
};

/* The bytes of a file by its own addresses; they belong to the Elf. */
struct file_view {
	const uint8_t *bytes;
	size_t size;
	struct segment *segments;
	uint32_t nr_segments;
};

struct fde_table {
	const uint8_t *rows; /* pairs of 32-bit offsets from @base */
	uint32_t nr;
	uint64_t base;
};

/* Returns 0, -ENOEXEC if it has nothing to load, or far too much, or -ENOMEM. */
int file_view_init(struct file_view *view, Elf *elf);
void file_view_deinit(struct file_view *view);

/* The first program header of @type (PT_*), if there is one. */
bool file_view_header(Elf *elf, uint32_t type, GElf_Phdr *ret);

/* The section @name, unless it has no bytes; a file need not have sections. */
bool file_view_section(Elf *elf, const char *name, GElf_Shdr *ret);

/* The @size bytes at @addr, or NULL if not all of them are in the file. */
const uint8_t *file_view_at(const struct file_view *view, uint64_t addr, size_t size);

/* The offset in the file of @size bytes of code at @addr; false if any is not executable. */
bool file_view_offset(const struct file_view *view, uint64_t addr, uint64_t size, uint64_t *ret);

/* Find the table; a file without one gets an empty table. */
void fde_table_init(struct fde_table *table, const struct file_view *view, Elf *elf);

/* Row @row of the table: where its code starts, and where its FDE is. */
void fde_table_row(const struct fde_table *table, uint32_t row, uint64_t *ret_start,
		   uint64_t *ret_fde);

/* The last row whose code starts at or before @addr, if any. */
bool fde_table_find(const struct fde_table *table, uint64_t addr, uint64_t *ret_start,
		    uint64_t *ret_fde);

#endif /* _USER_BINARY_STACK_FDE_H */
