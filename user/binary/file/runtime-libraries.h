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

struct object;

/* A file that may be one.  The names belong to the object. */
struct runtime_candidate {
	const char *soname; /* its own; the path's last part if it has none */
	const char *file; /* last part of its path, or NULL */
	const char *interpreter; /* last part of its path; NULL without one */
	bool has_private; /* needs symbols that a C library reserves for its own parts */
};

void runtime_libraries_read(const struct object *object, struct runtime_candidate *ret);

/*
 * Set @ret for those of @nr files, the program first, that are runtime libraries.
 * A program that is linked statically has none.
 */
void runtime_libraries_find(const struct runtime_candidate *files, uint32_t nr, bool *ret);

#endif /* _USER_BINARY_FILE_RUNTIME_LIBRARIES_H */
