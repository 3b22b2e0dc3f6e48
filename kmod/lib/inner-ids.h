/* SPDX-License-Identifier: GPL-2.0 */
/* What a task is called where it is: in its own pid namespace. */
#ifndef _KMOD_LIB_INNER_IDS_H
#define _KMOD_LIB_INNER_IDS_H

#include <linux/types.h>

struct task_struct;

/**
 * struct pguard_inner_ids - ids of a thread in its pid namespace
 * @pid: of the process; 0 if it is in the first namespace, or gone
 * @tid: of the thread; the same
 */
struct pguard_inner_ids {
	u32 pid;
	u32 tid;
};

struct pguard_inner_ids pguard_inner_ids_of(struct task_struct *task);

#endif /* _KMOD_LIB_INNER_IDS_H */
