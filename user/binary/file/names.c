// SPDX-License-Identifier: GPL-2.0

#include "binary/file/names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
	return strcmp(left, right);
}

const char *names_add(struct names *names, const char *text)
{
	char *const *found = tfind(text, &names->root, compare);
	char *copy;

	if (found)
		return *found;
	copy = strdup(text);
	if (copy && tsearch(copy, &names->root, compare))
		return copy;
	free(copy);
	return NULL;
}

void names_deinit(struct names *names)
{
	tdestroy(names->root, free);
	names->root = NULL;
}
