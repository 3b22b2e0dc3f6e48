/* SPDX-License-Identifier: GPL-2.0 */
/* The arguments of a process, as they are in its memory. */
#ifndef _KMOD_TARGET_ARGUMENTS_H
#define _KMOD_TARGET_ARGUMENTS_H

#include <linux/types.h>

struct mm_struct;
struct task_struct;

/* Bytes of them that are looked at. */
enum { PGUARD_MAX_ARGUMENTS = 64 * 1024 };

/**
 * struct pguard_arguments - the arguments of a process, a space between two
 * @text: kvmalloc'ed; NULL if there are none
 * @len: its length
 */
struct pguard_arguments {
	char *text;
	size_t len;
};

int pguard_arguments_read(struct pguard_arguments *ret, struct task_struct *task,
			  struct mm_struct *mm);
void pguard_arguments_free(struct pguard_arguments *arguments);

#endif /* _KMOD_TARGET_ARGUMENTS_H */
