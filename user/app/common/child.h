/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that is started under watch: the process is made first, and runs
 * the program only on request.
 */
#ifndef _USER_APP_COMMON_CHILD_H
#define _USER_APP_COMMON_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0: none */
	int go; /* what is written here releases the process */
	int failure; /* the errno of exec comes from here, or its end */
	bool has_ended;
	int status; /* of waitpid(), once it has ended */
};

/*
 * Make the process.  It stays in our process group, so it gets the terminal's
 * signals as we do.  @to_stderr sends its output there, to keep ours apart.
 * Returns 0 or a negative errno.
 */
int child_fork(struct child *child, const char *path, char **argv, bool to_stderr);

/* Let it run the program.  Returns 0 or the negative errno of exec. */
int child_go(struct child *child);

/* Return: true if it has ended; fills in status. */
bool child_has_ended(struct child *child);

/* End it if it still runs: SIGTERM, and 5 seconds later SIGKILL. */
void child_stop(struct child *child);

#endif /* _USER_APP_COMMON_CHILD_H */
