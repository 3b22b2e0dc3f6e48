// SPDX-License-Identifier: GPL-2.0

#include "clock.h"

#include <linux/clocksource.h>
#include <linux/printk.h>
#include <asm/tsc.h>

DEFINE_STATIC_KEY_FALSE(pguard_clock_tsc);
u32 pguard_clock_mult __ro_after_init = 1;
u32 pguard_clock_shift __ro_after_init;

/**
 * pguard_clock_init() - choose the clock
 *
 * The factor is exact enough for units of up to an hour.
 */
void __init pguard_clock_init(void)
{
	if (!boot_cpu_has(X86_FEATURE_TSC) || !tsc_khz || check_tsc_unstable()) {
		pr_info("TSC not usable, units are timed with ktime\n");
		return;
	}
	clocks_calc_mult_shift(&pguard_clock_mult, &pguard_clock_shift,
			       tsc_khz, NSEC_PER_MSEC, 0);
	static_branch_enable(&pguard_clock_tsc);
}
