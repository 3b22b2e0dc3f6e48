/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that reads files which nobody vouches for, and can do nothing else.
 */
#ifndef _USER_BINARY_HELPER_CONFINE_H
#define _USER_BINARY_HELPER_CONFINE_H

enum {
	CONFINE_SOCKET = 3, /* the descriptors that it keeps */
	CONFINE_FILE = 4,
};

/*
 * Confine this process, a child that was just forked, for good.  Afterwards it has the
 * descriptors @socket and @file, by the numbers above, and /dev/null; no
 * capabilities; 512 MiB of memory more than its parent had, and @cpu_s of CPU time.
 * It may read what it has, and send and receive by the socket.  Other system calls fail.
 * It ends with its parent.  Returns 0 or a negative errno; then it must end.
 */
int confine(int socket, int file, unsigned int cpu_s);

#endif /* _USER_BINARY_HELPER_CONFINE_H */
