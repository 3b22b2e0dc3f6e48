/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Made-up programs for the tests of selection and inference: types are random
 * trees that share parts, units come in a Zipf mix, and a unit now and then
 * takes a branch that says nothing about its type.
 */
#ifndef _PGUARD_SYNTHETIC_H
#define _PGUARD_SYNTHETIC_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/samples.h"
#include "train/samples/times.h"

static uint64_t synthetic_seed = 1;

static inline uint64_t synthetic_random(void)
{
	uint64_t x = synthetic_seed += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline uint32_t synthetic_below(uint32_t n)
{
	return (uint32_t)(synthetic_random() % n);
}

static inline double synthetic_uniform(void)
{
	return ((double)(synthetic_random() >> 11) + 0.5) / 9007199254740992.0;
}

struct synthetic {
	uint32_t types;
	uint32_t functions;
	uint32_t parts; /* subtrees of which types are made */
	uint32_t parts_per_type;
	uint32_t calls_per_part; /* at most */
	uint32_t noise; /* branches that any unit may take, or not */
	double noise_chance;
	uint32_t hot; /* functions that every part calls many times */
	uint32_t units; /* of either half */
	uint32_t stepped; /* one function in so many has no cheap site; 0: none */
};

/* A call of a part: function, depth below the part's call, times. */
struct synthetic_call {
	uint32_t function;
	uint32_t depth;
	uint16_t count;
};

struct synthetic_part {
	struct synthetic_call *calls;
	uint32_t nr;
};

/* The units as they are made: hits, with their quarters still to be found. */
struct synthetic_unit {
	struct samples_hit hits[4096];
	uint32_t nr;
};

static inline void synthetic_hit(struct synthetic_unit *unit, uint32_t function, uint32_t depth,
				 uint16_t count)
{
	for (uint32_t i = 0; i < unit->nr; i++) {
		if (unit->hits[i].function == function && unit->hits[i].depth == depth) {
			unit->hits[i].count += count;
			return;
		}
	}
	if (unit->nr < 4096)
		unit->hits[unit->nr++] = (struct samples_hit){ function, depth, count, 0 };
}

static inline uint64_t synthetic_hash(const struct synthetic_unit *unit)
{
	uint64_t hash = 14695981039346656037u;

	for (uint32_t i = 0; i < unit->nr; i++)
		hash = (hash ^ ((uint64_t)unit->hits[i].function << 32 | unit->hits[i].depth) ^
			(uint64_t)unit->hits[i].count << 20) * 1099511628211u;
	return hash;
}

/* Add what @unit is, of @tree, to the samples: as a variant that is there, or a new one. */
static inline void synthetic_add(struct samples *samples, struct synthetic_unit *unit,
				 uint32_t tree, int half)
{
	uint64_t hash = synthetic_hash(unit);
	struct samples_unit *to = NULL;

	for (uint32_t i = 0; i < unit->nr; i++)
		unit->hits[i].quarter = (uint8_t)(4 * i / unit->nr);
	samples->trees[tree].units[half]++;
	for (uint32_t i = 0; i < samples->nr_units && !to; i++)
		if (samples->units[i].hash == hash && samples->units[i].tree == tree)
			to = &samples->units[i];
	if (!to) {
		samples->units = realloc(samples->units,
					 (samples->nr_units + 1) * sizeof(*samples->units));
		to = &samples->units[samples->nr_units++];
		*to = (struct samples_unit){ .hash = hash, .tree = tree, .nr_hits = unit->nr };
		to->hits = malloc((unit->nr + 1) * sizeof(*to->hits));
		memcpy(to->hits, unit->hits, unit->nr * sizeof(*to->hits));
	}
	to->units[half]++;
}

/* Samples with @nr_functions, one loop, and @nr_trees trees, each of one path of its own. */
static inline void synthetic_start(struct samples *samples, uint32_t nr_functions,
				   uint32_t nr_trees)
{
	*samples = (struct samples){ .runs = 1 };
	samples->functions = calloc(nr_functions, sizeof(*samples->functions));
	samples->nr_functions = nr_functions;
	samples->loops = calloc(1, sizeof(*samples->loops));
	samples->nr_loops = 1;
	samples->trees = calloc(nr_trees, sizeof(*samples->trees));
	samples->nr_trees = nr_trees;
	samples->nodes = calloc(nr_trees + 1, sizeof(*samples->nodes));
	samples->nr_nodes = nr_trees + 1;
	for (uint32_t i = 0; i < nr_functions; i++) {
		samples->functions[i].offset = samples->functions[i].site = 16 * i;
		samples->functions[i].size = 16;
	}
	for (uint32_t i = 0; i < nr_trees; i++) {
		samples->nodes[i + 1].function = i % nr_functions;
		samples->trees[i].hash = i;
		samples->trees[i].nr_leaves = 1;
		samples->trees[i].leaves = malloc(sizeof(uint32_t));
		samples->trees[i].leaves[0] = i + 1;
	}
}

static inline uint32_t synthetic_zipf(uint32_t n)
{
	double sum = 0, at;

	for (uint32_t i = 1; i <= n; i++)
		sum += 1.0 / i;
	at = synthetic_uniform() * sum;
	for (uint32_t i = 1; i < n; i++) {
		at -= 1.0 / i;
		if (at <= 0)
			return i - 1;
	}
	return n - 1;
}

static inline void synthetic_make_parts(const struct synthetic *program,
					struct synthetic_part *parts)
{
	for (uint32_t i = 0; i < program->parts; i++) {
		parts[i].nr = 1 + synthetic_below(program->calls_per_part);
		parts[i].calls = calloc(parts[i].nr + program->hot, sizeof(*parts[i].calls));
		for (uint32_t j = 0; j < parts[i].nr; j++)
			parts[i].calls[j] = (struct synthetic_call){
				.function = program->hot +
					    synthetic_below(program->functions - program->hot),
				.depth = 16 * (1 + synthetic_below(1 + j)),
				.count = (uint16_t)(synthetic_below(4) ? 1 :
						    1 + synthetic_below(6)),
			};
		for (uint32_t j = 0; j < program->hot; j++)
			parts[i].calls[parts[i].nr++] = (struct synthetic_call){
				.function = j,
				.depth = 16 * (1 + synthetic_below(3)),
				.count = (uint16_t)(5 + synthetic_below(40)),
			};
	}
}

/* Make samples of @program, in which tree i is type i. */
static inline void synthetic_make(const struct synthetic *program, struct samples *samples)
{
	struct synthetic_part *parts = calloc(program->parts + program->noise, sizeof(*parts));
	uint32_t *uses = calloc((size_t)program->types * program->parts_per_type, sizeof(*uses));
	struct synthetic_unit *unit = calloc(1, sizeof(*unit));
	struct synthetic all = *program;

	synthetic_start(samples, program->functions, program->types);
	for (uint32_t i = 0; program->stepped && i < program->functions; i += program->stepped)
		samples->functions[i].cost = SAMPLES_COST_STEPPED;
	all.parts += program->noise;
	synthetic_make_parts(&all, parts);
	for (uint32_t i = 0; i < program->types * program->parts_per_type; i++)
		uses[i] = i % program->parts_per_type ? synthetic_below(program->parts) :
			  (i / program->parts_per_type) % program->parts;
	for (int half = 0; half < 2; half++) {
		for (uint32_t i = 0; i < program->units; i++) {
			uint32_t type = synthetic_zipf(program->types);

			unit->nr = 0;
			for (uint32_t j = 0; j < program->parts_per_type + program->noise; j++) {
				const struct synthetic_part *part;

				/* every type begins alike, and differs later */
				if (j < program->parts_per_type)
					part = &parts[uses[(type + 1) * program->parts_per_type - 1 - j]];
				else if (synthetic_uniform() < program->noise_chance)
					part = &parts[program->parts + j - program->parts_per_type];
				else
					continue;
				for (uint32_t k = 0; k < part->nr; k++)
					synthetic_hit(unit, part->calls[k].function,
						      part->calls[k].depth + 64 * (j % 3),
						      part->calls[k].count);
			}
			synthetic_add(samples, unit, type, half);
		}
	}
	samples->loops[0].units = 2 * (uint64_t)program->units;
	for (uint32_t i = 0; i < program->parts + program->noise; i++)
		free(parts[i].calls);
	free(parts);
	free(uses);
	free(unit);
}

/* Tree @tree's units take 100 us more than those of the tree before. */
static inline uint64_t synthetic_draw_time(uint32_t tree)
{
	double normal = sqrt(-2 * log(synthetic_uniform())) *
			cos(6.283185307179586 * synthetic_uniform());

	return (uint64_t)(1e5 * (tree + 1) * exp(0.1 * normal));
}

static inline bool synthetic_is_guard(const uint32_t *functions, uint32_t nr, uint32_t function)
{
	for (uint32_t i = 0; i < nr; i++)
		if (functions[i] == function)
			return true;
	return false;
}

/* A timing run with guards in @functions, @repeat times each unit of both halves. */
static inline void synthetic_time(struct samples *samples, const uint32_t *functions, uint32_t nr,
				  uint32_t repeat)
{
	uint32_t nr_timings = samples->nr_timings;

	samples->guards = realloc(samples->guards, (samples->nr_guards + 1) *
							   sizeof(*samples->guards));
	samples->guards[samples->nr_guards] = (struct samples_guards){
		.hash = samples->nr_guards, .nr = nr,
		.functions = malloc((nr + 1) * sizeof(*functions)),
	};
	memcpy(samples->guards[samples->nr_guards].functions, functions, nr * sizeof(*functions));
	samples->timings = realloc(samples->timings, (nr_timings + samples->nr_units) *
							     sizeof(*samples->timings));
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *from = &samples->units[i];
		struct samples_timing *to = &samples->timings[samples->nr_timings++];

		*to = (struct samples_timing){ .hash = i, .guards = samples->nr_guards };
		to->hits = malloc((from->nr_hits + 1) * sizeof(*to->hits));
		for (uint32_t j = 0; j < from->nr_hits; j++) {
			if (!synthetic_is_guard(functions, nr, from->hits[j].function))
				continue;
			to->hits[to->nr_hits++] = from->hits[j];
			to->nr_contexts_hit += from->hits[j].count *
					       (from->units[0] + from->units[1]) * repeat;
		}
		for (int half = 0; half < 2; half++)
			for (uint64_t j = 0; j < from->units[half] * repeat; j++)
				times_add(&to->times[half].of[SAMPLES_OWN],
					  synthetic_draw_time(from->tree));
	}
	samples->nr_guards++;
}

#endif /* _PGUARD_SYNTHETIC_H */
