// SPDX-License-Identifier: GPL-2.0

#include "report/stack.h"

#include "target/thread.h"

#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

/* Some are freed at once: to wake a worker takes as much as to free ten. */
enum { BURIAL = HZ / 8 };

static void free_work(struct work_struct *work);
static LLIST_HEAD(free_later);
static DECLARE_DELAYED_WORK(burial, free_work);

static void regs_copy(u64 to[PGUARD_STACK_REGS], const struct pt_regs *from)
{
	const u64 regs[PGUARD_STACK_REGS] = {
		from->ax, from->dx, from->cx, from->bx, from->si, from->di,
		from->bp, from->sp, from->r8, from->r9, from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15, from->ip,
	};

	memcpy(to, regs, sizeof(regs));
}

/* Bytes from @sp to the end of the stack it points into; 0 if it is none. */
static unsigned long stack_extent(struct mm_struct *mm, unsigned long sp)
{
	struct vm_area_struct *vma;
	unsigned long end = 0;

	/* access_process_vm() locks it again; only a writer that comes just then holds it up. */
	if (!pguard_mapping_lock(mm))
		return 0;
	vma = find_vma(mm, sp);
	if (vma && vma->vm_start <= sp && (vma->vm_flags & VM_READ))
		end = vma->vm_end;
	/* Above the first frame are the arguments and the environment. */
	if (end > mm->start_stack && sp < mm->start_stack)
		end = mm->start_stack;
	mmap_read_unlock(mm);
	return end ? end - sp : 0;
}

static struct pguard_stack *stack_alloc(struct mm_struct *mm, const struct pt_regs *regs)
{
	unsigned long extent = stack_extent(mm, regs->sp);
	u32 size = min_t(unsigned long, extent, PGUARD_STACK_MAX) & ~7UL;
	struct pguard_stack *stack = kvmalloc(struct_size(stack, bytes, size),
					      GFP_KERNEL | __GFP_NOWARN);

	if (!stack)
		return NULL;
	/* The bytes are written over, or cut off. */
	memset(stack, 0, sizeof(*stack));
	stack->at_ns = ktime_get_ns();
	stack->size = size;
	stack->room = size;
	stack->full_size = min_t(unsigned long, extent, U32_MAX);
	/* An interrupt or exception would have put a negative number there. */
	stack->syscall = (long)regs->orig_ax >= 0 ? regs->orig_ax : PGUARD_NO_SYSCALL;
	stack->lock = pguard_lock_holder_address(regs);
	regs_copy(stack->regs, regs);
	return stack;
}

/* Four words; mostly they are. */
static bool are_same(const u64 *a, const u64 *b)
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]));
}

/* Bytes at the end of both stacks that are the same, at the same addresses. */
static u32 nr_common(const struct pguard_stack *a, const struct pguard_stack *b)
{
	const u64 *a_end = (const u64 *)(a->bytes + a->size);
	const u64 *b_end = (const u64 *)(b->bytes + b->size);
	s32 max = min(a->size, b->size) / sizeof(u64), nr = 0;

	if (a->regs[PGUARD_STACK_REG_RSP] + a->size != b->regs[PGUARD_STACK_REG_RSP] + b->size)
		return 0;
	while (nr + 4 <= max && are_same(a_end - nr - 4, b_end - nr - 4))
		nr += 4;
	while (nr < max && a_end[-nr - 1] == b_end[-nr - 1])
		nr++;
	return nr * sizeof(u64);
}

static const struct pguard_stack *outer_find(const struct pguard_stack *list, u32 tid)
{
	while (list && (list->tid != tid || list->outer))
		list = list->next;
	return list;
}

/*
 * What a stack has in common with one that is kept of its thread was searched for mappings then.
 * Return: bytes that were not.
 */
static u32 search_kept(struct pguard_mapping_search *search, struct pguard_thread *thread,
		       const struct pguard_stack *stack)
{
	const struct pguard_lateness *late;
	const struct pguard_stack *outer;
	u32 size = stack->size;

	spin_lock(&thread->lock);
	late = READ_ONCE(thread->lateness);
	outer = late ? outer_find(late->history.first, 0) : NULL;
	if (outer && outer->mappings && pguard_mapping_search_known(search, outer->mappings))
		size -= nr_common(stack, outer);
	spin_unlock(&thread->lock);
	return size;
}

/* So many bytes were copied: without the room of the others, if there is memory for that. */
static struct pguard_stack *stack_fit(struct pguard_stack *stack, u32 size)
{
	struct pguard_stack *ret;

	size &= ~7U;
	stack->size = size;
	stack->nr_own = size;
	if (size == stack->room)
		return stack;
	ret = kvmalloc(struct_size(ret, bytes, size), GFP_KERNEL | __GFP_NOWARN);
	if (!ret)
		return stack;
	memcpy(ret, stack, struct_size(ret, bytes, size));
	ret->room = size;
	kvfree(stack);
	return ret;
}

/* All bytes were copied.  The mappings are optional: without memory it goes without them. */
static void stack_end(struct pguard_stack *stack, struct mm_struct *mm,
		      struct pguard_thread *thread)
{
	struct pguard_mapping_search *search = pguard_mapping_search_begin(mm);
	u32 size;

	if (!search)
		return;
	size = search_kept(search, thread, stack);
	pguard_mapping_search_word(search, stack->regs[PGUARD_STACK_REG_RIP]);
	pguard_mapping_search_words(search, (u64 *)stack->bytes, size / sizeof(u64));
	stack->mappings = pguard_mapping_search_end(search);
}

/*
 * The user registers of a thread that is in the kernel.  They lie on its
 * kernel stack, which may go once it has passed its exit hook; the hook waits
 * for @thread->lock.
 */
static bool regs_get(struct pguard_thread *thread, struct pt_regs *ret)
{
	bool alive;

	spin_lock(&thread->lock);
	alive = !thread->gone;
	if (alive)
		*ret = *task_pt_regs(thread->task);
	spin_unlock(&thread->lock);
	return alive;
}

/* Copy a task's memory up to the first page that is not there.  Return: bytes, or an error. */
static int copy_present(struct task_struct *task, unsigned long addr, void *bytes, u32 size)
{
	const void __user *place = (const void __user *)addr;
	u32 left;

	if (task != current)
		return access_process_vm(task, addr, bytes, size, FOLL_NOFAULT);
	if (!access_ok(place, size))
		return -EFAULT;
	pagefault_disable();
	left = __copy_from_user_inatomic(bytes, place, size);
	pagefault_enable();
	return size - left;
}

/*
 * Copy a task's memory as far as it is there.  A page on a stuck file system
 * must stop neither the watch nor the thread, so none is faulted in.  Of one that is
 * missing, as in a large buffer that was not filled yet, all bits are set: no address is
 * such, and no frame is taken for the thread's start by it.
 *
 * Return: bytes up to the last one that was there.
 */
static u32 read_present(struct task_struct *task, unsigned long addr, u8 *bytes, u32 size)
{
	u32 at = 0, end = 0, missing;
	int nr;

	while (at < size) {
		nr = copy_present(task, addr + at, bytes + at, size - at);
		if (nr > 0) {
			at += nr;
			end = at;
			continue;
		}
		missing = min_t(u32, size - at, PAGE_SIZE - offset_in_page(addr + at));
		memset(bytes + at, 0xff, missing);
		at += missing;
	}
	return end;
}

/**
 * pguard_stack_self() - copy current's stack
 * @thread: current's
 * @regs: its user registers
 *
 * Pages that are not there are left out: current may never come to them.
 *
 * Context: current, may sleep, so not in the handler of a probe; does not fault.
 * Return: the stack, to be freed by the caller; NULL for lack of memory or if
 * there is no user memory.
 */
struct pguard_stack *pguard_stack_self(struct pguard_thread *thread, const struct pt_regs *regs)
{
	struct pguard_stack *stack;
	u32 size;

	if (!current->mm)
		return NULL;
	stack = stack_alloc(current->mm, regs);
	if (!stack)
		return NULL;
	stack->state = PERFGUARD_STACK_STATE_SELF;
	size = read_present(current, regs->sp, stack->bytes, stack->size);
	stack = stack_fit(stack, size);
	stack_end(stack, current->mm, thread);
	return stack;
}

/**
 * pguard_stack_read() - copy the stack of a thread that is in the kernel
 * @thread: the thread; referenced by the caller
 *
 * The caller finds out afterwards whether the thread was there all the time.
 *
 * Context: may sleep; a worker.
 * Return: the stack, to be freed by the caller; NULL if the thread is gone or
 * memory is short.
 */
struct pguard_stack *pguard_stack_read(struct pguard_thread *thread)
{
	struct pguard_stack *stack = NULL;
	struct mm_struct *mm;
	struct pt_regs regs;
	u32 size;

	mm = get_task_mm(thread->task);
	if (!mm)
		return NULL;
	if (!regs_get(thread, &regs))
		goto out_mm;
	stack = stack_alloc(mm, &regs);
	if (!stack)
		goto out_mm;
	stack->state = pguard_account_stop_cause(thread->task) ? PERFGUARD_STACK_STATE_STOPPED
							       : PERFGUARD_STACK_STATE_BLOCKED;
	size = read_present(thread->task, regs.sp, stack->bytes, stack->size);
	stack->holder = pguard_lock_holder(thread->task, &regs);
	stack = stack_fit(stack, size);
	stack_end(stack, mm, thread);
out_mm:
	/* If it is the last reference, the watch has no time for the rest. */
	mmput_async(mm);
	return stack;
}

/* A stack without what it has in common with @outer; NULL if that is little. */
static struct pguard_stack *stack_shrink(struct pguard_stack *stack,
					 const struct pguard_stack *outer, gfp_t gfp)
{
	u32 common = nr_common(stack, outer), own = stack->size - common;
	struct pguard_stack *ret;

	if (common < sizeof(*stack))
		return NULL;
	ret = kmalloc(struct_size(ret, bytes, own), gfp | __GFP_NOWARN);
	if (!ret)
		return NULL;
	*ret = *stack;
	memcpy(ret->bytes, stack->bytes, own);
	ret->nr_own = own;
	ret->room = own;
	ret->outer = outer;
	if (pguard_mappings_are_same(stack->mappings, outer->mappings))
		ret->mappings = outer->mappings;
	pguard_mappings_get(ret->mappings);
	stack->next = NULL;
	return ret;
}

/**
 * pguard_stack_pack() - leave out of stacks what those of a list have already
 * @list: of the same unit; they are to be put behind it
 * @stacks: all their bytes are own; each one that can be is replaced
 * @gfp: as the caller's context allows
 *
 * Context: any that @gfp allows; what guards the list is held.
 * Return: what was replaced, to be freed by the caller.
 */
struct pguard_stack *pguard_stack_pack(const struct pguard_stack *list,
				       struct pguard_stack **stacks, gfp_t gfp)
{
	struct pguard_stack *replaced = NULL, *packed;
	const struct pguard_stack *outer;

	for (; *stacks; stacks = &(*stacks)->next) {
		outer = outer_find(list, (*stacks)->tid);
		packed = outer ? stack_shrink(*stacks, outer, gfp) : NULL;
		if (!packed)
			continue;
		pguard_stack_append(&replaced, *stacks);
		*stacks = packed;
	}
	return replaced;
}

/* Add stacks behind those of a list.  Context: any; what guards the list is held. */
void pguard_stack_append(struct pguard_stack **list, struct pguard_stack *stack)
{
	while (*list)
		list = &(*list)->next;
	*list = stack;
}

/* Free a stack and those behind it.  Context: may sleep (kvfree). */
void pguard_stack_free(struct pguard_stack *list)
{
	struct pguard_stack *stack;

	while ((stack = list)) {
		list = stack->next;
		pguard_mappings_put(stack->mappings);
		kvfree(stack);
	}
}

static void free_work(struct work_struct *work)
{
	struct pguard_stack *stack, *next;

	llist_for_each_entry_safe(stack, next, llist_del_all(&free_later), grave_node)
		pguard_stack_free(stack);
}

/* The same from where nothing may sleep.  Context: any. */
void pguard_stack_free_later(struct pguard_stack *list)
{
	if (list && llist_add(&list->grave_node, &free_later))
		schedule_delayed_work(&burial, BURIAL);
}

/* All that was buried is freed on return. */
void pguard_stack_free_wait(void)
{
	flush_delayed_work(&burial);
}

/* Memory that a stack and those behind it take, about. */
size_t pguard_stack_footprint(const struct pguard_stack *list)
{
	const struct pguard_stack *stack;
	size_t bytes = 0;

	for (stack = list; stack; stack = stack->next) {
		bytes += struct_size(stack, bytes, stack->room);
		/* Those that it shares with the stack that it builds on count there. */
		if (stack->mappings && !(stack->outer && stack->outer->mappings == stack->mappings))
			bytes += stack->mappings->nr * (sizeof(stack->mappings->list[0]) + 64);
	}
	return bytes;
}
