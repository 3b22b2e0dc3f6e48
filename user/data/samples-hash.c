// SPDX-License-Identifier: GPL-2.0

#include "data/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of the loop itself: the path without a function. */
#define ROOT UINT64_C(0x70657266677561)

/* Hashes by index. */
struct hashes {
	uint64_t *objects;
	uint64_t *functions;
	uint64_t *nodes;
};

/* Every bit of @value reaches every bit of the result (as in MurmurHash3). */
static uint64_t mix(uint64_t value)
{
	value ^= value >> 33;
	value *= UINT64_C(0xff51afd7ed558ccd);
	value ^= value >> 33;
	value *= UINT64_C(0xc4ceb9fe1a85ec53);
	return value ^ value >> 33;
}

static uint64_t join(uint64_t hash, uint64_t value)
{
	return mix(hash * UINT64_C(0x9e3779b97f4a7c15) + mix(value + 1));
}

static uint64_t of_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = join(hash, (unsigned char)*text);
	return hash;
}

uint64_t samples_hash_object(const struct samples_object *object)
{
	if (object->build_id[0])
		return of_text(1, object->build_id);
	return of_text(2, object->path);
}

static uint64_t of_boundary(const struct samples_boundary *boundary, uint64_t place)
{
	uint64_t hash = join(place, boundary->role);

	if (samples_is_site(boundary))
		return hash;
	hash = join(hash, boundary->syscall);
	hash = join(hash, boundary->return_offset);
	return join(hash, boundary->distance);
}

static uint64_t of_unit(uint64_t tree, const struct samples_hit *hits, uint32_t nr_hits,
			const uint64_t *functions)
{
	uint64_t hash = tree;

	for (uint32_t i = 0; i < nr_hits; i++) {
		hash = join(hash, functions[hits[i].function]);
		hash = join(hash, (uint64_t)hits[i].depth << 32 | (uint32_t)hits[i].count << 8 |
					  hits[i].quarter);
	}
	return hash;
}

static uint64_t of_timing(uint64_t guards, uint64_t loop, const struct samples_hit *hits,
			  uint32_t nr_hits, const uint64_t *functions)
{
	uint64_t hash = join(guards, loop);

	for (uint32_t i = 0; i < nr_hits; i++) {
		hash = join(hash, functions[hits[i].function]);
		hash = join(hash, hits[i].depth);
	}
	return hash;
}

static uint64_t of_loop(const struct samples_loop *loop, const struct hashes *hashes)
{
	uint64_t smallest = UINT64_MAX;

	for (uint32_t i = 0; i < loop->nr_boundaries; i++) {
		const struct samples_boundary *boundary = &loop->boundaries[i];
		uint64_t hash;

		if (!samples_begins_units(boundary))
			continue;
		hash = of_boundary(boundary, samples_is_site(boundary) ?
						     hashes->functions[boundary->function] :
						     hashes->objects[boundary->object]);
		if (hash < smallest)
			smallest = hash;
	}
	return smallest;
}

static uint64_t of_set(const uint32_t *members, uint32_t nr, const uint64_t *hashes)
{
	uint64_t set = 0;

	for (uint32_t i = 0; i < nr; i++)
		set += mix(hashes[members[i]] ^ ROOT);
	return set;
}

static void set_hashes(struct samples *samples, const struct hashes *hashes)
{
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		samples->loops[i].hash = of_loop(&samples->loops[i], hashes);
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		samples->trees[i].hash = of_set(samples->trees[i].leaves,
						samples->trees[i].nr_leaves, hashes->nodes);
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct samples_unit *unit = &samples->units[i];

		unit->hash = of_unit(samples->trees[unit->tree].hash, unit->hits, unit->nr_hits,
				     hashes->functions);
	}
	for (uint32_t i = 0; i < samples->nr_guards; i++)
		samples->guards[i].hash = of_set(samples->guards[i].functions,
						 samples->guards[i].nr, hashes->functions);
	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		struct samples_timing *timing = &samples->timings[i];

		timing->hash = of_timing(samples->guards[timing->guards].hash,
					 samples->loops[timing->loop].hash, timing->hits,
					 timing->nr_hits, hashes->functions);
	}
}

int samples_hash_all(struct samples *samples)
{
	struct hashes hashes = {
		.objects = calloc((size_t)samples->nr_objects + 1, sizeof(uint64_t)),
		.functions = calloc((size_t)samples->nr_functions + 1, sizeof(uint64_t)),
		.nodes = calloc((size_t)samples->nr_nodes + 1, sizeof(uint64_t)),
	};
	int ret = hashes.objects && hashes.functions && hashes.nodes ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < samples->nr_objects && !ret; i++)
		hashes.objects[i] = samples_hash_object(&samples->objects[i]);
	for (uint32_t i = 0; i < samples->nr_functions && !ret; i++)
		hashes.functions[i] = join(hashes.objects[samples->functions[i].object],
					   samples->functions[i].offset);
	for (uint32_t i = 0; i < samples->nr_nodes && !ret; i++)
		hashes.nodes[i] = i ? join(hashes.nodes[samples->nodes[i].parent],
					   hashes.functions[samples->nodes[i].function]) : ROOT;
	if (!ret)
		set_hashes(samples, &hashes);
	free(hashes.objects);
	free(hashes.functions);
	free(hashes.nodes);
	return ret;
}
