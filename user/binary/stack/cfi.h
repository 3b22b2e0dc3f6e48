/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An entry of .eh_frame: which code it describes, and how the stack looks when
 * that code is entered.  The first tells where functions are, the second which
 * of them are functions and which only parts of one that were moved away.
 */
#ifndef _USER_BINARY_STACK_CFI_H
#define _USER_BINARY_STACK_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/stack/fde.h"

/* What many entries have in common; made by cfi_read() on the way. */
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
	bool is_signal; /* what the kernel returns to from a signal handler */
};

/* Read the FDE at @addr of the file.  Returns false if it is damaged. */
bool cfi_read(const struct file_view *view, uint64_t addr, struct cfi_common *common,
	      struct cfi_entry *ret);

/* Is the stack as a call leaves it: the return address on top? */
static inline bool cfi_is_function(const struct cfi_entry *entry)
{
	return !entry->cfa_is_expr && entry->cfa_reg == 7 && entry->cfa_offset == 8;
}

#endif /* _USER_BINARY_STACK_CFI_H */
