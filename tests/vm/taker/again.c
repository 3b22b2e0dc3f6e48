// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a kernel one without commit 4363264111e1, which executes again what the handler of a
 * uprobe has carried out: at the branch behind the comparison of the instruction pointer with
 * the breakpoint's address, they are equal.
 */

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/stddef.h>

enum { MAX_BYTES = 4096 };

static int branch_handler(struct kprobe *probe, struct pt_regs *regs)
{
	regs->flags |= X86_EFLAGS_ZF;
	return 0;
}

static struct kprobe branch = { .pre_handler = branch_handler };

/* cmp of a register with the instruction pointer in pt_regs, and a jump if they differ. */
static bool is_comparison(const u8 *at)
{
	static const u8 offset[4] = { offsetof(struct pt_regs, ip) };

	return (at[0] & 0xf8) == 0x48 && (at[1] == 0x39 || at[1] == 0x3b) && at[2] >> 6 == 2 &&
	       !memcmp(at + 3, offset, sizeof(offset)) &&
	       (at[7] == 0x75 || (at[7] == 0x0f && at[8] == 0x85));
}

/* The function of the kernel into which it is compiled. */
static u8 *function_find(void)
{
	struct kprobe probe = {
		.symbol_name = "uprobe_notify_resume",
		.flags = KPROBE_FLAG_DISABLED,
	};

	if (register_kprobe(&probe))
		return NULL;
	unregister_kprobe(&probe);
	return (u8 *)probe.addr;
}

static int __init again_init(void)
{
	u8 *at = function_find();
	u32 i;

	for (i = 0; at && i < MAX_BYTES; i++, at++) {
		if (!is_comparison(at))
			continue;
		branch.addr = (kprobe_opcode_t *)(at + 7);
		return register_kprobe(&branch);
	}
	return -ENOENT;
}

static void __exit again_exit(void)
{
	unregister_kprobe(&branch);
}

module_init(again_init);
module_exit(again_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Lets the kernel execute again what handlers of uprobes carried out");
