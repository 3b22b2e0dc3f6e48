/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that differs between kernels.  The sources are written for the newest;
 * each entry says since when, so that it can go when the old end moves up.
 */
#ifndef _KMOD_COMPAT_H
#define _KMOD_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "perfguard needs Linux 6.1 or newer"
#endif
#ifndef CONFIG_X86_64
#error "perfguard runs on x86-64 only"
#endif
#ifndef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
#error "perfguard needs CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS"
#endif
#ifdef CONFIG_PREEMPT_RT
#error "perfguard takes spinlocks with preemption off, which PREEMPT_RT does not allow"
#endif
#ifndef CONFIG_UPROBES
#error "perfguard needs CONFIG_UPROBES"
#endif
#ifndef CONFIG_CGROUPS
#error "perfguard needs CONFIG_CGROUPS"
#endif
#ifndef CONFIG_SCHED_INFO
#error "perfguard needs CONFIG_SCHED_INFO (SCHEDSTATS or TASK_DELAY_ACCT)"
#endif

/*
 * Where the stub in stub.S finds the current task.  A per-CPU variable of its
 * own until 6.1, a member of pcpu_hot from 6.2 (commit e57ef2ed97c1), and a
 * variable again from 6.15 (commit a1e4cc0155ad).
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define PGUARD_ASM_CURRENT	PER_CPU_VAR(current_task)
#else
#define PGUARD_ASM_CURRENT	PER_CPU_VAR(pcpu_hot + X86_current_task)
#endif

/*
 * How functions in stub.S are aligned: from 6.2 on with the padding that some mitigations
 * patch.
 */
#ifdef SYM_F_ALIGN
#define PGUARD_ASM_ALIGN	SYM_F_ALIGN
#else
#define PGUARD_ASM_ALIGN	SYM_A_ALIGN
#endif

#ifndef __ASSEMBLY__

#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/shmem_fs.h>
#include <linux/uprobes.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

#ifdef CONFIG_X86_USER_SHADOW_STACK
#include <asm/prctl.h>
#endif

/*
 * Direct calls by ftrace_ops were named _multi while there was also a form by
 * address (until 6.3, commit da8bdfbd42de).
 */
static inline int pguard_direct_register(struct ftrace_ops *ops, unsigned long stub)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return register_ftrace_direct_multi(ops, stub);
#else
	return register_ftrace_direct(ops, stub);
#endif
}

static inline int pguard_direct_unregister(struct ftrace_ops *ops, unsigned long stub)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	int ret = unregister_ftrace_direct_multi(ops, stub);

	ftrace_free_filter(ops);
	return ret;
#else
	return unregister_ftrace_direct(ops, stub, true);
#endif
}

/* What ftrace asks a user of direct calls names the function since 7.0. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define PGUARD_DIRECT_SHARE_ARGS	struct ftrace_ops *ops, enum ftrace_ops_cmd command
#else
#define PGUARD_DIRECT_SHARE_ARGS \
	struct ftrace_ops *ops, unsigned long ip, enum ftrace_ops_cmd command
#endif

/* hrtimer_setup() took the place of hrtimer_init() in 6.13 (908a1d775422). */
static inline void pguard_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = function;
#else
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#endif
}

/* The exit tracepoint reports the group since 6.16 (commit 13c6ad6a8d4a). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define PGUARD_EXIT_PROBE_ARGS	void *data, struct task_struct *task
#else
#define PGUARD_EXIT_PROBE_ARGS	void *data, struct task_struct *task, bool group_dead
#endif

/* The first argument of a family's pre_doit has another type since 6.2 (commit 20b0b53acad9). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define genl_split_ops	genl_ops
#endif

/* The attributes moved within genl_dumpit_info in 6.7 (commit 7288dd2fd488). */
static inline struct nlattr **pguard_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return genl_dumpit_info(cb)->attrs;
#else
	return genl_dumpit_info(cb)->info.attrs;
#endif
}

/* The file of a descriptor that is held got a name in 6.12 (commit 1da91ea87aef). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define fd_file(fd)	((fd).file)
#endif

/*
 * The executable of some memory, with a reference to be given back by fput(),
 * or NULL.  get_file_rcu() looks at the pointer again since 6.7 (0ede61d8589c).
 */
static inline struct file *pguard_mm_exe_file_get(struct mm_struct *mm)
{
	struct file *exe;

	rcu_read_lock();
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	exe = rcu_dereference(mm->exe_file);
	if (exe && !get_file_rcu(exe))
		exe = NULL;
#else
	exe = get_file_rcu(&mm->exe_file);
#endif
	rcu_read_unlock();
	return exe;
}

/* Whose memory it is, or NULL.  Without memory cgroups the kernel does not say.  Context: RCU. */
static inline struct task_struct *pguard_mm_owner(struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	return rcu_dereference(mm->owner);
#else
	return mm == current->mm ? current : NULL;
#endif
}

/* The flags of a mapping are changed by functions since 6.3 (commit bc292ab00f6c). */
static inline void pguard_vm_flags_change(struct vm_area_struct *vma, unsigned long set,
					  unsigned long clear)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags |= set;
	vma->vm_flags &= ~clear;
#else
	vm_flags_set(vma, set);
	vm_flags_clear(vma, clear);
#endif
}

/* A mapping can be sealed against its process since 6.10 (commit 8be7258aad44). */
#ifdef VM_SEALED
#define PGUARD_VM_SEALED	VM_SEALED
#else
#define PGUARD_VM_SEALED	0
#endif

/* Shadow stacks came in 6.6 (commit 98cfa4630912). */
static inline bool pguard_has_shadow_stack(const struct task_struct *task)
{
#ifdef CONFIG_X86_USER_SHADOW_STACK
	return READ_ONCE(task->thread.features) & ARCH_SHSTK_SHSTK;
#else
	return false;
#endif
}

/* One page of some memory, whose map lock is held; mappings were returned, too, until 6.4. */
static inline long pguard_get_user_page(struct mm_struct *mm, unsigned long address,
					unsigned int flags, struct page **page)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return get_user_pages_remote(mm, address, 1, flags, page, NULL, NULL);
#else
	return get_user_pages_remote(mm, address, 1, flags, page, NULL);
#endif
}

/* A file in memory; the flags of its mappings are a structure since 7.0. */
static inline struct file *pguard_memory_file(const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	return shmem_file_setup(name, 0, VM_NORESERVE);
#else
	return shmem_file_setup(name, 0, mk_vma_flags(VMA_NORESERVE_BIT));
#endif
}

/*
 * Uprobes have a handle, a way to take many off at once, and filters without
 * a context since 6.12 (commits 3c83a9ad0295, 04b01625da13, 59da880afed2);
 * handlers have a word of their own since 6.13 (da09a9e0c3ea).  Before, each
 * one that was taken off was waited for by itself, which costs nothing there.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define PGUARD_UPROBE_FILTER_ARGS \
	struct uprobe_consumer *self, enum uprobe_filter_ctx context, struct mm_struct *mm

static inline struct uprobe *pguard_uprobe_register(struct inode *inode, loff_t offset,
						    struct uprobe_consumer *consumer)
{
	return ERR_PTR(uprobe_register(inode, offset, consumer));
}

static inline void pguard_uprobe_unregister(struct uprobe *unused, struct inode *inode,
					    loff_t offset, struct uprobe_consumer *consumer)
{
	uprobe_unregister(inode, offset, consumer);
}

static inline void pguard_uprobe_sync(void)
{
}

/*
 * What comes behind a consumer in the order of calls, and what that is for the last one, to be
 * asked for just after it was registered.
 */
static inline const void *pguard_uprobe_next(const struct uprobe_consumer *consumer)
{
	return READ_ONCE(consumer->next);
}

static inline const void *pguard_uprobe_end(const struct uprobe_consumer *consumer)
{
	return NULL;
}
#else
#define PGUARD_UPROBE_FILTER_ARGS struct uprobe_consumer *self, struct mm_struct *mm

static inline struct uprobe *pguard_uprobe_register(struct inode *inode, loff_t offset,
						    struct uprobe_consumer *consumer)
{
	return uprobe_register(inode, offset, 0, consumer);
}

static inline void pguard_uprobe_unregister(struct uprobe *uprobe, struct inode *inode,
					    loff_t offset, struct uprobe_consumer *consumer)
{
	uprobe_unregister_nosync(uprobe, consumer);
}

/* None of the handlers that were taken off runs any more. */
static inline void pguard_uprobe_sync(void)
{
	uprobe_unregister_sync();
}

/*
 * The list is closed by its head, in the kernel's own struct uprobe.  A new consumer is put
 * behind the head, and has that before it.  One that was added in between, and is taken for
 * the head then, never comes to stand behind it: so it never seems to be the last.
 */
static inline const void *pguard_uprobe_next(const struct uprobe_consumer *consumer)
{
	return READ_ONCE(consumer->cons_node.next);
}

static inline const void *pguard_uprobe_end(const struct uprobe_consumer *consumer)
{
	return READ_ONCE(consumer->cons_node.prev);
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define PGUARD_UPROBE_HANDLER_ARGS struct uprobe_consumer *self, struct pt_regs *regs
#else
#define PGUARD_UPROBE_HANDLER_ARGS \
	struct uprobe_consumer *self, struct pt_regs *regs, __u64 *unused
#endif

/*
 * Work queues say whether they are of a CPU each, and the system's unbound one has another name,
 * since 6.17 (commits 930c2ea566af, 128ea9f6ccfb); 7.x warns about the absence of the first.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define WQ_PERCPU	0
#define system_dfl_wq	system_unbound_wq
#endif

/* Each CPU's interrupts of its timer; an array of counts since 7.2 at the latest. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define PGUARD_TIMER_IRQS	irq_stat.apic_timer_irqs
#else
#define PGUARD_TIMER_IRQS	irq_stat.counts[IRQ_COUNT_APIC_TIMER]
#endif

/* Joining a group by capability: 6.7, and stable kernels (e03781879a0d). */
#ifndef GENL_MCAST_CAP_SYS_ADMIN
#error "perfguard needs a kernel with GENL_MCAST_CAP_SYS_ADMIN (6.1.68, 6.6.7 or newer)"
#endif

#endif /* !__ASSEMBLY__ */
#endif /* _KMOD_COMPAT_H */
