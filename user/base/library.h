/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Libraries that few verbs need, and that bring dozens of others with them: each is loaded when it is
 * needed, so that all other runs neither wait for it nor have its code in them.
 */
#ifndef _USER_BASE_LIBRARY_H
#define _USER_BASE_LIBRARY_H

struct library {
	const char *soname; /* of the one that this was built with */
	void *handle; /* NULL: not loaded */
};

/* Load it, if it is not.  Returns 0, or -ELIBACC after it was reported.  It stays. */
int library_load(struct library *library);

/* A function of a library that is loaded.  One that is not in it ends the program. */
void *library_symbol(const struct library *library, const char *name);

/* The function @name of @library, with its type. */
#define LIBRARY_CALL(library, name) ((typeof(&(name)))library_symbol(library, #name))

#endif /* _USER_BASE_LIBRARY_H */
