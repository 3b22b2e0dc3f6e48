// SPDX-License-Identifier: GPL-2.0

#include "train/guards/refine.h"

#include <string.h>

#include "base/array.h"
#include "train/guards/greedy.h"

/* Put @function among the @nr @functions, which rise; false if it is there. */
static bool insert(uint32_t *functions, uint32_t nr, uint32_t function)
{
	uint32_t at = array_bisect(i, nr, functions[i] >= function);

	if (at < nr && functions[at] == function)
		return false;
	memmove(functions + at + 1, functions + at, (nr - at) * sizeof(*functions));
	functions[at] = function;
	return true;
}

static void take_out(uint32_t *functions, uint32_t nr, uint32_t function)
{
	uint32_t at = array_bisect(i, nr, functions[i] >= function);

	memmove(functions + at, functions + at + 1, (nr - at - 1) * sizeof(*functions));
}

/* Returns 1 if these are worth it, 0 if not, or -ENOMEM. */
static int is_gain(const struct features *features, const struct types *types,
		   const struct select_options *options, const uint32_t *functions, uint32_t nr,
		   const struct select_score *base, struct select_score *score)
{
	struct select_score tried;
	int ret = features_fit(features, options->budget, functions, nr) ?
			  greedy_allows(features, functions, nr) : 0;

	if (ret <= 0)
		return ret;
	ret = select_rate(features->signatures, types, functions, nr, &tried);
	if (ret)
		return ret;
	if (tried.half < score->half + REFINE_LEAST ||
	    !select_is_as_good(&tried, base, options->early_slack))
		return 0;
	*score = tried;
	return 1;
}

int refine_guards(const struct features *features, const struct types *types,
		  const struct select_options *options, const uint32_t *more, uint32_t nr_more,
		  uint32_t *functions, uint32_t *nr, struct select_score *score)
{
	const struct select_score base = *score;

	for (uint32_t i = 0; i < nr_more; i++) {
		int ret;

		if (!insert(functions, *nr, more[i]))
			continue;
		ret = is_gain(features, types, options, functions, *nr + 1, &base, score);
		if (ret < 0)
			return ret;
		if (ret)
			(*nr)++;
		else
			take_out(functions, *nr + 1, more[i]);
	}
	return 0;
}
