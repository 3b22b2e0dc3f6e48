// SPDX-License-Identifier: GPL-2.0

#include "target/arguments.h"

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

/*
 * Of another process nothing is waited for: neither a page nor, for more than some milliseconds, the
 * memory's lock.
 */
static int copy(struct task_struct *task, struct mm_struct *mm, unsigned long at, char *text,
		size_t len)
{
	u32 tries = 5;

	if (task == current)
		return access_process_vm(task, at, text, len, 0);
	while (!mmap_read_trylock(mm)) {
		if (!--tries)
			return -EAGAIN;
		usleep_range(500, 1000);
	}
	mmap_read_unlock(mm);
	return access_process_vm(task, at, text, len, FOLL_NOFAULT);
}

/**
 * pguard_arguments_read() - read the arguments of a process
 * @ret: free it in any case
 * @task: a thread of it; current may wait for its own pages
 * @mm: its memory; stays
 *
 * Context: may sleep; only current with faults.
 * Return: 0; -EFAULT if they are not in memory; -EAGAIN; -ENOMEM.
 */
int pguard_arguments_read(struct pguard_arguments *ret, struct task_struct *task,
			  struct mm_struct *mm)
{
	unsigned long start, end;
	size_t i;
	int nr;

	*ret = (struct pguard_arguments){ };
	spin_lock(&mm->arg_lock);
	start = mm->arg_start;
	end = mm->arg_end;
	spin_unlock(&mm->arg_lock);
	if (end <= start)
		return 0;
	ret->len = min_t(size_t, end - start, PGUARD_MAX_ARGUMENTS);
	ret->text = kvmalloc(ret->len, GFP_KERNEL | __GFP_NOWARN);
	if (!ret->text)
		return -ENOMEM;
	nr = copy(task, mm, start, ret->text, ret->len);
	if (nr != ret->len)
		return nr < 0 ? nr : -EFAULT;
	for (i = 0; i < ret->len; i++)
		if (!ret->text[i])
			ret->text[i] = ' ';
	return 0;
}

void pguard_arguments_free(struct pguard_arguments *arguments)
{
	kvfree(arguments->text);
}
