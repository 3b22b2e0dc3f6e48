/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An entry of .eh_frame: the range of code it describes, and the layout of the
 * stack where that code is entered.  The range shows where functions are, the
 * layout which ranges are functions and which are cold parts of one.
 */
#ifndef _USER_BINARY_STACK_CFI_H
#define _USER_BINARY_STACK_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/stack/fde.h"

/* The part that many entries share (CIE); cfi_read() fills it in when it changes. */
struct cfi_common {
	uint64_t addr; /* of the CIE; 0: none yet */
	const uint8_t *at; /* its first instructions */
	const uint8_t *end;
	int64_t data_align;
	uint8_t encoding; /* of addresses */
	uint8_t lsda_encoding;
	bool has_augmentation;
	bool is_signal;
};

struct cfi_entry {
	uint64_t start; /* address of the file */
	uint64_t size; /* bytes, more than 0 */
	uint64_t lsda; /* address of its landing pads, see landing.h; or 0 */
	uint64_t cfa_offset;
	uint8_t cfa_reg; /* by DWARF's numbers; 7 is RSP */
	bool cfa_is_expr;
	bool is_signal; /* code that signal handlers return to */
};

/* Read the FDE at @addr of the file.  Returns false if it is damaged. */
bool cfi_read(const struct file_view *view, uint64_t addr, struct cfi_common *common,
	      struct cfi_entry *ret);

/* The range [*@ret_start, *@ret_end) of the FDE that covers @addr, if any. */
bool cfi_find(const struct fde_table *table, const struct file_view *view, uint64_t addr,
	      uint64_t *ret_start, uint64_t *ret_end);

/* True if the stack is as a call leaves it, with the return address on top. */
static inline bool cfi_is_function(const struct cfi_entry *entry)
{
	return !entry->cfa_is_expr && entry->cfa_reg == 7 && entry->cfa_offset == 8;
}

#endif /* _USER_BINARY_STACK_CFI_H */
