/* SPDX-License-Identifier: GPL-2.0 */
/* A copy of the program that runs, in a file of its own: another target. */
#ifndef _PGUARD_COPY_H
#define _PGUARD_COPY_H

#include <sys/types.h>

/* All end the program with a message if they fail. */

/* Run a copy with @word as its argument, until it is in copy_wait(). */
pid_t copy_begin(const char *word);
/* In the copy: it is ready; returns when it is to end, as when the first program has. */
void copy_wait(void);
/* Kill it, and see that it ended well. */
void copy_end(pid_t copy);

#endif /* _PGUARD_COPY_H */
