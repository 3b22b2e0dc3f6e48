/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arrays that grow by doubling, and the order of their elements.
 */
#ifndef _USER_BASE_ARRAY_H
#define _USER_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Make room for element @nr of @array, or for @nr elements; it has room for @max
 * (a size_t), and gets at least twice that.  Evaluates to 0 or -ENOMEM.
 */
#define array_grow(array, nr, max) array_reserve(array, (size_t)(nr) + 1, max)
#define array_reserve(array, nr, max) \
	((nr) <= (max) ? 0 : array_double(&(array), (nr), &(max), sizeof(*(array))))

/* The same for arrays that stay small: room for @nr elements and no more. */
#define array_resize(array, nr) array_reallocate(&(array), (nr), sizeof(*(array)))

/*
 * Allocate @nr zeroed elements, or room for one if @nr is 0.  Evaluates to 0 or
 * -ENOMEM, then @array is NULL.
 */
#define array_new(array, nr) array_allocate(&(array), (nr), sizeof(*(array)))

/* @array points to the pointer to the elements. */
int array_allocate(void *array, size_t nr, size_t size);
int array_double(void *array, size_t nr, size_t *max, size_t size);
int array_reallocate(void *array, size_t nr, size_t size);

/*
 * The first index @i below @nr from which on @condition, an expression of @i,
 * holds; @nr if it never does.
 */
#define array_bisect(i, nr, condition) ({                 \
	size_t low_ = 0, high_ = (nr), i;                 \
	while (low_ < high_) {                            \
		i = low_ + (high_ - low_) / 2;            \
		if (condition)                            \
			high_ = i;                        \
		else                                      \
			low_ = i + 1;                     \
	}                                                 \
	low_;                                             \
})

/* -1, 0 or 1, as a comparison has it. */
static inline int order_of(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* For qsort(): numbers of 32 or 64 bits, in rising order. */
int order_u32(const void *a, const void *b);
int order_u64(const void *a, const void *b);
/* The same of doubles that are numbers. */
int order_double(const void *a, const void *b);

#endif /* _USER_BASE_ARRAY_H */
