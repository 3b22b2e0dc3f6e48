/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How far the stack pointer is below where it was at a function's entry, followed through its
 * code in a few passes.  What cannot be followed is not known: it is never guessed from afar.
 */
#ifndef _USER_BINARY_CODE_STACK_DEPTH_H
#define _USER_BINARY_CODE_STACK_DEPTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary/code/scan.h"

enum { STACK_DEPTH_NONE = -1 };

/* Where a jump out of the part at hand leads to. */
struct stack_depth_jump {
	uint64_t addr;
	int32_t depth;
};

struct stack_depth {
	int32_t depth; /* before the instruction at hand, or STACK_DEPTH_NONE */
	int32_t *at; /* by byte of the part: what is known */
	size_t max_at;
	uint64_t start; /* of the part */
	uint32_t size;
	bool is_first;
	bool has_news; /* for what was passed before: another pass of the part finds more */
	struct stack_depth_jump *jumps;
	size_t max_jumps;
	uint32_t nr_jumps;
};

/* Begin a function, and each of its parts; of the first the depth is 0.  Returns 0 or -ENOMEM. */
void stack_depth_function(struct stack_depth *depth);
int stack_depth_part(struct stack_depth *depth, uint64_t start, uint32_t size, bool is_first);

/* Begin another pass of the part, that knows what this one has found. */
void stack_depth_again(struct stack_depth *depth);

/* Before the instruction at @addr: join what jumps to it brought. */
void stack_depth_enter(struct stack_depth *depth, uint64_t addr);

/* After it.  Returns 0 or -ENOMEM. */
int stack_depth_pass(struct stack_depth *depth, const uint8_t *bytes, const struct scan *insn);

void stack_depth_deinit(struct stack_depth *depth);

#endif /* _USER_BINARY_CODE_STACK_DEPTH_H */
