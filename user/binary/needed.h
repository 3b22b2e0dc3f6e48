/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a file needs to run: its interpreter and libraries, by name.
 */
#ifndef _PGUARD_NEEDED_H
#define _PGUARD_NEEDED_H

#include <stdbool.h>
#include <stdint.h>

struct object;

enum {
	NEEDED_MAX = 256, /* names; what is beyond is left out */
};

/* The names belong to the object. */
struct needed {
	const char *soname; /* its own; the path's last part if it has none */
	const char *interpreter; /* last part of its path; NULL without one */
	const char *names[NEEDED_MAX];
	uint32_t nr;
};

void needed_read(const struct object *object, struct needed *ret);

/*
 * Which of these files, the program first, are the C runtime: the program's
 * interpreter, and what needs it directly and nothing that is not of the
 * runtime.  Its functions are called from everywhere and tell nothing of what a
 * program does.
 */
void needed_runtime(const struct needed *files, uint32_t nr, bool *ret);

#endif /* _PGUARD_NEEDED_H */
