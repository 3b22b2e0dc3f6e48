// SPDX-License-Identifier: GPL-2.0

#include "train/samples/rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct comparison {
	ranks_compare *compare;
	const void *context;
};

static int compare_indices(const void *a, const void *b, void *arg)
{
	const struct comparison *comparison = arg;

	return comparison->compare(comparison->context, *(const uint32_t *)a, *(const uint32_t *)b);
}

int ranks_init(struct ranks *ranks, uint32_t nr, ranks_compare *compare, const void *context)
{
	struct comparison comparison = { .compare = compare, .context = context };

	ranks->sorted = calloc(nr + 1u, sizeof(*ranks->sorted));
	ranks->rank = calloc(nr + 1u, sizeof(*ranks->rank));
	ranks->nr = 0;
	if (!ranks->sorted || !ranks->rank) {
		ranks_deinit(ranks);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++)
		ranks->sorted[i] = i;
	qsort_r(ranks->sorted, nr, sizeof(*ranks->sorted), compare_indices, &comparison);
	for (uint32_t i = 0; i < nr; i++) {
		if (!i || compare(context, ranks->sorted[i - 1], ranks->sorted[i]))
			ranks->nr++;
		ranks->rank[ranks->sorted[i]] = ranks->nr - 1;
	}
	return 0;
}

void ranks_deinit(struct ranks *ranks)
{
	free(ranks->sorted);
	free(ranks->rank);
	memset(ranks, 0, sizeof(*ranks));
}
