/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The signals that end a verb, and those of a child, as a file to poll.
 */
#ifndef _USER_APP_COMMON_SIGNALS_H
#define _USER_APP_COMMON_SIGNALS_H

/*
 * Block SIGINT, SIGTERM, SIGHUP and SIGCHLD.  Returns a descriptor, readable
 * when one of them came, or a negative errno.
 */
int signals_open(void);

/* The next signal that came, or 0. */
int signals_next(int fd);

/* Let a write to a reader that is gone fail, and not end us with a child left. */
void signals_ignore_pipe(void);

/* Let it end us again, unless whoever started us ignores it. */
void signals_restore_pipe(void);

/* For a child before exec: let it have its signals as we got them. */
void signals_restore(void);

#endif /* _USER_APP_COMMON_SIGNALS_H */
