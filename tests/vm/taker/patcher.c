// SPDX-License-Identifier: GPL-2.0
/* A live patch of restart_syscall, which then returns a number of its own. */

#include <linux/livepatch.h>
#include <linux/module.h>

struct pt_regs;

static long patched_restart_syscall(const struct pt_regs *regs)
{
	return 4711;
}

static struct klp_func functions[] = {
	{ .old_name = "__x64_sys_restart_syscall", .new_func = patched_restart_syscall },
	{ }
};

static struct klp_object objects[] = {
	{ .funcs = functions },
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objects };

static int __init patcher_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit patcher_exit(void)
{
}

module_init(patcher_init);
module_exit(patcher_exit);
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("Patches restart_syscall");
