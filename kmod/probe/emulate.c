// SPDX-License-Identifier: GPL-2.0
/*
 * Flags that the processor leaves undefined are as it leaves them: arithmetic is
 * done by its own instructions.
 */

#include "probe/code.h"

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

static __always_inline unsigned long *register_of(struct pt_regs *regs, u8 number)
{
	return (unsigned long *)((char *)regs + register_offsets[number]);
}

/* The lower @width bytes. */
static __always_inline u64 cut(u64 value, u8 width)
{
	static const u64 masks[] = {
		[1] = 0xff, [2] = 0xffff, [4] = 0xffffffff, [8] = ~0ull,
	};

	return value & masks[width];
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
static __always_inline void register_set(struct pt_regs *regs, u8 number, u8 width, u64 value)
{
	unsigned long *place;

	if (unlikely(number >= EMULATE_AH)) {
		place = register_of(regs, number - EMULATE_AH);
		*place = (*place & ~0xff00ul) | (value & 0xff) << 8;
		return;
	}
	place = register_of(regs, number);
	if (likely(width >= 4))
		*place = cut(value, width);
	else
		*place = (*place & ~cut(~0ull, width)) | cut(value, width);
}

static __always_inline u64 address_of(const struct pguard_emulation *emulation,
				      struct pt_regs *regs)
{
	u64 address = (u64)(s64)emulation->disp;

	if (likely(emulation->base < EMULATE_AH))
		address += *register_of(regs, emulation->base);
	else if (emulation->base == EMULATE_IP)
		address += regs->ip + emulation->length;
	if (unlikely(emulation->index != EMULATE_NONE))
		address += *register_of(regs, emulation->index) << emulation->scale;
	return address;
}

/* Any access counts as one of the most bytes: the kernel does what comes so near the end. */
enum { MEMORY_BYTES = 8 };

/* A page that is not there is not waited for: whoever takes probes off would wait with us. */
static __always_inline bool memory_begin(const void __user *place)
{
	pagefault_disable();
	if (likely(user_access_begin(place, MEMORY_BYTES)))
		return true;
	pagefault_enable();
	return false;
}

static __always_inline void memory_end(void)
{
	user_access_end();
	pagefault_enable();
}

/* One access of the processor's own width. */
static __always_inline bool memory_get(u64 address, u8 width, u64 *ret)
{
	const void __user *place = (const void __user *)address;
	u64 value;
	u32 four;
	u16 two;
	u8 one;

	if (unlikely(!memory_begin(place)))
		return false;
	if (likely(width == 8)) {
		unsafe_get_user(value, (const u64 __user *)place, fault);
	} else if (width == 4) {
		unsafe_get_user(four, (const u32 __user *)place, fault);
		value = four;
	} else if (width == 1) {
		unsafe_get_user(one, (const u8 __user *)place, fault);
		value = one;
	} else {
		unsafe_get_user(two, (const u16 __user *)place, fault);
		value = two;
	}
	memory_end();
	*ret = value;
	return true;
fault:
	memory_end();
	return false;
}

static __always_inline bool memory_put(u64 address, u8 width, u64 value)
{
	void __user *place = (void __user *)address;

	if (unlikely(!memory_begin(place)))
		return false;
	if (likely(width == 8))
		unsafe_put_user(value, (u64 __user *)place, fault);
	else if (width == 4)
		unsafe_put_user((u32)value, (u32 __user *)place, fault);
	else if (width == 1)
		unsafe_put_user((u8)value, (u8 __user *)place, fault);
	else
		unsafe_put_user((u16)value, (u16 __user *)place, fault);
	memory_end();
	return true;
fault:
	memory_end();
	return false;
}

static __always_inline bool operand_get(const struct pguard_emulation *emulation,
					struct pt_regs *regs, u8 operand, u8 width, u64 *ret)
{
	if (likely(operand < EMULATE_AH)) {
		*ret = cut(*register_of(regs, operand), width);
		return true;
	}
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
	/* The lowest bit negates it; the last two are "less" and "less or equal". */
	static const unsigned long any_of[] = {
		X86_EFLAGS_OF, X86_EFLAGS_CF, X86_EFLAGS_ZF, X86_EFLAGS_CF | X86_EFLAGS_ZF,
		X86_EFLAGS_SF, X86_EFLAGS_PF, 0, X86_EFLAGS_ZF,
	};
	bool is_less = !(flags & X86_EFLAGS_SF) != !(flags & X86_EFLAGS_OF);
	bool ret = flags & any_of[condition >> 1] || (condition >> 1 >= 6 && is_less);

	return ret != (condition & 1);
}

/* The highest of the lower @width bytes. */
static bool sign_of(u64 value, u8 width)
{
	return value >> (8 * width - 1) & 1;
}

static bool is_shift(u8 op)
{
	return op == EMULATE_SHL || op == EMULATE_SHR || op == EMULATE_SAR;
}

/*
 * The processor does it itself, by the same instruction, and so sets the flags as
 * it would have.  @insn is without its suffix, @from its other operand, if any,
 * with %b2, %w2, %k2 or %q2 as the width is; it finds @flags' carry.
 */
#define NATIVE_AT(insn, suffix, operands)                                               \
	asm("bt $0, %1\n\t" insn suffix " " operands "\n\tpushf\n\tpop %1"                  \
	    : "+r"(a), "+r"(*flags) : "c"(b) : "cc", "memory")

#define NATIVE(insn, b1, w2, l4, q8)                                                    \
	do {                                                                            \
		if (width == 8)                                                         \
			NATIVE_AT(insn, "q", q8 "%q0");                                 \
		else if (width == 4)                                                    \
			NATIVE_AT(insn, "l", l4 "%k0");                                 \
		else if (width == 2)                                                    \
			NATIVE_AT(insn, "w", w2 "%w0");                                 \
		else                                                                    \
			NATIVE_AT(insn, "b", b1 "%b0");                                 \
	} while (0)

#define NATIVE_TWO(insn)	NATIVE(insn, "%b2, ", "%w2, ", "%k2, ", "%q2, ")
#define NATIVE_SHIFT(insn)	NATIVE(insn, "%%cl, ", "%%cl, ", "%%cl, ", "%%cl, ")
#define NATIVE_ONE(insn)	NATIVE(insn, "", "", "", "")

/*
 * What @op makes of its operands, in the lower bytes.  *@changed takes which
 * flags it sets, and *@flags their values; they start as none, and as they were.
 */
static u64 compute(const struct pguard_emulation *emulation, u64 a, u64 b, unsigned long *flags,
		   unsigned long *changed)
{
	u8 width = emulation->width;

	/* A shift by nothing, too, leaves the flags alone. */
	*changed = b || !is_shift(emulation->op) ? FLAGS_ALL : 0;
	switch (emulation->op) {
	case EMULATE_ADD:
		NATIVE_TWO("add");
		return a;
	case EMULATE_ADC:
		NATIVE_TWO("adc");
		return a;
	case EMULATE_SUB:
	case EMULATE_CMP:
		NATIVE_TWO("sub");
		return a;
	case EMULATE_SBB:
		NATIVE_TWO("sbb");
		return a;
	case EMULATE_OR:
		NATIVE_TWO("or");
		return a;
	case EMULATE_AND:
	case EMULATE_TEST:
		NATIVE_TWO("and");
		return a;
	case EMULATE_XOR:
		NATIVE_TWO("xor");
		return a;
	case EMULATE_INC:
		NATIVE_ONE("inc");
		return a;
	case EMULATE_DEC:
		NATIVE_ONE("dec");
		return a;
	case EMULATE_NEG:
		NATIVE_ONE("neg");
		return a;
	case EMULATE_SHL:
		NATIVE_SHIFT("shl");
		return a;
	case EMULATE_SHR:
		NATIVE_SHIFT("shr");
		return a;
	case EMULATE_SAR:
		NATIVE_SHIFT("sar");
		return a;
	}
	*changed = 0;
	switch (emulation->op) {
	case EMULATE_NOT:
		return ~a;
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

/* Returns true if it needs to know what stood in its first operand. */
static bool reads_first(u8 op)
{
	return op != EMULATE_MOV && op != EMULATE_EXTEND && op != EMULATE_SPREAD &&
	       op != EMULATE_SET;
}

static noinline bool emulate_any(const struct pguard_emulation *emulation, struct pt_regs *regs)
{
	unsigned long flags = regs->flags, changed = 0;
	u64 a = 0, b;

	if (!operand_get(emulation, regs, emulation->from, emulation->source_width, &b))
		return false;
	if (reads_first(emulation->op) &&
	    !operand_get(emulation, regs, emulation->to, emulation->width, &a))
		return false;
	if (emulation->op == EMULATE_XCHG)
		register_set(regs, emulation->from, emulation->width, a);
	b = compute(emulation, a, b, &flags, &changed);
	if (emulate_writes(emulation->op) && !operand_set(emulation, regs, b))
		return false;
	regs->flags = (regs->flags & ~changed) | (flags & changed);
	regs->ip += emulation->length;
	return true;
}

static __always_inline u64 plain_operand(const struct pguard_emulation *emulation,
					 struct pt_regs *regs)
{
	return emulation->from < EMULATE_AH ? *register_of(regs, emulation->from) :
					      emulation->constant;
}

static __always_inline void fast_move(const struct pguard_emulation *emulation,
				       struct pt_regs *regs)
{
	u64 value = emulation->from == EMULATE_ADDRESS ?
			    address_of(emulation, regs) :
			    cut(plain_operand(emulation, regs), emulation->source_width);

	*register_of(regs, emulation->to) = cut(value, emulation->width);
}

/* As NATIVE_TWO(), of whole registers. */
#define NATIVE_WHOLE(insn)                                                              \
	do {                                                                            \
		if (emulation->width == 8)                                              \
			NATIVE_AT(insn, "q", "%q2, %q0");                               \
		else                                                                    \
			NATIVE_AT(insn, "l", "%k2, %k0");                               \
	} while (0)

static __always_inline void fast_sum(const struct pguard_emulation *emulation,
				      struct pt_regs *regs)
{
	unsigned long *to = register_of(regs, emulation->to), word = 0, *flags = &word;
	u64 a = *to, b = plain_operand(emulation, regs);

	switch (emulation->op) {
	case EMULATE_XOR:
		NATIVE_WHOLE("xor");
		break;
	case EMULATE_TEST:
		NATIVE_WHOLE("test");
		break;
	case EMULATE_CMP:
		NATIVE_WHOLE("cmp");
		break;
	case EMULATE_SUB:
		NATIVE_WHOLE("sub");
		break;
	case EMULATE_ADD:
		NATIVE_WHOLE("add");
		break;
	case EMULATE_AND:
		NATIVE_WHOLE("and");
		break;
	default:
		NATIVE_WHOLE("or");
	}
	if (emulate_writes(emulation->op))
		*to = a;
	regs->flags = (regs->flags & ~FLAGS_ALL) | (word & FLAGS_ALL);
}

static __always_inline bool fast_load(const struct pguard_emulation *emulation,
				       struct pt_regs *regs)
{
	u64 value;

	if (!memory_get(address_of(emulation, regs), emulation->source_width, &value))
		return false;
	*register_of(regs, emulation->to) = value;
	return true;
}

static __always_inline bool fast_store(const struct pguard_emulation *emulation,
					struct pt_regs *regs)
{
	return memory_put(address_of(emulation, regs), emulation->width,
			  plain_operand(emulation, regs));
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
 * Return: true if it was done; if not, nothing is changed.
 */
bool pguard_emulate(const struct pguard_emulation *emulation, struct pt_regs *regs)
{
	if (unlikely(regs->flags & X86_EFLAGS_TF || regs->cs != __USER_CS))
		return false;
	switch (emulation->usual) {
	case EMULATE_USUAL_NOP:
		break;
	case EMULATE_USUAL_MOVE:
		fast_move(emulation, regs);
		break;
	case EMULATE_USUAL_SUM:
		fast_sum(emulation, regs);
		break;
	case EMULATE_USUAL_LOAD:
		if (!fast_load(emulation, regs))
			return false;
		break;
	case EMULATE_USUAL_STORE:
		if (!fast_store(emulation, regs))
			return false;
		break;
	default:
		return emulate_any(emulation, regs);
	}
	regs->ip += emulation->length;
	return true;
}
