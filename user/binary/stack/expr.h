/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The value of a DWARF expression in unwind rules.  Files are not trusted: an
 * expression that does not end, or uses an unknown register, has no value.
 */
#ifndef _USER_BINARY_STACK_EXPR_H
#define _USER_BINARY_STACK_EXPR_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

#include "binary/stack/registers.h"

struct expr_env {
	const struct registers *registers;
	const struct slice *slice;
	uint64_t bias; /* of the file, for addresses in it */
	uint64_t cfa;
	bool has_cfa;
};

/*
 * Compute @ops.  *@ret_is_value is true if the result is the value itself,
 * false if it is the address where the value was saved, as usual for a register.
 */
bool expr_compute(const Dwarf_Op *ops, size_t nr, const struct expr_env *env,
		  uint64_t *ret, bool *ret_is_value);

#endif /* _USER_BINARY_STACK_EXPR_H */
