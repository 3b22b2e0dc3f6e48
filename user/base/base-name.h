/* SPDX-License-Identifier: GPL-2.0 */
/* The last component of a path. */
#ifndef _USER_BASE_BASE_NAME_H
#define _USER_BASE_BASE_NAME_H

#include <string.h>

/* All of @path where that is a directory's, with a slash at its end. */
static inline const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

#endif /* _USER_BASE_BASE_NAME_H */
