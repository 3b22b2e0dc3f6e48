// SPDX-License-Identifier: GPL-2.0
/* Has the kernel trust the TSC no longer, as it does when it finds that it runs wrong. */

#include <linux/module.h>
#include <asm/tsc.h>

static int __init unstable_init(void)
{
	mark_tsc_unstable("a test");
	return 0;
}

static void __exit unstable_exit(void)
{
}

module_init(unstable_init);
module_exit(unstable_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Marks the TSC unstable");
