// SPDX-License-Identifier: GPL-2.0

#include "train/guards/signature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"
#include "train/samples/rank.h"

/*
 * The distinct contexts in the order in which units met them first, as the hits
 * number them; units meet the same ones again and again.
 */
static int collect_contexts(struct signatures *signatures, struct hash_index *index)
{
	const struct samples *samples = signatures->samples;
	struct signature_hit *to = signatures->hits;
	size_t max = 0;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		for (uint32_t j = 0; j < samples->units[i].nr_hits; j++, to++) {
			const struct samples_hit *hit = &samples->units[i].hits[j];
			uint64_t hash = hash_mix(hit->function, hit->depth);
			uint32_t cursor = 0, at;

			do
				at = hash_index_next(index, hash, &cursor);
			while (at != HASH_INDEX_NONE &&
			       (signatures->contexts[at].function != hit->function ||
				signatures->contexts[at].depth != hit->depth));
			if (at == HASH_INDEX_NONE) {
				at = index->nr;
				if (array_grow(signatures->contexts, at, max) ||
				    hash_index_add(index, hash))
					return -ENOMEM;
				signatures->contexts[at] = (struct signature_context){
					hit->function, hit->depth };
			}
			*to = (struct signature_hit){ at, hit->count, hit->quarter };
		}
	}
	return 0;
}

static int by_function_and_depth(const void *context, uint32_t a, uint32_t b)
{
	const struct signature_context *contexts = context;

	return order_of(contexts[a].function, contexts[b].function) ?:
	       order_of(contexts[a].depth, contexts[b].depth);
}

/* Number the contexts by function, then depth. */
static int number_contexts(struct signatures *signatures, size_t nr_hits)
{
	struct signature_context *sorted;
	struct hash_index index = { 0 };
	struct ranks ranks = { 0 };
	int ret = collect_contexts(signatures, &index);

	signatures->nr_contexts = index.nr;
	sorted = calloc(index.nr + 1UL, sizeof(*sorted));
	if (!ret)
		ret = sorted ? ranks_init(&ranks, index.nr, by_function_and_depth,
					  signatures->contexts) : -ENOMEM;
	for (uint32_t i = 0; i < index.nr && !ret; i++)
		sorted[i] = signatures->contexts[ranks.sorted[i]];
	for (size_t i = 0; i < nr_hits && !ret; i++)
		signatures->hits[i].context = ranks.rank[signatures->hits[i].context];
	if (!ret) {
		free(signatures->contexts);
		signatures->contexts = sorted;
	} else {
		free(sorted);
	}
	ranks_deinit(&ranks);
	hash_index_deinit(&index);
	return ret;
}

static void mark_sites(struct signatures *signatures)
{
	const struct samples *samples = signatures->samples;

	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		const struct samples_loop *loop = &samples->loops[i];

		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			if (samples_is_site(&loop->boundaries[j]) &&
			    loop->boundaries[j].function < samples->nr_functions)
				signatures->is_site[loop->boundaries[j].function] = true;
	}
}

int signatures_init(struct signatures *signatures, const struct samples *samples)
{
	size_t nr_hits = 0;

	*signatures = (struct signatures){ .samples = samples };
	if (array_new(signatures->first_hit, samples->nr_units) ||
	    array_new(signatures->loop_units, samples->nr_loops) ||
	    array_new(signatures->is_site, samples->nr_functions))
		goto err_deinit;
	mark_sites(signatures);
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		uint32_t loop = signatures_loop(signatures, i);

		signatures->loop_units[loop] += samples->units[i].units[0];
		signatures->first_hit[i] = nr_hits;
		nr_hits += samples->units[i].nr_hits;
	}
	signatures->first_hit[samples->nr_units] = nr_hits;
	if (array_new(signatures->hits, nr_hits) || number_contexts(signatures, nr_hits))
		goto err_deinit;
	return 0;

err_deinit:
	signatures_deinit(signatures);
	return -ENOMEM;
}

void signatures_deinit(struct signatures *signatures)
{
	free(signatures->contexts);
	free(signatures->hits);
	free(signatures->first_hit);
	free(signatures->loop_units);
	free(signatures->is_site);
	memset(signatures, 0, sizeof(*signatures));
}
