/* SPDX-License-Identifier: GPL-2.0 */
/*
 * By what a process or a program is watched already, for who wants to watch it, too.
 */
#ifndef _USER_APP_COMMON_WATCHED_H
#define _USER_APP_COMMON_WATCHED_H

#include <stdbool.h>
#include <sys/stat.h>

#include "link/link.h"

/* By a process, or else by the file of a program. */
struct watched_subject {
	uint32_t pid;
	dev_t dev;
	ino_t inode;
	const char *path; /* to be named by */
	bool is_held; /* only targets count that somebody audits or trains on */
};

/*
 * Report what cannot be done, as "cannot train", because of a target, and how it is ended.
 * Return: false if there is no such target; then nothing was reported.
 */
bool watched_report(struct link *link, const struct watched_subject *subject, const char *what);

#endif /* _USER_APP_COMMON_WATCHED_H */
