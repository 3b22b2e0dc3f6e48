/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths of files that were removed or replaced: the kernel puts a mark behind them.
 */
#ifndef _USER_BASE_DELETED_H
#define _USER_BASE_DELETED_H

#include <stddef.h>
#include <string.h>

#define DELETED_MARK " (deleted)"

/* Return: the length of @path without the mark; all of it if there is none. */
static inline size_t deleted_stem(const char *path)
{
	size_t len = strlen(path), mark = sizeof(DELETED_MARK) - 1;

	return len > mark && !strcmp(path + len - mark, DELETED_MARK) ? len - mark : len;
}

#endif /* _USER_BASE_DELETED_H */
