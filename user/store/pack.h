/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists of numbers as bytes: each number in groups of 7 bits, the lowest first,
 * with the top bit of a byte set if more follow (LEB128).
 *
 * A list begins with its length.  Its contents:
 *  rising	the first number, then the differences
 *  hits	of each: function, depth, 4 * count + quarter
 *  places	hits without counts: of each function, depth
 *  times	units, their sum, the sum of squares as low and high half; the
 *		largest as a list: the first, then how much smaller the next is;
 *		the histogram as a list of its buckets that are not 0: how many
 *		buckets were left out before, count
 */
#ifndef _USER_STORE_PACK_H
#define _USER_STORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/samples.h"

struct pack {
	uint8_t *bytes; /* free() */
	size_t len;
	size_t size;
	bool has_failed; /* out of memory */
};

void pack_rising(struct pack *pack, const uint32_t *numbers, uint32_t nr);
void pack_hits(struct pack *pack, const struct samples_hit *hits, uint32_t nr, bool has_counts);
void pack_times(struct pack *pack, const struct samples_times *times);

/*
 * The reverse, of exactly @len bytes.  Lists are the caller's to free, after
 * -EBADMSG, too.  Return 0, -EBADMSG or -ENOMEM.
 */
int unpack_rising(const uint8_t *bytes, size_t len, uint32_t **ret, uint32_t *ret_nr);
int unpack_hits(const uint8_t *bytes, size_t len, bool has_counts, struct samples_hit **ret,
		uint32_t *ret_nr);
int unpack_times(const uint8_t *bytes, size_t len, struct samples_times *ret);

#endif /* _USER_STORE_PACK_H */
