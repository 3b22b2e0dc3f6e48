/* SPDX-License-Identifier: GPL-2.0 */
/* The base of GS of threads, in user mode: 0, where the program does not use GS. */
#ifndef _KMOD_INLINE_THREAD_GS_H
#define _KMOD_INLINE_THREAD_GS_H

#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/types.h>

#include <asm/msr.h>
#include <asm/segment.h>

/* Of current, in a system call or task work. */
static inline u64 pguard_gs_base(void)
{
	u32 low, high;

	rdmsr(MSR_KERNEL_GS_BASE, low, high);
	return low | (u64)high << 32;
}

/* As arch_prctl(ARCH_SET_GS) does it; the selector is 0.  Context: the same. */
static inline void pguard_gs_base_set(u64 base)
{
	preempt_disable_notrace();
	current->thread.gsbase = base;
	wrmsr(MSR_KERNEL_GS_BASE, (u32)base, (u32)(base >> 32));
	preempt_enable_notrace();
}

/* Context: the same. */
static inline bool pguard_gs_is_free(void)
{
	u16 selector;

	savesegment(gs, selector);
	return !selector && !pguard_gs_base();
}

bool pguard_gs_is_used(void);

#endif /* _KMOD_INLINE_THREAD_GS_H */
