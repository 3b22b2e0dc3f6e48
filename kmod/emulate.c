// SPDX-License-Identifier: GPL-2.0
/*
 * Flags that the processor leaves undefined are as follows: AF is 0 after logic
 * and shifts, OF after a shift by more than 1 is that of the last bit shifted.
 */

#include "emulate.h"

#include <linux/ptrace.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

/* By the processor's numbers. */
static const u8 register_offsets[] = {
	offsetof(struct pt_regs, ax), offsetof(struct pt_regs, cx),
	offsetof(struct pt_regs, dx), offsetof(struct pt_regs, bx),
	offsetof(struct pt_regs, sp), offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si), offsetof(struct pt_regs, di),
	offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
};

static unsigned long *register_of(struct pt_regs *regs, u8 number)
{
	return (unsigned long *)((char *)regs + register_offsets[number]);
}

/* The lower @width bytes. */
static u64 cut(u64 value, u8 width)
{
	return width == 8 ? value : value & ((1ull << 8 * width) - 1);
}

static u64 sign_extend(u64 value, u8 width)
{
	u8 shift = 64 - 8 * width;

	return (u64)((s64)(value << shift) >> shift);
}

static u64 register_get(struct pt_regs *regs, u8 number, u8 width)
{
	if (number >= EMULATE_AH)
		return *register_of(regs, number - EMULATE_AH) >> 8 & 0xff;
	return cut(*register_of(regs, number), width);
}

/* Of 32 bits, the others become 0; of fewer, they stay. */
static void register_set(struct pt_regs *regs, u8 number, u8 width, u64 value)
{
	unsigned long *place;

	if (number >= EMULATE_AH) {
		place = register_of(regs, number - EMULATE_AH);
		*place = (*place & ~0xff00ul) | (value & 0xff) << 8;
		return;
	}
	place = register_of(regs, number);
	if (width < 4)
		*place = (*place & ~cut(~0ull, width)) | cut(value, width);
	else
		*place = cut(value, width);
}

static u64 address_of(const struct pguard_emulation *emulation, struct pt_regs *regs)
{
	u64 address = (u64)(s64)emulation->disp;

	if (emulation->base == EMULATE_IP)
		address += regs->ip + emulation->length;
	else if (emulation->base != EMULATE_NONE)
		address += *register_of(regs, emulation->base);
	if (emulation->index != EMULATE_NONE)
		address += *register_of(regs, emulation->index) << emulation->scale;
	return address;
}

/*
 * One access of the processor's own width.  A page that is not there is not
 * waited for: whoever takes probes off would wait with us.
 */
static bool memory_get(u64 address, u8 width, u64 *ret)
{
	u32 four;
	u16 two;
	u8 one;
	int err;

	pagefault_disable();
	switch (width) {
	case 1:
		err = get_user(one, (const u8 __user *)address);
		*ret = one;
		break;
	case 2:
		err = get_user(two, (const u16 __user *)address);
		*ret = two;
		break;
	case 4:
		err = get_user(four, (const u32 __user *)address);
		*ret = four;
		break;
	default:
		err = get_user(*ret, (const u64 __user *)address);
	}
	pagefault_enable();
	return !err;
}

static bool memory_put(u64 address, u8 width, u64 value)
{
	int err;

	pagefault_disable();
	switch (width) {
	case 1:
		err = put_user((u8)value, (u8 __user *)address);
		break;
	case 2:
		err = put_user((u16)value, (u16 __user *)address);
		break;
	case 4:
		err = put_user((u32)value, (u32 __user *)address);
		break;
	default:
		err = put_user(value, (u64 __user *)address);
	}
	pagefault_enable();
	return !err;
}

static bool operand_get(const struct pguard_emulation *emulation, struct pt_regs *regs, u8 operand,
			u8 width, u64 *ret)
{
	switch (operand) {
	case EMULATE_CONSTANT:
		*ret = cut(emulation->constant, width);
		return true;
	case EMULATE_ADDRESS:
		*ret = address_of(emulation, regs);
		return true;
	case EMULATE_MEMORY:
		return memory_get(address_of(emulation, regs), width, ret);
	case EMULATE_NONE:
		*ret = 0;
		return true;
	}
	*ret = register_get(regs, operand, width);
	return true;
}

static bool operand_set(const struct pguard_emulation *emulation, struct pt_regs *regs, u64 value)
{
	if (emulation->to == EMULATE_MEMORY)
		return memory_put(address_of(emulation, regs), emulation->width, value);
	register_set(regs, emulation->to, emulation->width, value);
	return true;
}

enum {
	FLAGS_RESULT = X86_EFLAGS_PF | X86_EFLAGS_ZF | X86_EFLAGS_SF,
	FLAGS_ALL = FLAGS_RESULT | X86_EFLAGS_CF | X86_EFLAGS_AF | X86_EFLAGS_OF,
};

static bool condition_holds(u8 condition, unsigned long flags)
{
	bool less = !(flags & X86_EFLAGS_SF) != !(flags & X86_EFLAGS_OF);
	bool ret = false;

	switch (condition >> 1) {
	case 0:
		ret = flags & X86_EFLAGS_OF;
		break;
	case 1:
		ret = flags & X86_EFLAGS_CF;
		break;
	case 2:
		ret = flags & X86_EFLAGS_ZF;
		break;
	case 3:
		ret = flags & (X86_EFLAGS_CF | X86_EFLAGS_ZF);
		break;
	case 4:
		ret = flags & X86_EFLAGS_SF;
		break;
	case 5:
		ret = flags & X86_EFLAGS_PF;
		break;
	case 6:
		ret = less;
		break;
	case 7:
		ret = less || flags & X86_EFLAGS_ZF;
		break;
	}
	return ret != (condition & 1);
}

/* The highest of the lower @width bytes. */
static bool sign_of(u64 value, u8 width)
{
	return value >> (8 * width - 1) & 1;
}

static unsigned long result_flags(u64 result, u8 width)
{
	u8 low = (u8)result;

	low ^= low >> 4;
	low ^= low >> 2;
	low ^= low >> 1;
	return (low & 1 ? 0 : X86_EFLAGS_PF) | (cut(result, width) ? 0 : X86_EFLAGS_ZF) |
	       (sign_of(result, width) ? X86_EFLAGS_SF : 0);
}

/* Of a sum or difference: @carries has the carry, or borrow, out of each bit. */
static unsigned long sum_flags(u64 a, u64 b, u64 result, u64 carries, u64 overflows, u8 width)
{
	return result_flags(result, width) | (sign_of(carries, width) ? X86_EFLAGS_CF : 0) |
	       ((a ^ b ^ result) & 16 ? X86_EFLAGS_AF : 0) |
	       (sign_of(overflows, width) ? X86_EFLAGS_OF : 0);
}

static u64 add(u64 a, u64 b, bool carry, u8 width, unsigned long *flags)
{
	u64 result = a + b + carry;

	*flags = sum_flags(a, b, result, (a & b) | ((a | b) & ~result),
			   (a ^ result) & (b ^ result), width);
	return result;
}

static u64 subtract(u64 a, u64 b, bool borrow, u8 width, unsigned long *flags)
{
	u64 result = a - b - borrow;

	*flags = sum_flags(a, b, result, (~a & b) | ((~a | b) & result),
			   (a ^ b) & (a ^ result), width);
	return result;
}

/* By 1 to 8 * @width - 1. */
static u64 shift(u8 op, u64 a, u8 count, u8 width, unsigned long *flags)
{
	bool carry, overflow;
	u64 result;

	if (op == EMULATE_SHL) {
		result = a << count;
		carry = a >> (8 * width - count) & 1;
		overflow = sign_of(result, width) != carry;
	} else {
		carry = a >> (count - 1) & 1;
		result = op == EMULATE_SHR ? a >> count :
			 (u64)((s64)sign_extend(a, width) >> count);
		overflow = op == EMULATE_SHR && count == 1 && sign_of(a, width);
	}
	*flags = result_flags(result, width) | (carry ? X86_EFLAGS_CF : 0) |
		 (overflow ? X86_EFLAGS_OF : 0);
	return result;
}

/*
 * What @op makes of its operands, in the lower bytes.  *@changed takes which
 * flags it sets, and *@flags their values; they start as none, and as they were.
 */
static u64 compute(const struct pguard_emulation *emulation, u64 a, u64 b, unsigned long *flags,
		   unsigned long *changed)
{
	bool carry = *flags & X86_EFLAGS_CF;
	u8 width = emulation->width;
	u8 op = emulation->op;
	u64 result = b;

	switch (op) {
	case EMULATE_ADD:
	case EMULATE_ADC:
		*changed = FLAGS_ALL;
		return add(a, b, op == EMULATE_ADC && carry, width, flags);
	case EMULATE_SUB:
	case EMULATE_SBB:
	case EMULATE_CMP:
		*changed = FLAGS_ALL;
		return subtract(a, b, op == EMULATE_SBB && carry, width, flags);
	case EMULATE_INC:
		*changed = FLAGS_ALL & ~X86_EFLAGS_CF;
		return add(a, 1, false, width, flags);
	case EMULATE_DEC:
		*changed = FLAGS_ALL & ~X86_EFLAGS_CF;
		return subtract(a, 1, false, width, flags);
	case EMULATE_NEG:
		*changed = FLAGS_ALL;
		return subtract(0, a, false, width, flags);
	case EMULATE_NOT:
		return ~a;
	case EMULATE_OR:
	case EMULATE_AND:
	case EMULATE_XOR:
	case EMULATE_TEST:
		result = op == EMULATE_OR ? a | b : op == EMULATE_XOR ? a ^ b : a & b;
		*changed = FLAGS_ALL;
		*flags = result_flags(result, width);
		return result;
	case EMULATE_SHL:
	case EMULATE_SHR:
	case EMULATE_SAR:
		if (!b)
			return a;
		*changed = FLAGS_ALL;
		return shift(op, a, b, width, flags);
	case EMULATE_EXTEND:
		return sign_extend(b, emulation->source_width);
	case EMULATE_SPREAD:
		return sign_of(b, width) ? ~0ull : 0;
	case EMULATE_SET:
		return condition_holds(emulation->condition, *flags);
	case EMULATE_CMOV:
		return condition_holds(emulation->condition, *flags) ? b : a;
	}
	return b; /* mov and xchg */
}

/* Does it need to know what stood in its first operand? */
static bool reads_first(u8 op)
{
	return op != EMULATE_MOV && op != EMULATE_EXTEND && op != EMULATE_SPREAD &&
	       op != EMULATE_SET;
}

/**
 * pguard_emulate() - carry out an instruction for current
 * @emulation: the instruction, at regs->ip
 * @regs: user registers of current; the result and the next instruction's
 * address go there
 *
 * Another handler at the same site, ours or foreign, may have moved the
 * instruction pointer already: the caller makes sure that it is at the site,
 * where its offset within the page is that of the site in the file.
 *
 * Whoever single-steps, and what runs as 32-bit code, is left to the kernel; so
 * is an access to memory that faults.
 *
 * Context: current, in the handler of a breakpoint; does not sleep.
 * Return: whether it was done; if not, nothing is changed.
 */
bool pguard_emulate(const struct pguard_emulation *emulation, struct pt_regs *regs)
{
	unsigned long flags = regs->flags, changed = 0;
	u64 a = 0, b, result;

	if (regs->flags & X86_EFLAGS_TF || regs->cs != __USER_CS)
		return false;
	if (emulation->op == EMULATE_NOP)
		goto done;
	if (!operand_get(emulation, regs, emulation->from, emulation->source_width, &b))
		return false;
	if (reads_first(emulation->op) &&
	    !operand_get(emulation, regs, emulation->to, emulation->width, &a))
		return false;
	result = compute(emulation, a, b, &flags, &changed);
	if (emulation->op == EMULATE_XCHG)
		register_set(regs, emulation->from, emulation->width, a);
	if (emulate_writes(emulation->op) && !operand_set(emulation, regs, result))
		return false;
	regs->flags = (regs->flags & ~changed) | (flags & changed);
done:
	regs->ip += emulation->length;
	return true;
}
