/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The watched processes, by thread group id; and the bits by which the hook's
 * stub says whether the current task may be in one.
 */
#ifndef _KMOD_TARGET_PROCESS_H
#define _KMOD_TARGET_PROCESS_H

#include <linux/bitops.h>
#include <linux/rculist.h>
#include <linux/types.h>

struct inode;
struct mm_struct;
struct pguard_image;
struct pguard_target;
struct task_struct;

struct pguard_process {
	struct hlist_node node;
	struct hlist_node mm_node;
	struct pguard_image *image;	/* holds a reference */
	const struct mm_struct *mm;	/* to compare with, nothing else */
	u64 cpu;			/* time it had used when it came, ns */
	pid_t tgid;
	struct rcu_head rcu;
};

/*
 * A bit for each value of the low 16 bits of a thread group id: whether some process
 * with these is watched.  A process that shares its slot with a watched one takes
 * the long way and is let pass there.  Written under pguard_images_lock.
 */
enum { PGUARD_NR_SLOTS = 1 << 16 };
extern unsigned long pguard_process_slots[BITS_TO_LONGS(PGUARD_NR_SLOTS)];

/* The slot of a thread group id. */
static inline u32 pguard_process_slot(pid_t tgid)
{
	return (u16)tgid;
}

int pguard_process_add(struct pguard_target *target, struct task_struct *task);
int pguard_process_add_like(pid_t parent, struct task_struct *child);
void pguard_process_del(pid_t tgid);
void pguard_process_del_all(struct pguard_target *target);
struct pguard_image *pguard_process_image_get(pid_t tgid);
bool pguard_process_mm_executes(struct mm_struct *mm, const struct inode *inode);
bool pguard_process_has_mm(const struct pguard_target *target, struct mm_struct *mm);
u64 pguard_process_cpu(const struct pguard_target *target);
int pguard_process_walk(unsigned long position[2],
			int (*call)(const struct pguard_process *, void *), void *argument);

#endif /* _KMOD_TARGET_PROCESS_H */
