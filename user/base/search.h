/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bisection of arrays of structs that are sorted by their first member, an
 * address.
 */
#ifndef _USER_BASE_SEARCH_H
#define _USER_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* The number of elements, of @size bytes each, whose address is at most @addr. */
static inline uint32_t search_addr(const void *elements, uint32_t nr, size_t size, uint64_t addr)
{
	uint32_t low = 0, high = nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const uint64_t *key = (const void *)((const char *)elements + mid * size);

		if (*key <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

#endif /* _USER_BASE_SEARCH_H */
