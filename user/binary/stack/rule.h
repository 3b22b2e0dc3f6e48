/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How to get from a frame to its caller's registers at one code address: an
 * unwind row of the file, in a form that is cheap to apply many times, and plain:
 * it comes from another process (binary/helper/).
 */
#ifndef _USER_BINARY_STACK_RULE_H
#define _USER_BINARY_STACK_RULE_H

#include <elfutils/libdw.h>

#include "binary/stack/registers.h"

enum rule_kind {
	RULE_UNDEFINED, /* the value is lost; of the return address: there is no caller */
	RULE_SAME,
	RULE_SAVED, /* at CFA + offset */
	RULE_CFA, /* is CFA + offset */
	RULE_REGISTER, /* in register number @offset */
	RULE_EXPR, /* by operations */
};

enum {
	RULE_MAX_OPS = 64, /* of all expressions of a rule; an entry of a PLT has 10 */
};

/* Operations of a rule: an expression. */
struct rule_expr {
	uint8_t first;
	uint8_t nr;
};

struct rule {
	Dwarf_Op *ops; /* owned */
	uint8_t nr_ops;
	uint8_t is_missing; /* there is no rule */
	uint8_t is_signal; /* the caller was interrupted, it did not call */
	uint8_t cfa_is_expr;
	uint8_t cfa_reg;
	struct rule_expr cfa;
	int32_t cfa_offset; /* from register cfa_reg */
	uint8_t kinds[SLICE_NR_REGS]; /* enum rule_kind */
	int32_t offsets[SLICE_NR_REGS];
	struct rule_expr exprs[SLICE_NR_REGS];
};

enum rule_result {
	RULE_STEPPED,
	RULE_START, /* this frame has no caller by design */
	RULE_NO_CFA, /* a register is unknown; see rule_apply_cfa() */
	RULE_NO_MEMORY, /* a word is not in the stack copy */
};

/* Frees @row.  NULL makes a missing rule, and so does a lack of memory. */
void rule_init(struct rule *rule, Dwarf_Frame *row);

/* Of a frame whose return address is @distance from its stack pointer, and that saves nothing. */
void rule_init_plain(struct rule *rule, uint32_t distance, bool has_no_caller);
void rule_deinit(struct rule *rule);

/* True if @rule, which may come from anywhere, can be applied without harm. */
bool rule_is_sound(const struct rule *rule);

/* Compute the caller's registers @ret from the frame's @registers. */
enum rule_result rule_apply(const struct rule *rule, const struct registers *registers,
			    const struct slice *slice, uint64_t bias, struct registers *ret);

/* The same with the CFA given. */
enum rule_result rule_apply_cfa(const struct rule *rule, const struct registers *registers,
				const struct slice *slice, uint64_t bias, uint64_t cfa,
				struct registers *ret);

#endif /* _USER_BINARY_STACK_RULE_H */
