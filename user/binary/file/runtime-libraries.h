/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a process's files are the C runtime: the dynamic linker and the C
 * library with its parts.  Their functions are called from everywhere and tell
 * nothing of what a program does.
 */
#ifndef _USER_BINARY_FILE_RUNTIME_LIBRARIES_H
#define _USER_BINARY_FILE_RUNTIME_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

struct object;

/* What a file needs to run.  The names belong to the object. */
struct needed {
	const char *soname; /* its own; the path's last part if it has none */
	const char *file; /* last part of its path, or NULL */
	const char *interpreter; /* last part of its path; NULL without one */
	bool has_private; /* what a C library offers only to its own parts */
};

void needed_read(const struct object *object, struct needed *ret);

/*
 * Judge @nr files, the program first.  A program that is linked statically has
 * no such files.
 */
void needed_runtime(const struct needed *files, uint32_t nr, bool *ret);

#endif /* _USER_BINARY_FILE_RUNTIME_LIBRARIES_H */
