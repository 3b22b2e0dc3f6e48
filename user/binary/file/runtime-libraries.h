/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The C runtime among the files of a process: the dynamic linker and the C
 * library with its parts.  Their functions are called from everywhere and do
 * not distinguish one kind of work from another.
 */
#ifndef _USER_BINARY_FILE_RUNTIME_LIBRARIES_H
#define _USER_BINARY_FILE_RUNTIME_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/file/dynamic.h"

struct object;

enum {
	RUNTIME_NAME_MAX = DYNAMIC_STRING_MAX, /* with the NUL */
};

/* A file that may be one. */
struct runtime_candidate {
	char soname[RUNTIME_NAME_MAX]; /* its own; the path's last part if it has none */
	char file[RUNTIME_NAME_MAX]; /* last part of its path */
	char interpreter[RUNTIME_NAME_MAX]; /* last part of its path; "" without one */
	bool has_private; /* needs symbols that a C library reserves for its own parts */
};

void runtime_libraries_read(const struct object *object, struct runtime_candidate *ret);

/*
 * Set @ret for those of @nr files, the program first, that are runtime libraries.
 * A program that is linked statically has none.
 */
void runtime_libraries_find(const struct runtime_candidate *files, uint32_t nr, bool *ret);

#endif /* _USER_BINARY_FILE_RUNTIME_LIBRARIES_H */
