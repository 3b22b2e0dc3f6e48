/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One pass over all code of a file: properties of each range, the jump targets
 * near its start, and the function that each cold part belongs to.
 */
#ifndef _USER_BINARY_CODE_SWEEP_H
#define _USER_BINARY_CODE_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/code/ranges.h"

enum {
	SWEEP_NEAR = 128, /* bytes: 8 instructions and a few */
	SWEEP_NONE = UINT32_MAX,
	SWEEP_MANY = UINT32_MAX - 1,
};

struct sweep_facts {
	uint64_t near[SWEEP_NEAR / 64]; /* bit N: the byte at N is jumped to, or called; N > 0 */
	uint32_t nr_insns;
	uint32_t brancher; /* the range that branches to its start, SWEEP_NONE or SWEEP_MANY */
	uint32_t parent; /* of a cold range: the range of its function, or SWEEP_NONE */
	bool is_called; /* at its start */
	bool start_is_target; /* jumped to from inside of its function */
	bool has_call;
	bool has_indirect_jump;
	bool has_exit; /* a return, an indirect jump or one to other functions */
	bool is_sound; /* instructions from start to end, the last one not cut */
};

/*
 * One for each range, in its order; the caller frees them.  A range that
 * proves to be no function becomes a cold one.  Returns 0 or -ENOMEM.
 */
int sweep(const struct file_view *view, struct ranges *ranges, struct sweep_facts **ret);

#endif /* _USER_BINARY_CODE_SWEEP_H */
