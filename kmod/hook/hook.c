// SPDX-License-Identifier: GPL-2.0

/*
 * The hooks are on while there is a target.  One set of direct calls covers
 * all wait calls with one stub, so that taking them off costs one wait for
 * all CPUs and not one for each.  Where a function already has a direct call
 * (BPF fentry), a kretprobe does the work there.  A live patch of the function and
 * the stub get along, whichever came first.
 */

#include "hook/hook.h"

#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <asm/unistd.h>

extern void pguard_hook_stub(void);

struct hooked_call {
	u32 syscall;
	const char *name;
	const char *symbol;
	unsigned long address;	/* 0: not in this kernel */
	struct kretprobe *probe; /* where somebody else has the direct call */
};

#define HOOK(call) \
	{ .syscall = __NR_##call, .name = #call, .symbol = "__x64_sys_" #call }

/* The calls in which event loops wait. */
static struct hooked_call hooks[] = {
	HOOK(epoll_wait), HOOK(epoll_pwait), HOOK(epoll_pwait2),
	HOOK(poll), HOOK(ppoll), HOOK(select), HOOK(pselect6),
	HOOK(futex), HOOK(futex_waitv),
	HOOK(accept), HOOK(accept4),
	HOOK(read), HOOK(readv), HOOK(recvfrom), HOOK(recvmsg), HOOK(recvmmsg),
	HOOK(rt_sigtimedwait), HOOK(rt_sigsuspend), HOOK(pause),
	HOOK(io_uring_enter), HOOK(io_getevents), HOOK(io_pgetevents),
	HOOK(nanosleep), HOOK(clock_nanosleep), HOOK(restart_syscall),
	HOOK(wait4), HOOK(waitid),
	HOOK(msgrcv), HOOK(semop), HOOK(semtimedop), HOOK(mq_timedreceive),
#ifdef __NR_futex_wait
	HOOK(futex_wait),
#endif
};

/* pguard_control (target/target.c) serializes changes of all below. */
static struct ftrace_ops direct_ops;
static bool attached;

static const unsigned long stub = (unsigned long)pguard_hook_stub;

/* Each thread asleep in a call with a kretprobe takes one of its instances. */
enum { MAX_SLEEPERS = 4096 };

/*
 * Find the functions: a disarmed kprobe looks up its symbol and nothing else.
 * All go off again in one batch.
 */
int __init pguard_hook_init(void)
{
	struct kprobe *kprobes, **found;
	u32 i, nr = 0;
	int ret = -ENOMEM;

	kprobes = kcalloc(ARRAY_SIZE(hooks), sizeof(*kprobes), GFP_KERNEL);
	found = kcalloc(ARRAY_SIZE(hooks), sizeof(*found), GFP_KERNEL);
	if (!kprobes || !found)
		goto out;
	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		kprobes[i].symbol_name = hooks[i].symbol;
		kprobes[i].flags = KPROBE_FLAG_DISABLED;
		if (register_kprobe(&kprobes[i]))
			continue;
		hooks[i].address = (unsigned long)kprobes[i].addr;
		found[nr++] = &kprobes[i];
	}
	unregister_kprobes(found, nr);
	ret = nr ? 0 : -ENOENT;
out:
	kfree(kprobes);
	kfree(found);
	return ret;
}

static int probe_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return !pguard_wait_enter_atomic((const struct pt_regs *)regs->di);
}
NOKPROBE_SYMBOL(probe_entry);

static int probe_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	pguard_wait_leave_atomic(regs_return_value(regs));
	return 0;
}
NOKPROBE_SYMBOL(probe_return);

static int probe_attach(struct hooked_call *hook)
{
	struct kretprobe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	int ret;

	if (!probe)
		return -ENOMEM;
	probe->kp.symbol_name = hook->symbol;
	probe->entry_handler = probe_entry;
	probe->handler = probe_return;
	probe->maxactive = MAX_SLEEPERS;
	ret = register_kretprobe(probe);
	if (ret)
		kfree(probe);
	else
		hook->probe = probe;
	return ret;
}

static void probes_detach(void)
{
	struct kretprobe *list[ARRAY_SIZE(hooks)];
	u32 i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].probe)
			list[nr++] = hooks[i].probe;
	if (nr)
		unregister_kretprobes(list, nr);
	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		kfree(hooks[i].probe);
		hooks[i].probe = NULL;
	}
}

/*
 * May a live patch send the function elsewhere?  It may: the stub goes on where the return
 * address that it finds says, and that is the live patch's then.
 */
static int direct_share(PGUARD_DIRECT_SHARE_ARGS)
{
	return 0;
}

/* Put direct calls on all functions that are not taken. */
static int direct_attach(void)
{
	unsigned long addresses[ARRAY_SIZE(hooks)];
	u32 i, nr = 0;
	int ret;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].address && !hooks[i].probe)
			addresses[nr++] = hooks[i].address;
	if (!nr)
		return 0;
	memset(&direct_ops, 0, sizeof(direct_ops));
	direct_ops.ops_func = direct_share;
	ret = ftrace_set_filter_ips(&direct_ops, addresses, nr, 0, 1);
	if (!ret)
		ret = pguard_direct_register(&direct_ops, stub);
	if (ret)
		ftrace_free_filter(&direct_ops);
	return ret;
}

/* Find out which functions somebody else calls directly. */
static int hooks_find_taken(void)
{
	struct ftrace_ops ops;
	u32 i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (!hooks[i].address)
			continue;
		memset(&ops, 0, sizeof(ops));
		ops.ops_func = direct_share;
		ret = ftrace_set_filter_ip(&ops, hooks[i].address, 0, 1);
		if (!ret)
			ret = pguard_direct_register(&ops, stub);
		if (!ret) {
			pguard_direct_unregister(&ops, stub);
			continue;
		}
		ftrace_free_filter(&ops);
		if (ret != -EBUSY)
			return ret;
		ret = probe_attach(&hooks[i]);
		if (ret)
			return ret;
		pr_info("%s: direct call is taken, a kretprobe serves\n", hooks[i].name);
	}
	return 0;
}

/**
 * pguard_hook_attach() - put the hooks on, if they are not
 *
 * Context: may sleep; pguard_control held.
 * Return: 0 or an error from ftrace or kprobes; then no hook is on.
 */
int pguard_hook_attach(void)
{
	int ret;

	if (attached)
		return 0;
	ret = direct_attach();
	if (ret == -EBUSY) {
		ret = hooks_find_taken();
		if (!ret)
			ret = direct_attach();
	}
	if (ret) {
		probes_detach();
		return ret;
	}
	attached = true;
	return 0;
}

/**
 * pguard_hook_detach() - take the hooks off, if they are on
 *
 * Afterwards no thread enters the stub; some may still be in it, or asleep
 * in a call it made: pguard_drain_wait() gets them out.
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_hook_detach(void)
{
	if (!attached)
		return;
	if (direct_ops.flags & FTRACE_OPS_FL_ENABLED)
		WARN_ON(pguard_direct_unregister(&direct_ops, stub));
	probes_detach();
	attached = false;
}

/**
 * pguard_hook_alive() - true if the hooked functions still call the stub
 *
 * With kernel.ftrace_enabled=0 the kernel takes all such calls out of its text
 * without a notification.  The text itself shows it: a call, or the nop that was there.
 *
 * Context: any; may be wrong while hooks go on or off.
 */
bool pguard_hook_alive(void)
{
	const u8 call_opcode = 0xe8;
	u32 i;

	/* A kprobe's address is behind an endbr64 already. */
	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (attached && hooks[i].address && !hooks[i].probe &&
		    *(u8 *)hooks[i].address != call_opcode)
			return false;
	return true;
}

/**
 * pguard_hook_next() - walk over the hooks that are on
 * @position: 0 to begin
 * @ret: filled in
 *
 * Context: pguard_control held.
 * Return: false at the end.
 */
bool pguard_hook_next(u32 *position, struct pguard_hook_info *ret)
{
	while (attached && *position < ARRAY_SIZE(hooks)) {
		const struct hooked_call *hook = &hooks[(*position)++];

		if (!hook->address)
			continue;
		ret->syscall = hook->syscall;
		ret->name = hook->name;
		ret->direct = !hook->probe;
		ret->missed = hook->probe ? hook->probe->nmissed : 0;
		return true;
	}
	return false;
}
