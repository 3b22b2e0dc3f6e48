// SPDX-License-Identifier: GPL-2.0

#include "stack.h"

#include "compat.h"
#include "lock.h"
#include "task.h"

#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

static void grave_work(struct work_struct *work);
static LLIST_HEAD(grave);
static DECLARE_WORK(burial, grave_work);

/* An executable mapping while the mmap lock is held. */
struct exec_range {
	unsigned long start;
	unsigned long end;
	struct vm_area_struct *vma;
	bool hit;
};

static void regs_copy(u64 to[PGUARD_STACK_REGS], const struct pt_regs *from)
{
	const u64 regs[PGUARD_STACK_REGS] = {
		from->ax, from->dx, from->cx, from->bx, from->si, from->di,
		from->bp, from->sp, from->r8, from->r9, from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15, from->ip,
	};

	memcpy(to, regs, sizeof(regs));
}

/*
 * Another's memory map is not waited for, if it can be helped: a process that
 * is stuck with its map locked must not stop the watch over all others.
 * (access_process_vm() locks it again, and only a writer that comes just then
 * can hold it up.)
 */
static bool map_lock(struct mm_struct *mm)
{
	if (mm != current->mm)
		return mmap_read_trylock(mm);
	mmap_read_lock(mm);
	return true;
}

/* Bytes from @sp to the end of the stack it points into; 0 if it is none. */
static unsigned long stack_extent(struct mm_struct *mm, unsigned long sp)
{
	struct vm_area_struct *vma;
	unsigned long end = 0;

	if (!map_lock(mm))
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
	struct pguard_stack *stack = kvmalloc(struct_size(stack, bytes, size), GFP_KERNEL);

	if (!stack)
		return NULL;
	/* The bytes are written over, or cut off. */
	memset(stack, 0, sizeof(*stack));
	stack->at_ns = ktime_get_ns();
	stack->size = size;
	stack->full_size = min_t(unsigned long, extent, U32_MAX);
	/* An interrupt or exception would have put a negative number there. */
	stack->syscall = (long)regs->orig_ax >= 0 ? regs->orig_ax : PGUARD_NO_SYSCALL;
	stack->lock = pguard_lock_address(regs);
	regs_copy(stack->regs, regs);
	return stack;
}

/* Thousands of words of a stack are looked at, and most point nowhere: no bsearch(). */
static void range_mark(struct exec_range *ranges, u32 nr, u64 word)
{
	u32 low = 0, high = nr;

	if (!nr || word < ranges[0].start || word >= ranges[nr - 1].end)
		return;
	while (low < high) {
		u32 middle = (low + high) / 2;

		if (word < ranges[middle].start) {
			high = middle;
		} else if (word >= ranges[middle].end) {
			low = middle + 1;
		} else {
			ranges[middle].hit = true;
			return;
		}
	}
}

static void mapping_set(struct pguard_mapping *mapping, const struct vm_area_struct *vma,
			char *buf)
{
	char *path;

	mapping->start = vma->vm_start;
	mapping->end = vma->vm_end;
	mapping->offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	if (!vma->vm_file)
		return;
	mapping->inode = file_inode(vma->vm_file)->i_ino;
	mapping->dev = new_encode_dev(file_inode(vma->vm_file)->i_sb->s_dev);
	path = file_path(vma->vm_file, buf, PATH_MAX);
	if (!IS_ERR(path))
		mapping->path = kstrdup(path, GFP_KERNEL);
}

/* The mappings are optional: without memory the stack goes without them. */
static void stack_add_mappings(struct pguard_stack *stack, struct mm_struct *mm)
{
	VMA_ITERATOR(vmi, mm, 0);
	/* Not zeroed: most programs have a few dozen. */
	struct exec_range *ranges = kvmalloc_array(PGUARD_STACK_MAPPINGS, sizeof(*ranges),
						   GFP_KERNEL);
	char *buf = kmalloc(PATH_MAX, GFP_KERNEL);
	struct vm_area_struct *vma;
	u32 nr = 0, hits = 0, i;

	if (!ranges || !buf || !map_lock(mm))
		goto out_free;
	for_each_vma(vmi, vma) {
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		ranges[nr++] = (struct exec_range) { vma->vm_start, vma->vm_end, vma };
		if (nr == PGUARD_STACK_MAPPINGS)
			break;
	}
	range_mark(ranges, nr, stack->regs[PGUARD_STACK_REG_RIP]);
	for (i = 0; i < stack->size; i += sizeof(u64))
		range_mark(ranges, nr, *(u64 *)(stack->bytes + i));
	for (i = 0; i < nr; i++)
		hits += ranges[i].hit;
	stack->mappings = kvcalloc(hits, sizeof(*stack->mappings), GFP_KERNEL);
	stack->has_mappings = true;
	for (i = 0; i < nr && stack->mappings; i++)
		if (ranges[i].hit)
			mapping_set(&stack->mappings[stack->nr_mappings++],
				    ranges[i].vma, buf);
	mmap_read_unlock(mm);
out_free:
	kfree(buf);
	kvfree(ranges);
}

/**
 * pguard_stack_self() - copy current's stack
 * @regs: its user registers
 *
 * Context: current, may sleep and fault.
 * Return: the stack, to be freed by the caller; NULL for want of memory or if
 * there is no user memory.
 */
struct pguard_stack *pguard_stack_self(const struct pt_regs *regs)
{
	struct pguard_stack *stack;
	u32 left;

	if (!current->mm)
		return NULL;
	stack = stack_alloc(current->mm, regs);
	if (!stack)
		return NULL;
	stack->state = PERFGUARD_STACK_STATE_SELF;
	left = copy_from_user(stack->bytes, (void __user *)regs->sp, stack->size);
	stack->size = (stack->size - left) & ~7U;
	stack->nr_own = stack->size;
	stack_add_mappings(stack, current->mm);
	return stack;
}

/*
 * The user registers of a thread that is in the kernel.  They lie on its
 * kernel stack, which may go once it has passed its exit hook; the hook waits
 * for @state->lock.
 */
static bool regs_get(struct pguard_task *state, struct pt_regs *ret)
{
	bool alive;

	spin_lock(&state->lock);
	alive = !state->gone;
	if (alive)
		*ret = *task_pt_regs(state->task);
	spin_unlock(&state->lock);
	return alive;
}

/*
 * Copy another's memory as far as it is there.  A page on a stuck file system
 * must not stop the watch, so none is faulted in.  Of one that is missing, as in
 * a large buffer that was not filled yet, all bits are set: no address is such,
 * and no frame is taken for the thread's start by it.
 *
 * Return: bytes up to the last one that was there.
 */
static u32 read_present(struct task_struct *task, unsigned long addr, u8 *bytes, u32 size)
{
	u32 at = 0, end = 0, missing;
	int nr;

	while (at < size) {
		nr = access_process_vm(task, addr + at, bytes + at, size - at, FOLL_NOFAULT);
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
 * pguard_stack_read() - copy the stack of a thread that is in the kernel
 * @state: the thread; referenced by the caller
 *
 * The caller finds out afterwards whether the thread was there all the time.
 *
 * Context: may sleep; a worker.
 * Return: the stack, to be freed by the caller; NULL if the thread is gone or
 * memory is short.
 */
struct pguard_stack *pguard_stack_read(struct pguard_task *state)
{
	struct pguard_stack *stack = NULL;
	struct mm_struct *mm;
	struct pt_regs regs;

	mm = get_task_mm(state->task);
	if (!mm)
		return NULL;
	if (!regs_get(state, &regs))
		goto out_mm;
	stack = stack_alloc(mm, &regs);
	if (!stack)
		goto out_mm;
	stack->state = PERFGUARD_STACK_STATE_BLOCKED;
	stack->size = read_present(state->task, regs.sp, stack->bytes, stack->size) & ~7U;
	stack->nr_own = stack->size;
	stack->holder = pguard_lock_holder(state->task, &regs);
	stack_add_mappings(stack, mm);
out_mm:
	/* If it is the last reference, the watch has no time for the rest. */
	mmput_async(mm);
	return stack;
}

/* Bytes at the end of both stacks that are the same, at the same addresses. */
static u32 nr_common(const struct pguard_stack *a, const struct pguard_stack *b)
{
	u32 max = min(a->size, b->size), nr;

	if (a->regs[PGUARD_STACK_REG_RSP] + a->size != b->regs[PGUARD_STACK_REG_RSP] + b->size)
		return 0;
	for (nr = 0; nr < max; nr += sizeof(u64))
		if (*(u64 *)(a->bytes + a->size - nr - sizeof(u64)) !=
		    *(u64 *)(b->bytes + b->size - nr - sizeof(u64)))
			break;
	return nr;
}

/* A mapping's file does not change without the rest. */
static bool has_same_mappings(const struct pguard_stack *a, const struct pguard_stack *b)
{
	u32 i;

	if (a->nr_mappings != b->nr_mappings)
		return false;
	for (i = 0; i < a->nr_mappings; i++)
		if (memcmp(&a->mappings[i], &b->mappings[i],
			   offsetof(struct pguard_mapping, path)))
			return false;
	return true;
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
	ret->outer = outer;
	ret->has_mappings = !has_same_mappings(stack, outer);
	if (ret->has_mappings)
		stack->has_mappings = false;
	else
		ret->mappings = outer->mappings;
	stack->next = NULL;
	return ret;
}

static const struct pguard_stack *outer_find(const struct pguard_stack *list, u32 tid)
{
	while (list && (list->tid != tid || list->outer))
		list = list->next;
	return list;
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

/**
 * pguard_stack_append() - add stacks behind those of a list
 *
 * Context: any; what guards the list is held.
 */
void pguard_stack_append(struct pguard_stack **list, struct pguard_stack *stack)
{
	while (*list)
		list = &(*list)->next;
	*list = stack;
}

/**
 * pguard_stack_free() - free a stack and those behind it
 *
 * Context: may sleep (kvfree).
 */
void pguard_stack_free(struct pguard_stack *list)
{
	struct pguard_stack *stack;
	u32 i;

	while ((stack = list)) {
		list = stack->next;
		for (i = 0; stack->has_mappings && i < stack->nr_mappings; i++)
			kfree(stack->mappings[i].path);
		if (stack->has_mappings)
			kvfree(stack->mappings);
		kvfree(stack);
	}
}

static void grave_work(struct work_struct *work)
{
	struct pguard_stack *stack, *next;

	llist_for_each_entry_safe(stack, next, llist_del_all(&grave), grave_node)
		pguard_stack_free(stack);
}

/**
 * pguard_stack_bury() - pguard_stack_free() from where nothing may sleep
 *
 * Context: any.
 */
void pguard_stack_bury(struct pguard_stack *list)
{
	if (list && llist_add(&list->grave_node, &grave))
		schedule_work(&burial);
}

/* All that was buried is freed on return. */
void pguard_stack_bury_wait(void)
{
	flush_work(&burial);
}

/* Memory that a stack and those behind it take, about. */
size_t pguard_stack_footprint(const struct pguard_stack *list)
{
	const struct pguard_stack *stack;
	size_t bytes = 0;

	for (stack = list; stack; stack = stack->next)
		bytes += struct_size(stack, bytes, stack->nr_own) +
			 stack->has_mappings * stack->nr_mappings *
			 (sizeof(*stack->mappings) + 64);
	return bytes;
}
