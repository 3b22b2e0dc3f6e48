// SPDX-License-Identifier: GPL-2.0

#include "binary/stack/expr.h"

#include <dwarf.h>
#include <string.h>

enum {
	DEPTH = 64,
	MAX_STEPS = 1000,
};

struct machine {
	const struct expr_env *env;
	uint64_t stack[DEPTH];
	unsigned int depth;
	bool failed;
};

static void push(struct machine *machine, uint64_t value)
{
	if (machine->depth == DEPTH)
		machine->failed = true;
	else
		machine->stack[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
	if (machine->depth)
		return machine->stack[--machine->depth];
	machine->failed = true;
	return 0;
}

static void push_if(struct machine *machine, bool is_valid, uint64_t value)
{
	if (!is_valid)
		machine->failed = true;
	push(machine, value);
}

static void push_register(struct machine *machine, uint64_t reg, uint64_t offset)
{
	uint64_t value = 0;
	bool is_valid = registers_get(machine->env->registers, reg, &value);

	push_if(machine, is_valid, value + offset);
}

static void push_memory(struct machine *machine, uint64_t size)
{
	uint64_t word = 0;
	bool is_valid = size && size <= 8 &&
			stack_word(machine->env->slice, pop(machine), &word);

	if (is_valid && size < 8)
		word &= (1ull << 8 * size) - 1;
	push_if(machine, is_valid, word);
}

static void pick(struct machine *machine, uint64_t from_top)
{
	if (from_top >= machine->depth)
		machine->failed = true;
	else
		push(machine, machine->stack[machine->depth - 1 - from_top]);
}

static uint64_t divide(struct machine *machine, uint64_t left, uint64_t right)
{
	if (!right || (left == 1ull << 63 && right == UINT64_MAX)) {
		machine->failed = true;
		return 0;
	}
	return (uint64_t)((int64_t)left / (int64_t)right);
}

static uint64_t shift(uint8_t atom, uint64_t left, uint64_t right)
{
	if (right > 63)
		return atom == DW_OP_shra && (int64_t)left < 0 ? UINT64_MAX : 0;
	if (atom == DW_OP_shl)
		return left << right;
	return atom == DW_OP_shr ? left >> right : (uint64_t)((int64_t)left >> right);
}

static bool compute_two(struct machine *machine, uint8_t atom)
{
	uint64_t right = pop(machine), left = pop(machine), value;

	switch (atom) {
	case DW_OP_and: value = left & right; break;
	case DW_OP_or: value = left | right; break;
	case DW_OP_xor: value = left ^ right; break;
	case DW_OP_plus: value = left + right; break;
	case DW_OP_minus: value = left - right; break;
	case DW_OP_mul: value = left * right; break;
	case DW_OP_div: value = divide(machine, left, right); break;
	case DW_OP_mod: value = right ? left % right : 0; break;
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra: value = shift(atom, left, right); break;
	case DW_OP_eq: value = left == right; break;
	case DW_OP_ne: value = left != right; break;
	case DW_OP_lt: value = (int64_t)left < (int64_t)right; break;
	case DW_OP_le: value = (int64_t)left <= (int64_t)right; break;
	case DW_OP_gt: value = (int64_t)left > (int64_t)right; break;
	case DW_OP_ge: value = (int64_t)left >= (int64_t)right; break;
	default: return false;
	}
	push(machine, value);
	return true;
}

static bool compute_stack(struct machine *machine, const Dwarf_Op *op)
{
	uint64_t top, second, third;

	switch (op->atom) {
	case DW_OP_dup: pick(machine, 0); break;
	case DW_OP_over: pick(machine, 1); break;
	case DW_OP_pick: pick(machine, op->number); break;
	case DW_OP_drop: pop(machine); break;
	case DW_OP_swap:
		top = pop(machine);
		second = pop(machine);
		push(machine, top);
		push(machine, second);
		break;
	case DW_OP_rot:
		top = pop(machine);
		second = pop(machine);
		third = pop(machine);
		push(machine, top);
		push(machine, third);
		push(machine, second);
		break;
	case DW_OP_abs:
		top = pop(machine);
		push(machine, (int64_t)top < 0 ? -top : top);
		break;
	case DW_OP_neg: push(machine, -pop(machine)); break;
	case DW_OP_not: push(machine, ~pop(machine)); break;
	case DW_OP_plus_uconst: push(machine, pop(machine) + op->number); break;
	default: return false;
	}
	return true;
}

static bool compute_source(struct machine *machine, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(machine, op->atom - DW_OP_lit0);
		return true;
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		push_register(machine, op->atom - DW_OP_breg0, op->number);
		return true;
	}
	switch (op->atom) {
	case DW_OP_bregx: push_register(machine, op->number, op->number2); break;
	case DW_OP_addr: push(machine, op->number + machine->env->bias); break;
	case DW_OP_const1u: case DW_OP_const1s: case DW_OP_const2u: case DW_OP_const2s:
	case DW_OP_const4u: case DW_OP_const4s: case DW_OP_const8u: case DW_OP_const8s:
	case DW_OP_constu: case DW_OP_consts: push(machine, op->number); break;
	case DW_OP_deref: push_memory(machine, 8); break;
	case DW_OP_deref_size: push_memory(machine, op->number); break;
	case DW_OP_call_frame_cfa:
		push_if(machine, machine->env->has_cfa, machine->env->cfa);
		break;
	case DW_OP_nop: break;
	default: return false;
	}
	return true;
}

/* The index of the operation that a jump from @op leads to; @nr is the end. */
static size_t jump(const Dwarf_Op *ops, size_t nr, const Dwarf_Op *op)
{
	uint64_t target = op->offset + 3 + (uint64_t)(int64_t)(int16_t)op->number;

	for (size_t i = 0; i < nr; i++)
		if (ops[i].offset == target)
			return i;
	return nr;
}

bool expr_compute(const Dwarf_Op *ops, size_t nr, const struct expr_env *env,
		  uint64_t *ret, bool *ret_is_value)
{
	struct machine machine = { .env = env };
	unsigned int steps = 0;

	*ret_is_value = false;
	for (size_t i = 0; i < nr && !machine.failed; ) {
		const Dwarf_Op *op = &ops[i++];

		if (++steps > MAX_STEPS)
			return false;
		if (op->atom == DW_OP_stack_value) {
			*ret_is_value = true;
			break;
		} else if (op->atom == DW_OP_skip) {
			i = jump(ops, nr, op);
		} else if (op->atom == DW_OP_bra) {
			if (pop(&machine))
				i = jump(ops, nr, op);
		} else if (!compute_source(&machine, op) && !compute_stack(&machine, op) &&
			   !compute_two(&machine, op->atom)) {
			return false;
		}
	}
	*ret = pop(&machine);
	return !machine.failed;
}
