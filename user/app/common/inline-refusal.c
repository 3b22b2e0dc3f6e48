// SPDX-License-Identifier: GPL-2.0

#include "app/common/inline-refusal.h"

#include "link/link.h"

const char *inline_refusal_text(uint32_t refusal)
{
	switch (refusal) {
	case PERFGUARD_INLINE_REFUSAL_GS:
		return "a thread of it uses the base of gs";
	case PERFGUARD_INLINE_REFUSAL_TRACED:
		return "it is traced, as by a debugger";
	case PERFGUARD_INLINE_REFUSAL_SHARED:
		return "another process has the same memory";
	case PERFGUARD_INLINE_REFUSAL_GENERATED:
		return "it has code in memory that is of no file";
	case PERFGUARD_INLINE_REFUSAL_SHADOW_STACK:
		return "it has shadow stacks";
	case PERFGUARD_INLINE_REFUSAL_NOT_64_BIT:
		return "it is none of 64 bits";
	case PERFGUARD_INLINE_REFUSAL_THREADS:
		return "it has more threads than can note their hits";
	case PERFGUARD_INLINE_REFUSAL_UNMAPPED:
		return "there was no memory for jumps, or a limit or a security module does not allow it";
	}
	return "the module does not allow it";
}
