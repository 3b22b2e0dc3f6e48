/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How well two labelings of the same items agree: the adjusted Rand index,
 * of pairs of items that both put together or both put apart.
 */
#ifndef _USER_TRAIN_TYPES_ARI_H
#define _USER_TRAIN_TYPES_ARI_H

#include <stdint.h>

/*
 * 1 if labelings @a and @b of @nr items agree but for the names of the labels,
 * about 0 if they agree by chance only, and below if less.  An item counts
 * @weights times, or once if that is NULL.  Two labelings that leave nothing to
 * chance (all items together, or all apart, in both) agree.  NaN without memory.
 */
double ari_index(const uint32_t *a, const uint32_t *b, const uint64_t *weights, uint32_t nr);

#endif /* _USER_TRAIN_TYPES_ARI_H */
