/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All functions of a file, stripped or not.  Unwind tables give their
 * ranges; symbols only give names.  (Of 21,500 functions of a program with symbols
 * the tables had all but 6 of the C runtime's; exported names alone would miss
 * a third to all of a stripped file's.)
 *
 * Code that the compiler moved to a "cold" section belongs to its function:
 * return addresses lie in it too.
 */
#ifndef _USER_BINARY_CODE_FUNCTIONS_H
#define _USER_BINARY_CODE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/code/insn.h"
#include "binary/code/noreturn.h"
#include "binary/code/ranges.h"
#include "binary/code/sweep.h"

struct object;

struct function {
	uint64_t addr; /* of the file, of the first instruction */
	uint64_t offset; /* in the file, of the same */
	uint32_t size; /* bytes, without its cold parts */
	uint32_t nr_insns; /* with them */
	uint32_t first_range; /* index of its ranges' first; see struct range */
	const char *name; /* NULL without one; owned by the object */
	uint64_t near[SWEEP_NEAR / 64]; /* bit N > 0: addr + N is jumped to, or called */
	bool is_plt; /* a whole procedure linkage table */
	bool is_cold; /* a part of a function that was not found */
	bool is_leaf; /* has no call instruction */
	bool is_called; /* by a direct call of the same file */
	bool is_sound; /* all its bytes are instructions */
	bool entry_is_target; /* jumped to by itself: a probe there counts too much */
	bool has_indirect_jump;
	bool never_returns; /* as far as the code shows: control stays or ends in it */
};

struct functions {
	struct function *entries; /* by rising addr */
	struct ranges ranges; /* each with the index of its function */
	struct noreturn noreturn;
	struct insn_decoder decoder;
	const struct file_view *view; /* the object's */
	uint32_t nr;
};

/* True if byte @at of the function is jumped to, or may be: it is too far from the start to be known. */
static inline bool function_is_target(const struct function *function, uint32_t at)
{
	return at >= SWEEP_NEAR || function->near[at / 64] >> at % 64 & 1;
}

/*
 * Read the functions of @object, which must stay for as long as they are used.
 * Returns 0, -ENODATA if the file has no unwind table, or -ENOMEM.
 */
int functions_read(struct object *object, struct functions *ret);
void functions_deinit(struct functions *functions);

/*
 * The function that address @addr of the file lies in, cold parts included, or
 * NULL.  For a return address pass the byte before: the call may be the last
 * instruction of its function.
 */
const struct function *functions_find(const struct functions *functions, uint64_t addr);

/* The function that starts at @addr, or NULL. */
const struct function *functions_at(const struct functions *functions, uint64_t addr);

#endif /* _USER_BINARY_CODE_FUNCTIONS_H */
