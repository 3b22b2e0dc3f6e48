// SPDX-License-Identifier: GPL-2.0

#include "lib/clock.h"

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <asm/tsc.h>

DEFINE_STATIC_KEY_FALSE(pguard_clock_tsc);
u32 pguard_clock_mult __ro_after_init = 1U << PGUARD_CLOCK_SHIFT;
u32 pguard_clock_ticks_mult __ro_after_init = 1U << PGUARD_CLOCK_TICKS_SHIFT;

/* What ktime, in ticks, lacks of the TSC. */
static u64 behind;

enum {
	/* The factors of a slower or faster TSC would not fit 32 bits. */
	MIN_TSC_KHZ = 300 * 1000,
	MAX_TSC_KHZ = 15 * 1000 * 1000,
};

u64 pguard_clock_ns(u64 ticks)
{
	if ((s64)ticks < 0)
		return 0;
	return mul_u64_u32_shr(ticks, pguard_clock_mult, PGUARD_CLOCK_SHIFT);
}

static u64 ktime_ticks(void)
{
	return mul_u64_u32_shr(ktime_get_mono_fast_ns(), pguard_clock_ticks_mult,
			       PGUARD_CLOCK_TICKS_SHIFT);
}

/* pguard_clock() where the TSC is not trusted.  Context: any. */
u64 pguard_clock_ktime(void)
{
	return ktime_ticks() + READ_ONCE(behind);
}

/**
 * pguard_clock_check() - go on with ktime if the kernel does not trust the TSC any more
 *
 * The time of a unit that runs meanwhile is as wrong as the TSC was.
 *
 * Context: may sleep; serialized by the caller (pguard_control).
 * Return: true if the clock was changed.
 */
bool pguard_clock_check(void)
{
	if (!pguard_clock_is_tsc() || !check_tsc_unstable())
		return false;
	WRITE_ONCE(behind, rdtsc() - ktime_ticks());
	static_branch_disable(&pguard_clock_tsc);
	pr_warn("the TSC has become unstable, units are timed with ktime\n");
	return true;
}

/* Choose the clock. */
void __init pguard_clock_init(void)
{
	if (!boot_cpu_has(X86_FEATURE_TSC) || tsc_khz < MIN_TSC_KHZ ||
	    tsc_khz > MAX_TSC_KHZ || check_tsc_unstable()) {
		pr_info("TSC not usable, units are timed with ktime\n");
		return;
	}
	pguard_clock_mult = div_u64((u64)NSEC_PER_MSEC << PGUARD_CLOCK_SHIFT, tsc_khz);
	pguard_clock_ticks_mult = div_u64((u64)tsc_khz << PGUARD_CLOCK_TICKS_SHIFT, NSEC_PER_MSEC);
	static_branch_enable(&pguard_clock_tsc);
}
