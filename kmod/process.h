/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The watched processes, by thread group id; and the table of bytes in which
 * the hook's stub looks whether the current task may be in one.
 */
#ifndef _PGUARD_PROCESS_H
#define _PGUARD_PROCESS_H

#include <linux/rculist.h>
#include <linux/types.h>

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
 * One byte for each value of the low 16 bits of a thread group id: the number
 * of watched processes with these bits.  A process that shares its bits with a
 * watched one takes the long way and is let pass there.  At most 64 process
 * ids share their low bits (PID_MAX_LIMIT is 2^22), so no byte overflows.
 */
#define PGUARD_NR_SLOTS	65536
extern u8 pguard_process_slots[PGUARD_NR_SLOTS];

int pguard_process_add(struct pguard_target *target, struct task_struct *task);
int pguard_process_add_like(pid_t parent, struct task_struct *child);
void pguard_process_del(pid_t tgid);
void pguard_process_del_all(struct pguard_target *target);
struct pguard_image *pguard_process_image_get(pid_t tgid);
bool pguard_process_has_mm(const struct pguard_target *target, struct mm_struct *mm);
u64 pguard_process_cpu(const struct pguard_target *target);
int pguard_process_walk(unsigned long position[2],
			int (*call)(const struct pguard_process *, void *),
			void *argument);

#endif /* _PGUARD_PROCESS_H */
