// SPDX-License-Identifier: GPL-2.0
/* The lists of numbers in the rows of a profile, which its digest keeps fuzz-profile from. */

#include "fuzz.h"
#include "store/pack.h"

void fuzz_one(const uint8_t *bytes, size_t len)
{
	struct samples_times times;

	for (int kind = 0; kind < 3; kind++) {
		struct samples_hit *hits = NULL;
		uint32_t *numbers = NULL, nr;

		if (kind == 2)
			unpack_rising(bytes, len, &numbers, &nr);
		else
			unpack_hits(bytes, len, kind == 1, &hits, &nr);
		free(numbers);
		free(hits);
	}
	unpack_times(bytes, len, &times);
}
