/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set of strings that keep their addresses until the set is freed, so that
 * frames can point to names of files that were closed.
 */
#ifndef _USER_BINARY_FILE_NAMES_H
#define _USER_BINARY_FILE_NAMES_H

struct names {
	void *root; /* see tsearch(); NULL: empty */
};

/* The set's copy of @text, or NULL if there is no memory. */
const char *names_add(struct names *names, const char *text);
void names_deinit(struct names *names);

#endif /* _USER_BINARY_FILE_NAMES_H */
