// SPDX-License-Identifier: GPL-2.0

#include "data/samples-hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

uint64_t samples_hash_function(uint64_t object, uint64_t offset)
{
	return join(object, offset);
}

uint64_t samples_hash_path(uint64_t parent, uint64_t function)
{
	return join(parent, function);
}

uint64_t samples_hash_add(uint64_t set, uint64_t member)
{
	return set + mix(member ^ SAMPLES_HASH_ROOT);
}

uint64_t samples_hash_boundary(const struct samples_boundary *boundary, uint64_t place)
{
	uint64_t hash = join(place, boundary->role);

	if (boundary->role == SAMPLES_ROLE_EVENT_SITE)
		return hash;
	hash = join(hash, boundary->syscall);
	hash = join(hash, boundary->return_offset);
	return join(hash, boundary->distance);
}

uint64_t samples_hash_unit(uint64_t tree, const struct samples_hit *hits, uint32_t nr_hits,
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

uint64_t samples_hash_timing(uint64_t guards, uint64_t loop, const struct samples_hit *hits,
			     uint32_t nr_hits, const uint64_t *functions)
{
	uint64_t hash = join(guards, loop);

	for (uint32_t i = 0; i < nr_hits; i++) {
		hash = join(hash, functions[hits[i].function]);
		hash = join(hash, hits[i].depth);
	}
	return hash;
}

static uint64_t of_loop(const struct samples_loop *loop, const struct samples_hashes *hashes)
{
	uint64_t smallest = UINT64_MAX;

	for (uint32_t i = 0; i < loop->nr_boundaries; i++) {
		const struct samples_boundary *boundary = &loop->boundaries[i];
		uint64_t hash;

		if (boundary->role != SAMPLES_ROLE_WAIT)
			continue;
		hash = samples_hash_boundary(boundary, hashes->objects[boundary->object]);
		if (hash < smallest)
			smallest = hash;
	}
	return smallest;
}

static uint64_t of_set(const uint32_t *members, uint32_t nr, const uint64_t *hashes)
{
	uint64_t set = 0;

	for (uint32_t i = 0; i < nr; i++)
		set = samples_hash_add(set, hashes[members[i]]);
	return set;
}

static void set_hashes(struct samples *samples, const struct samples_hashes *hashes)
{
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		samples->loops[i].hash = of_loop(&samples->loops[i], hashes);
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		samples->trees[i].hash = of_set(samples->trees[i].leaves,
						samples->trees[i].nr_leaves, hashes->nodes);
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct samples_unit *unit = &samples->units[i];

		unit->hash = samples_hash_unit(samples->trees[unit->tree].hash, unit->hits,
					       unit->nr_hits, hashes->functions);
	}
	for (uint32_t i = 0; i < samples->nr_guards; i++)
		samples->guards[i].hash = of_set(samples->guards[i].functions,
						 samples->guards[i].nr, hashes->functions);
	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		struct samples_timing *timing = &samples->timings[i];

		timing->hash = samples_hash_timing(samples->guards[timing->guards].hash,
						   samples->loops[timing->loop].hash, timing->hits,
						   timing->nr_hits, hashes->functions);
	}
}

int samples_hash_all(struct samples *samples, struct samples_hashes *ret)
{
	struct samples_hashes hashes;

	hashes.objects = calloc(samples->nr_objects + 1, sizeof(*hashes.objects));
	hashes.functions = calloc(samples->nr_functions + 1, sizeof(*hashes.functions));
	hashes.nodes = calloc(samples->nr_nodes + 1, sizeof(*hashes.nodes));
	if (!hashes.objects || !hashes.functions || !hashes.nodes) {
		samples_hashes_deinit(&hashes);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < samples->nr_objects; i++)
		hashes.objects[i] = samples_hash_object(&samples->objects[i]);
	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		const struct samples_function *function = &samples->functions[i];

		hashes.functions[i] = samples_hash_function(hashes.objects[function->object],
							    function->offset);
	}
	hashes.nodes[0] = SAMPLES_HASH_ROOT;
	for (uint32_t i = 1; i < samples->nr_nodes; i++) {
		const struct samples_node *node = &samples->nodes[i];

		hashes.nodes[i] = samples_hash_path(hashes.nodes[node->parent],
						    hashes.functions[node->function]);
	}
	set_hashes(samples, &hashes);
	if (ret)
		*ret = hashes;
	else
		samples_hashes_deinit(&hashes);
	return 0;
}

void samples_hashes_deinit(struct samples_hashes *hashes)
{
	free(hashes->objects);
	free(hashes->functions);
	free(hashes->nodes);
	memset(hashes, 0, sizeof(*hashes));
}
