/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of other files that never return, such as exit(): what stands
 * behind a call of one is not what runs next.
 */
#ifndef _USER_BINARY_CODE_NORETURN_H
#define _USER_BINARY_CODE_NORETURN_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "binary/code/insn.h"
#include "binary/stack/fde.h"

struct noreturn {
	uint64_t *slots; /* rising addresses of the pointers to them */
	uint32_t nr;
};

/* Read what the dynamic linker is told.  Returns 0 or -ENOMEM. */
int noreturn_read(const struct file_view *view, Elf *elf, struct noreturn *ret);
void noreturn_deinit(struct noreturn *noreturn);

/* Does @insn call one: by the linkage table, or by a pointer? */
bool noreturn_is_call(const struct noreturn *noreturn, const struct file_view *view,
		      const struct insn_decoder *decoder, const struct insn *insn);

#endif /* _USER_BINARY_CODE_NORETURN_H */
