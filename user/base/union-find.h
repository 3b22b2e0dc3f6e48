/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Disjoint sets of numbers: @parent leads from each number to the smallest one
 * of its set, in several steps; at first each is its own parent.
 */
#ifndef _USER_BASE_UNION_FIND_H
#define _USER_BASE_UNION_FIND_H

#include <stdint.h>

static inline uint32_t union_find(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

static inline void union_join(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = union_find(parent, a);
	b = union_find(parent, b);
	parent[a < b ? b : a] = a < b ? a : b;
}

/* Replace each of @nr parents by the number of its set, from 0; returns how many. */
static inline uint32_t union_number(uint32_t *parent, uint32_t nr)
{
	uint32_t sets = 0;

	/* The smallest of a set comes first. */
	for (uint32_t i = 0; i < nr; i++)
		parent[i] = union_find(parent, i);
	for (uint32_t i = 0; i < nr; i++)
		parent[i] = parent[i] == i ? sets++ : parent[parent[i]];
	return sets;
}

#endif /* _USER_BASE_UNION_FIND_H */
