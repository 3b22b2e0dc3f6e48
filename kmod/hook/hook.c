// SPDX-License-Identifier: GPL-2.0

/*
 * Each wait call that some target needs is hooked, by a direct call of the stub.  Direct
 * calls go on and off in sets, and to take off one set takes a wait for all CPUs and
 * tasks, of a tenth of a second or more: so one set has all the calls of an audit, but each
 * of the few calls that a profile needs is a set of its own, and goes when nobody needs it.
 * A set of several calls stays whole until none of them is needed.
 *
 * A call that only writes has another stub, which looks at its entry alone; sets are of one.
 *
 * Where a function already has a direct call (BPF fentry), a kretprobe does the work
 * there.  A live patch of the function and the stub get along, whichever came first.
 */

#include "hook/hook.h"

#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/ptrace.h>
#include <asm/unistd.h>

struct hooked_call {
	u32 syscall;
	const char *name;
	const char *symbol;
	unsigned long address;	/* 0: not in this kernel */
	bool is_resumed;	/* by restart_syscall, when it was interrupted by a stop */
	bool is_message;	/* of a connection */
	bool is_write;		/* no wait */
	struct kretprobe *probe; /* where somebody else has the direct call */
};

#define HOOK(call, ...) \
	{ .syscall = __NR_##call, .name = #call, .symbol = "__x64_sys_" #call, ##__VA_ARGS__ }
#define RESUMED	.is_resumed = true
#define MESSAGE	.is_message = true
#define WRITES	.is_message = true, .is_write = true

/* The calls in which event loops wait, and those by which connections are written to. */
static struct hooked_call hooks[] = {
	HOOK(epoll_wait), HOOK(epoll_pwait), HOOK(epoll_pwait2),
	HOOK(poll, RESUMED), HOOK(ppoll), HOOK(select), HOOK(pselect6),
	HOOK(futex, RESUMED), HOOK(futex_waitv),
	HOOK(accept, MESSAGE), HOOK(accept4, MESSAGE),
	HOOK(read, MESSAGE), HOOK(readv, MESSAGE), HOOK(recvfrom, MESSAGE),
	HOOK(recvmsg, MESSAGE), HOOK(recvmmsg, MESSAGE),
	HOOK(rt_sigtimedwait), HOOK(rt_sigsuspend), HOOK(pause),
	HOOK(io_uring_enter), HOOK(io_getevents), HOOK(io_pgetevents),
	HOOK(nanosleep, RESUMED), HOOK(clock_nanosleep, RESUMED), HOOK(restart_syscall),
	HOOK(wait4), HOOK(waitid),
	HOOK(msgrcv), HOOK(semop), HOOK(semtimedop), HOOK(mq_timedreceive),
#ifdef __NR_futex_wait
	HOOK(futex_wait),
#endif
	HOOK(write, WRITES), HOOK(writev, WRITES), HOOK(sendto, WRITES), HOOK(sendmsg, WRITES),
	HOOK(sendmmsg, WRITES), HOOK(splice, WRITES),
	{ .syscall = __NR_sendfile, .name = "sendfile", .symbol = "__x64_sys_sendfile64", WRITES },
};

/* Calls are bits, by their place in the table. */
static_assert(ARRAY_SIZE(hooks) <= 64);

/* A set of direct calls of one stub; @calls is 0 if it is not in use. */
struct direct_set {
	struct ftrace_ops ops;
	unsigned long stub;
	u64 calls;
};

/*
 * No call is in two of them, so there is always room for one more.  pguard_control
 * (target/target.c) serializes changes of all below.
 */
static struct direct_set sets[ARRAY_SIZE(hooks)];

/* So many calls may each be a set. */
enum { MAX_SINGLE = 8 };

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

/* What it returns does not matter. */
static int probe_write(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	pguard_write_enter((const struct pt_regs *)regs->di, current);
	return 1;
}
NOKPROBE_SYMBOL(probe_write);

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
	probe->entry_handler = hook->is_write ? probe_write : probe_entry;
	probe->handler = probe_return;
	probe->maxactive = MAX_SLEEPERS;
	ret = register_kretprobe(probe);
	if (ret)
		kfree(probe);
	else
		hook->probe = probe;
	return ret;
}

/* Take off the kretprobes of calls that are not needed. */
static void probes_detach(u64 needed)
{
	struct kretprobe *list[ARRAY_SIZE(hooks)];
	u32 i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (!hooks[i].probe || needed & BIT_ULL(i))
			continue;
		list[nr++] = hooks[i].probe;
		hooks[i].probe = NULL;
	}
	if (!nr)
		return;
	unregister_kretprobes(list, nr);
	while (nr--)
		kfree(list[nr]);
}

/*
 * May a live patch send the function elsewhere?  It may: the stub goes on where the return
 * address that it finds says, and that is the live patch's then.
 */
static int direct_share(PGUARD_DIRECT_SHARE_ARGS)
{
	return 0;
}

/* Put direct calls on the functions of these calls, which have none of ours; all write, or none. */
static int set_attach(u64 calls)
{
	unsigned long addresses[ARRAY_SIZE(hooks)];
	struct direct_set *set = sets;
	u32 i, nr = 0;
	int ret;

	while (set->calls)
		set++;
	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (calls & BIT_ULL(i))
			addresses[nr++] = hooks[i].address;
	memset(set, 0, sizeof(*set));
	set->stub = (unsigned long)(hooks[__ffs64(calls)].is_write ? pguard_write_stub :
								     pguard_hook_stub);
	set->ops.ops_func = direct_share;
	ret = ftrace_set_filter_ips(&set->ops, addresses, nr, 0, 1);
	if (!ret)
		ret = pguard_direct_register(&set->ops, set->stub);
	if (ret)
		ftrace_free_filter(&set->ops);
	else
		set->calls = calls;
	return ret;
}

/* The same; if one of the functions is taken, all of them are refused: then by halves. */
static int calls_attach(u64 calls)
{
	int ret = set_attach(calls);
	u64 half;

	if (ret != -EBUSY)
		return ret;
	if (is_power_of_2(calls))
		return probe_attach(&hooks[__ffs64(calls)]);
	half = calls & GENMASK_ULL((__ffs64(calls) + __fls(calls)) / 2, 0);
	return calls_attach(half) ?: calls_attach(calls & ~half);
}

static int calls_attach_each(u64 calls)
{
	int ret = 0;

	for (; calls && !ret; calls &= calls - 1)
		ret = calls_attach(calls & -calls);
	return ret;
}

/* The calls that are hooked directly. */
static u64 calls_direct(void)
{
	u64 ret = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sets); i++)
		ret |= sets[i].calls;
	return ret;
}

/**
 * pguard_hook_calls() - what is to be hooked for a wait call to be followed
 * @syscall: its number
 *
 * Context: any.
 * Return: bits of the table of wait calls; 0 if it is not in it.
 */
u64 pguard_hook_calls(u32 syscall)
{
	bool is_resumed = false;
	u64 ret = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (hooks[i].syscall != syscall)
			continue;
		ret |= BIT_ULL(i);
		is_resumed = hooks[i].is_resumed;
	}
	return is_resumed ? ret | pguard_hook_calls(__NR_restart_syscall) : ret;
}

/**
 * pguard_hook_all() - all calls of a kind
 * @kind: which
 *
 * Context: any.
 * Return: bits of the table.
 */
u64 pguard_hook_all(enum pguard_hook_kind kind)
{
	u64 ret = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (kind == PGUARD_HOOK_WAITS ? !hooks[i].is_write : hooks[i].is_message)
			ret |= BIT_ULL(i);
	return ret;
}

static void notrace keeper_func(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
				struct ftrace_regs *regs)
{
}

/* Nobody calls it. */
static noinline void keeper_place(void)
{
	barrier();
}

/*
 * On while any hook is, and the kernel refuses to switch ftrace off meanwhile; it cannot be put
 * on while ftrace is off.  For direct calls that come or go while it is off leave flags in the
 * kernel's records, about which the kernel warns when its last user of ftrace goes.
 */
static struct ftrace_ops keeper;

static int keeper_attach(void)
{
	int ret;

	if (keeper.flags & FTRACE_OPS_FL_ENABLED)
		return 0;
	memset(&keeper, 0, sizeof(keeper));
	keeper.func = keeper_func;
	keeper.flags = FTRACE_OPS_FL_PERMANENT;
	ret = ftrace_set_filter_ip(&keeper, (unsigned long)keeper_place, 0, 1);
	if (!ret)
		ret = register_ftrace_function(&keeper);
	if (ret)
		ftrace_free_filter(&keeper);
	return ret == -EBUSY ? -EOPNOTSUPP : ret;
}

static void keeper_detach(void)
{
	if (!(keeper.flags & FTRACE_OPS_FL_ENABLED))
		return;
	WARN_ON(unregister_ftrace_function(&keeper));
	ftrace_free_filter(&keeper);
}

/* In sets that go by themselves, if they are few. */
static int attach_waits(u64 calls)
{
	return hweight64(calls) > MAX_SINGLE ? calls_attach(calls) : calls_attach_each(calls);
}

/**
 * pguard_hook_attach() - hook wait calls, those that are not
 * @calls: bits of the table; those that this kernel does not have do not matter
 *
 * Context: may sleep; pguard_control held.
 * Return: 0; -EOPNOTSUPP if ftrace is switched off (kernel.ftrace_enabled); or an error from
 * ftrace or kprobes.  Then some of them may be hooked: pguard_hook_release().
 */
int pguard_hook_attach(u64 calls)
{
	u64 writes = pguard_hook_all(PGUARD_HOOK_MESSAGES) & ~pguard_hook_all(PGUARD_HOOK_WAITS);
	u64 missing = 0;
	u32 i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].address && !hooks[i].probe)
			missing |= BIT_ULL(i);
	missing &= calls & ~calls_direct();
	if (!missing)
		return 0;
	ret = keeper_attach();
	if (ret)
		return ret;
	ret = attach_waits(missing & ~writes);
	return !ret && missing & writes ? calls_attach(missing & writes) : ret;
}

/**
 * pguard_hook_release() - take off the hooks of wait calls that are not needed any more
 * @needed: bits of the table
 *
 * Afterwards no thread enters the stub from them; some may still be in it, or asleep
 * in a call it made: pguard_drain_wait() gets them out.
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_hook_release(u64 needed)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		if (!sets[i].calls || sets[i].calls & needed)
			continue;
		WARN_ON(pguard_direct_unregister(&sets[i].ops, sets[i].stub));
		sets[i].calls = 0;
	}
	probes_detach(needed);
	if (!needed)
		keeper_detach();
}

/**
 * pguard_hook_alive() - true if the hooked functions still call the stub
 *
 * The kernel takes no call of ours out of its text, unless its tracing fails.  The text itself
 * shows it: a call, or the nop that was there.
 *
 * Context: any; may be wrong while hooks go on or off.
 */
bool pguard_hook_alive(void)
{
	const u8 call_opcode = 0xe8;
	u64 direct = calls_direct();
	u32 i;

	/* A kprobe's address is behind an endbr64 already. */
	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (direct & BIT_ULL(i) && *(u8 *)hooks[i].address != call_opcode)
			return false;
	return true;
}

/*
 * Returns true if a wait call is hooked by a direct call: a kretprobe says of no thread that
 * it is in one.  Context: pguard_control held.
 */
bool pguard_hook_has(u32 syscall)
{
	u64 direct = calls_direct();
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].syscall == syscall)
			return !hooks[i].is_write && direct & BIT_ULL(i);
	return false;
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
	u64 direct = calls_direct();

	while (*position < ARRAY_SIZE(hooks)) {
		const struct hooked_call *hook = &hooks[*position];
		bool is_direct = direct & BIT_ULL((*position)++);

		if (!is_direct && !hook->probe)
			continue;
		ret->syscall = hook->syscall;
		ret->name = hook->name;
		ret->direct = is_direct;
		ret->missed = hook->probe ? hook->probe->nmissed : 0;
		return true;
	}
	return false;
}
