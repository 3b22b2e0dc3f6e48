/* SPDX-License-Identifier: GPL-2.0 */
/* The processes that are in a scope now, and the files that they execute. */
#ifndef _USER_APP_COMMON_SCOPE_PROCESSES_H
#define _USER_APP_COMMON_SCOPE_PROCESSES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "data/armed.h"

struct scope_process {
	uint32_t pid;
	uint32_t parent;
	dev_t dev; /* of what it executes, like the next two; 0: that of overlays */
	ino_t inode;
	char *path; /* as it sees it */
};

struct scope_processes {
	struct scope_process *of; /* by rising id */
	uint32_t nr;
};

/* All of them, of a scope that was found.  Returns 0 or -ENOMEM; free them in either case. */
int scope_processes_get(const struct armed_scope *scope, struct scope_processes *ret);
void scope_processes_free(struct scope_processes *processes);

/* The first of them that executes @exe, which is as for scope_processes_open(), or NULL. */
const struct scope_process *scope_processes_find(const struct scope_processes *processes,
						 const char *exe);

/* Report that there is none.  Returns CMD_FAILED. */
int scope_processes_none(const struct armed_scope *scope);

/* Which file @fd is, as for processes.  Returns false if that is not known. */
bool scope_file_identify(int fd, dev_t *ret_dev, ino_t *ret_inode);

/*
 * Open what they execute, if that is one file.  @exe is how it is called, its path or its last
 * part; NULL: whatever it is.  Writes its name to @path.
 * Returns the descriptor; -ENOENT: none does; another error after it was reported.
 */
int scope_processes_open(const struct scope_processes *processes, const char *exe,
			 char path[PATH_MAX]);

/*
 * Limit a scope to @nr of the processes that execute the file @fd, by chance.  Those that have
 * started others of them, as a master has, are left out if there are enough without them.
 * Returns 0 or -ESRCH: there are not so many.
 */
int scope_processes_choose(const struct scope_processes *processes, int fd, uint32_t nr,
			   struct armed_scope *scope);

#endif /* _USER_APP_COMMON_SCOPE_PROCESSES_H */
