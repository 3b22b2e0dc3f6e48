/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that have just executed a file, and come to a target if their arguments are right. */
#ifndef _KMOD_TARGET_NEWCOMER_H
#define _KMOD_TARGET_NEWCOMER_H

#include <linux/types.h>

struct file;
struct task_struct;

bool pguard_newcomer_expect(const struct file *exe, struct task_struct *task);
bool pguard_newcomer_is(pid_t tgid);

#endif /* _KMOD_TARGET_NEWCOMER_H */
