/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of other files that never return, such as exit(): control does not
 * continue behind a call of one.
 */
#ifndef _USER_BINARY_CODE_NORETURN_H
#define _USER_BINARY_CODE_NORETURN_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "binary/code/scan.h"
#include "binary/stack/fde.h"

struct noreturn {
	uint64_t *slots; /* rising addresses of the pointers to them */
	uint32_t nr;
	size_t max;
};

/* Read the relocations.  Returns 0 or -ENOMEM. */
int noreturn_read(const struct file_view *view, Elf *elf, struct noreturn *ret);
void noreturn_deinit(struct noreturn *noreturn);

/* True if @insn calls one, by the linkage table or by a pointer. */
bool noreturn_is_call(const struct noreturn *noreturn, const struct file_view *view,
		      const struct scan *insn);

#endif /* _USER_BINARY_CODE_NORETURN_H */
