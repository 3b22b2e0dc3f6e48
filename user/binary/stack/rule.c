// SPDX-License-Identifier: GPL-2.0

#include "binary/stack/rule.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/stack/expr.h"

bool stack_word(const struct slice *slice, uint64_t addr, uint64_t *ret)
{
	uint64_t at = addr - slice->regs[SLICE_REG_RSP];

	if (slice->size < sizeof(*ret) || at > slice->size - sizeof(*ret))
		return false;
	memcpy(ret, slice->bytes + at, sizeof(*ret));
	return true;
}

static bool fits(uint64_t offset)
{
	return (int64_t)offset == (int32_t)offset;
}

/* One of CFA, CFA + offset: where the register is saved, or its value. */
static bool is_cfa_form(const Dwarf_Op *ops, size_t nr, uint64_t *ret_offset, bool *ret_is_value)
{
	*ret_offset = 0;
	*ret_is_value = false;
	if (!nr || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (nr > 1 && ops[nr - 1].atom == DW_OP_stack_value) {
		*ret_is_value = true;
		nr--;
	}
	if (nr == 2 && ops[1].atom == DW_OP_plus_uconst)
		*ret_offset = ops[1].number;
	return nr == 1 || (nr == 2 && ops[1].atom == DW_OP_plus_uconst);
}

/* Returns false if there is no room for them: then there is no such rule. */
static bool keep_ops(struct rule *rule, const Dwarf_Op *ops, size_t nr, struct rule_expr *ret)
{
	if (nr > (size_t)RULE_MAX_OPS - rule->nr_ops)
		return false;
	memcpy(rule->ops + rule->nr_ops, ops, nr * sizeof(*ops));
	*ret = (struct rule_expr){ .first = rule->nr_ops, .nr = (uint8_t)nr };
	rule->nr_ops += (uint8_t)nr;
	return true;
}

static void init_register(struct rule *rule, Dwarf_Frame *row, int reg)
{
	Dwarf_Op memory[3], *ops;
	uint64_t offset;
	bool is_value;
	size_t nr;

	rule->kinds[reg] = RULE_UNDEFINED;
	if (dwarf_frame_register(row, reg, memory, &ops, &nr))
		return;
	if (!nr) {
		if (ops != memory)
			rule->kinds[reg] = RULE_SAME;
	} else if (is_cfa_form(ops, nr, &offset, &is_value) && fits(offset)) {
		rule->kinds[reg] = is_value ? RULE_CFA : RULE_SAVED;
		rule->offsets[reg] = (int32_t)offset;
	} else if (nr == 1 && ops[0].atom == DW_OP_regx && ops[0].number < SLICE_NR_REGS) {
		rule->kinds[reg] = RULE_REGISTER;
		rule->offsets[reg] = (int32_t)ops[0].number;
	} else if (nr == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg16) {
		rule->kinds[reg] = RULE_REGISTER;
		rule->offsets[reg] = ops[0].atom - DW_OP_reg0;
	} else if (keep_ops(rule, ops, nr, &rule->exprs[reg])) {
		rule->kinds[reg] = RULE_EXPR;
	}
}

static void init_cfa(struct rule *rule, Dwarf_Frame *row)
{
	Dwarf_Op *ops;
	size_t nr;

	rule->cfa_is_expr = true;
	if (dwarf_frame_cfa(row, &ops, &nr) || !nr)
		return;
	if (nr > 1) {
		keep_ops(rule, ops, nr, &rule->cfa);
	} else if (ops[0].atom == DW_OP_bregx && ops[0].number < SLICE_NR_REGS && fits(ops[0].number2)) {
		rule->cfa_reg = (uint8_t)ops[0].number;
		rule->cfa_offset = (int32_t)ops[0].number2;
		rule->cfa_is_expr = false;
	} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg16 &&
		   fits(ops[0].number)) {
		rule->cfa_reg = ops[0].atom - DW_OP_breg0;
		rule->cfa_offset = (int32_t)ops[0].number;
		rule->cfa_is_expr = false;
	} else {
		keep_ops(rule, ops, nr, &rule->cfa);
	}
}

static void init_rule(struct rule *rule, Dwarf_Frame *row)
{
	bool is_signal = false;

	init_cfa(rule, row);
	for (int reg = 0; reg < SLICE_NR_REGS; reg++)
		init_register(rule, row, reg);
	dwarf_frame_info(row, NULL, NULL, &is_signal);
	rule->is_signal = is_signal;
}

void rule_init(struct rule *rule, Dwarf_Frame *row)
{
	Dwarf_Op ops[RULE_MAX_OPS];

	memset(rule, 0, sizeof(*rule));
	rule->is_missing = !row;
	if (!row)
		return;
	rule->ops = ops;
	init_rule(rule, row);
	free(row);
	rule->ops = rule->nr_ops ? malloc(rule->nr_ops * sizeof(*ops)) : NULL;
	if (rule->ops)
		memcpy(rule->ops, ops, rule->nr_ops * sizeof(*ops));
	else if (rule->nr_ops)
		*rule = (struct rule){ .is_missing = true };
}

void rule_init_plain(struct rule *rule, uint32_t distance, bool has_no_caller)
{
	enum { ADDRESS = 8 };

	*rule = (struct rule){
		.is_missing = distance > INT32_MAX - ADDRESS,
		.cfa_reg = SLICE_REG_RSP,
		.cfa_offset = (int32_t)(distance + ADDRESS),
	};
	rule->kinds[SLICE_REG_RSP] = RULE_CFA;
	if (has_no_caller)
		return;
	rule->kinds[SLICE_REG_RIP] = RULE_SAVED;
	rule->offsets[SLICE_REG_RIP] = -ADDRESS;
}

void rule_deinit(struct rule *rule)
{
	free(rule->ops);
	rule->ops = NULL;
}

static bool is_sound_expr(const struct rule *rule, struct rule_expr expr)
{
	return expr.first + expr.nr <= rule->nr_ops;
}

bool rule_is_sound(const struct rule *rule)
{
	if (rule->nr_ops > RULE_MAX_OPS || rule->cfa_reg >= SLICE_NR_REGS ||
	    !is_sound_expr(rule, rule->cfa))
		return false;
	for (int reg = 0; reg < SLICE_NR_REGS; reg++) {
		if (rule->kinds[reg] > RULE_EXPR || !is_sound_expr(rule, rule->exprs[reg]))
			return false;
		if (rule->kinds[reg] == RULE_REGISTER &&
		    (rule->offsets[reg] < 0 || rule->offsets[reg] >= SLICE_NR_REGS))
			return false;
	}
	return true;
}

static bool compute_cfa(const struct rule *rule, const struct expr_env *env, uint64_t *ret)
{
	bool is_value;

	if (!rule->cfa_is_expr) {
		if (!registers_get(env->registers, rule->cfa_reg, ret))
			return false;
		*ret += (uint64_t)(int64_t)rule->cfa_offset;
		return true;
	}
	return rule->cfa.nr && expr_compute(rule->ops + rule->cfa.first, rule->cfa.nr, env, ret,
					    &is_value);
}

static bool compute_register(const struct rule *rule, const struct expr_env *env, int reg,
			     uint64_t *ret)
{
	uint64_t at = env->cfa + (uint64_t)(int64_t)rule->offsets[reg];
	const struct rule_expr *expr = &rule->exprs[reg];
	bool is_value;

	switch ((enum rule_kind)rule->kinds[reg]) {
	case RULE_SAME:
		return registers_get(env->registers, (uint64_t)reg, ret);
	case RULE_SAVED:
		return stack_word(env->slice, at, ret);
	case RULE_CFA:
		*ret = at;
		return true;
	case RULE_REGISTER:
		return registers_get(env->registers, (uint64_t)rule->offsets[reg], ret);
	case RULE_EXPR:
		if (!expr_compute(rule->ops + expr->first, expr->nr, env, &at, &is_value))
			return false;
		*ret = at;
		return is_value || stack_word(env->slice, at, ret);
	case RULE_UNDEFINED:
		break;
	}
	return false;
}

enum rule_result rule_apply_cfa(const struct rule *rule, const struct registers *registers,
				const struct slice *slice, uint64_t bias, uint64_t cfa,
				struct registers *ret)
{
	struct expr_env env = {
		.registers = registers, .slice = slice, .bias = bias, .cfa = cfa, .has_cfa = true,
	};
	struct registers caller = { .known = 0 };

	if (rule->kinds[SLICE_REG_RIP] == RULE_UNDEFINED)
		return RULE_START;
	for (int reg = 0; reg < SLICE_NR_REGS; reg++) {
		uint64_t value;

		if (compute_register(rule, &env, reg, &value))
			registers_set(&caller, (unsigned int)reg, value);
	}
	if (!(caller.known & 1u << SLICE_REG_RIP))
		return RULE_NO_MEMORY;
	if (!(caller.known & 1u << SLICE_REG_RSP))
		registers_set(&caller, SLICE_REG_RSP, cfa);
	*ret = caller;
	return RULE_STEPPED;
}

enum rule_result rule_apply(const struct rule *rule, const struct registers *registers,
			    const struct slice *slice, uint64_t bias, struct registers *ret)
{
	struct expr_env env = { .registers = registers, .slice = slice, .bias = bias };
	uint64_t cfa;

	if (rule->kinds[SLICE_REG_RIP] == RULE_UNDEFINED)
		return RULE_START;
	if (!compute_cfa(rule, &env, &cfa))
		return RULE_NO_CFA;
	return rule_apply_cfa(rule, registers, slice, bias, cfa, ret);
}
