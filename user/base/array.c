// SPDX-License-Identifier: GPL-2.0

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ROOM = 64,
};

int array_allocate(void *array, size_t nr, size_t size)
{
	void *allocated = calloc(nr + 1, size);

	memcpy(array, &allocated, sizeof(allocated));
	return allocated ? 0 : -ENOMEM;
}

int array_reallocate(void *array, size_t nr, size_t size)
{
	void *grown;

	memcpy(&grown, array, sizeof(grown));
	grown = reallocarray(grown, nr, size);
	if (!grown && nr)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	return 0;
}

int array_double(void *array, size_t nr, size_t *max, size_t size)
{
	size_t wanted = *max ? 2 * *max : FIRST_ROOM;

	if (wanted < nr)
		wanted = nr;
	if (array_reallocate(array, wanted, size))
		return -ENOMEM;
	*max = wanted;
	return 0;
}

int order_u32(const void *a, const void *b)
{
	return order_of(*(const uint32_t *)a, *(const uint32_t *)b);
}

int order_u64(const void *a, const void *b)
{
	return order_of(*(const uint64_t *)a, *(const uint64_t *)b);
}

int order_double(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}
