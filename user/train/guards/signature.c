// SPDX-License-Identifier: GPL-2.0

#include "train/guards/signature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_contexts(const void *a, const void *b)
{
	const struct signature_context *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

/*
 * A set of contexts that grows: units meet the same ones again and again, so
 * the sorted array is made of distinct ones only.
 */
struct context_set {
	struct signature_context *entries;
	uint32_t *slots; /* index + 1 */
	uint32_t nr;
	uint32_t mask;
};

static uint32_t hash_context(const struct signature_context *context)
{
	uint64_t hash = ((uint64_t)context->function << 32 | context->depth) *
			0x9e3779b97f4a7c15u;

	return (uint32_t)(hash >> 32);
}

static uint32_t *find_slot(const struct context_set *set, const struct signature_context *context)
{
	uint32_t at = hash_context(context) & set->mask;

	while (set->slots[at] && compare_contexts(&set->entries[set->slots[at] - 1], context))
		at = (at + 1) & set->mask;
	return &set->slots[at];
}

static int grow_set(struct context_set *set)
{
	uint32_t nr_slots = set->slots ? 2 * (set->mask + 1) : 1024;
	struct signature_context *entries;

	entries = realloc(set->entries, nr_slots / 2 * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	set->entries = entries;
	free(set->slots);
	set->slots = calloc(nr_slots, sizeof(*set->slots));
	if (!set->slots)
		return -ENOMEM;
	set->mask = nr_slots - 1;
	for (uint32_t i = 0; i < set->nr; i++)
		*find_slot(set, &set->entries[i]) = i + 1;
	return 0;
}

static int collect_contexts(struct context_set *set, const struct samples *samples)
{
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];

		for (uint32_t j = 0; j < unit->nr_hits; j++) {
			struct signature_context context = { unit->hits[j].function,
							     unit->hits[j].depth };
			uint32_t *slot;

			if ((!set->slots || set->nr == (set->mask + 1) / 2) && grow_set(set))
				return -ENOMEM;
			slot = find_slot(set, &context);
			if (*slot)
				continue;
			set->entries[set->nr++] = context;
			*slot = set->nr;
		}
	}
	return 0;
}

static int number_contexts(struct signatures *signatures)
{
	struct context_set set = { 0 };
	int ret = collect_contexts(&set, signatures->samples);

	if (set.nr)
		qsort(set.entries, set.nr, sizeof(*set.entries), compare_contexts);
	signatures->contexts = set.entries;
	signatures->nr_contexts = set.nr;
	if (!ret && set.slots) {
		memset(set.slots, 0, ((size_t)set.mask + 1) * sizeof(*set.slots));
		for (uint32_t i = 0; i < set.nr; i++)
			*find_slot(&set, &set.entries[i]) = i + 1;
		for (uint32_t i = 0; i < signatures->samples->nr_units; i++) {
			const struct samples_unit *unit = &signatures->samples->units[i];
			struct signature_hit *hit = &signatures->hits[signatures->first_hit[i]];

			for (uint32_t j = 0; j < unit->nr_hits; j++) {
				struct signature_context context = { unit->hits[j].function,
								     unit->hits[j].depth };

				hit[j].context = *find_slot(&set, &context) - 1;
				hit[j].count = unit->hits[j].count;
				hit[j].quarter = unit->hits[j].quarter;
			}
		}
	}
	free(set.slots);
	return ret;
}

static void mark_sites(struct signatures *signatures)
{
	const struct samples *samples = signatures->samples;

	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		const struct samples_loop *loop = &samples->loops[i];

		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			if (loop->boundaries[j].role == SAMPLES_ROLE_EVENT_SITE &&
			    loop->boundaries[j].function < samples->nr_functions)
				signatures->is_site[loop->boundaries[j].function] = true;
	}
}

int signatures_init(struct signatures *signatures, const struct samples *samples)
{
	size_t nr_hits = 0;

	*signatures = (struct signatures){ .samples = samples };
	signatures->first_hit = calloc((size_t)samples->nr_units + 1,
				       sizeof(*signatures->first_hit));
	for (int half = 0; half < 2; half++)
		signatures->loop_units[half] = calloc((size_t)samples->nr_loops + 1,
						      sizeof(**signatures->loop_units));
	signatures->is_site = calloc((size_t)samples->nr_functions + 1,
				     sizeof(*signatures->is_site));
	if (!signatures->first_hit || !signatures->loop_units[0] || !signatures->loop_units[1] ||
	    !signatures->is_site)
		goto err_deinit;
	mark_sites(signatures);
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		uint32_t loop = signatures_loop(signatures, i);

		for (int half = 0; half < 2; half++)
			signatures->loop_units[half][loop] += samples->units[i].units[half];
		signatures->first_hit[i] = nr_hits;
		nr_hits += samples->units[i].nr_hits;
	}
	signatures->first_hit[samples->nr_units] = nr_hits;
	signatures->hits = calloc(nr_hits + 1, sizeof(*signatures->hits));
	if (!signatures->hits || number_contexts(signatures))
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
	free(signatures->loop_units[0]);
	free(signatures->loop_units[1]);
	free(signatures->is_site);
	memset(signatures, 0, sizeof(*signatures));
}
