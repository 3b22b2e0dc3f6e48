// SPDX-License-Identifier: GPL-2.0
/*
 * Takes the direct call of a function for itself, as BPF fentry does: of a wait call, so that
 * perfguard has to make do with a kretprobe there, or of another one.
 */

#include "compat.h"

#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <asm/ibt.h>

extern void taker_stub(void);

asm(".pushsection .text, \"ax\", @progbits\n"
    ".type taker_stub, @function\n"
    ".globl taker_stub\n"
    "taker_stub:\n"
    ASM_ENDBR
    ASM_RET
    ".size taker_stub, .-taker_stub\n"
    ".popsection\n");

static char *function = "__x64_sys_epoll_wait";
module_param(function, charp, 0444);

static struct ftrace_ops ops;

static int __init taker_init(void)
{
	struct kprobe probe = {
		.symbol_name = function,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int ret = register_kprobe(&probe);

	if (ret)
		return ret;
	ret = ftrace_set_filter_ip(&ops, (unsigned long)probe.addr, 0, 1);
	unregister_kprobe(&probe);
	if (!ret)
		ret = pguard_direct_register(&ops, (unsigned long)taker_stub);
	return ret;
}

static void __exit taker_exit(void)
{
	pguard_direct_unregister(&ops, (unsigned long)taker_stub);
}

module_init(taker_init);
module_exit(taker_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Takes the direct call of a function");
