/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples and models at random, sound and with all that can be in them.  Those
 * of one universe are of one program: they have much in common, each with its
 * own indices.
 */
#ifndef _PGUARD_FIXTURE_H
#define _PGUARD_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/model.h"
#include "data/samples.h"
#include "data/training.h"

enum {
	FIXTURE_OBJECTS = 6,
	FIXTURE_FUNCTIONS = 60,
	FIXTURE_LOOPS = 3,
	FIXTURE_WAITS = 3, /* of a loop */
};

struct fixture {
	uint64_t state;
	uint32_t nr_functions;
	uint32_t nr_trees;
	uint32_t nr_units;
	uint32_t nr_timings;
};

/* splitmix64; below @end. */
static inline uint32_t fixture_number(struct fixture *fixture, uint32_t end)
{
	uint64_t z = fixture->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) % end);
}

static inline void *fixture_array(uint32_t nr, size_t size)
{
	void *array = calloc(nr + 1u, size);

	if (!array)
		abort();
	return array;
}

#define FIXTURE_ARRAY(samples, field, nr) \
	((samples)->field = fixture_array((samples)->nr_##field = (nr), sizeof(*(samples)->field)))

/* The members of a universe in this run's order: the first is to stay first. */
static inline void fixture_shuffle(struct fixture *fixture, uint32_t *order, uint32_t nr,
				   uint32_t first)
{
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	for (uint32_t i = nr; i > first + 1; i--) {
		uint32_t j = first + fixture_number(fixture, i - first), swapped = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swapped;
	}
}

static inline void fixture_objects(struct fixture *fixture, struct samples *samples, uint32_t *order)
{
	char text[64];

	fixture_shuffle(fixture, order, FIXTURE_OBJECTS, 1);
	FIXTURE_ARRAY(samples, objects, FIXTURE_OBJECTS);
	for (uint32_t i = 0; i < FIXTURE_OBJECTS; i++) {
		struct samples_object *object = &samples->objects[i];
		bool has_id = order[i] != FIXTURE_OBJECTS - 1;

		/* The same file can be at another place on another machine. */
		snprintf(text, sizeof(text), "/usr/lib/%s/object-%u.so",
			 has_id && fixture_number(fixture, 2) ? "local" : "system", order[i]);
		object->path = strdup(order[i] ? text : "/usr/sbin/example");
		snprintf(text, sizeof(text), "%02xc0ffee%04x", 0x11 * order[i], order[i]);
		object->build_id = strdup(has_id ? text : "");
		/* Of a build they are equal, if they are there. */
		if (!has_id || fixture_number(fixture, 2))
			continue;
		object->code_size = 3 + order[i];
		object->code = fixture_array(object->code_size, 1);
		memset(object->code, (int)order[i], object->code_size);
	}
}

static inline void fixture_functions(struct fixture *fixture, struct samples *samples,
				     const uint32_t *objects)
{
	uint32_t nr = fixture->nr_functions, *order = fixture_array(nr, sizeof(*order));
	uint32_t index_of[FIXTURE_OBJECTS];
	char name[32];

	for (uint32_t i = 0; i < FIXTURE_OBJECTS; i++)
		index_of[objects[i]] = i;
	fixture_shuffle(fixture, order, nr, 0);
	FIXTURE_ARRAY(samples, functions, nr);
	for (uint32_t i = 0; i < nr; i++) {
		struct samples_function *function = &samples->functions[i];

		function->object = index_of[order[i] % FIXTURE_OBJECTS];
		function->offset = 0x1000 + 0x70 * order[i];
		function->size = 0x70;
		function->site = function->offset + order[i] % 4;
		function->sp_delta = 8 * (order[i] % 2);
		function->cost = order[i] % 7 ? SAMPLES_COST_CHEAP : SAMPLES_COST_STEPPED;
		if (order[i] % 3)
			continue;
		snprintf(name, sizeof(name), "function_%u", order[i]);
		function->name = strdup(name);
	}
	free(order);
}

/* Each run sees some of a loop's waits, but at least the first. */
static inline void fixture_loop(struct fixture *fixture, struct samples *samples, uint32_t index,
				uint32_t of_universe, const uint32_t *objects)
{
	struct samples_loop *loop = &samples->loops[index];
	uint32_t program = 0, nr = 0;

	while (objects[program])
		program++;
	loop->boundaries = fixture_array(FIXTURE_WAITS + 2, sizeof(*loop->boundaries));
	for (uint32_t i = 0; i < FIXTURE_WAITS; i++) {
		if (i && fixture_number(fixture, 2))
			continue;
		loop->boundaries[nr++] = (struct samples_boundary){
			.role = SAMPLES_ROLE_WAIT,
			.syscall = i ? 45 : 232,
			.object = program,
			.return_offset = 0x4000 + 0x100 * of_universe + i,
			.distance = 88 + 8 * i,
			.rise = 96 * fixture_number(fixture, 2),
		};
	}
	if (of_universe == 1)
		loop->boundaries[nr++] = (struct samples_boundary){
			.role = SAMPLES_ROLE_EVENT_CALL,
			.syscall = 0,
			.object = program,
			.return_offset = 0x5000,
			.distance = 48,
		};
	if (of_universe == 2)
		loop->boundaries[nr++] = (struct samples_boundary){
			.role = SAMPLES_ROLE_EVENT_SITE,
			.function = fixture_number(fixture, fixture->nr_functions),
		};
	loop->nr_boundaries = nr;
	loop->function = of_universe ? fixture_number(fixture, fixture->nr_functions) :
				       SAMPLES_NONE;
	snprintf(loop->comm, sizeof(loop->comm), "worker-%u", fixture_number(fixture, 3));
	loop->has_empty = fixture_number(fixture, 2);
	loop->units = fixture_number(fixture, 1000000);
	loop->cut_off = fixture_number(fixture, 100);
	loop->foreign_stack = fixture_number(fixture, 10);
	loop->unmarked = fixture_number(fixture, 10000);
}

static inline void fixture_trees(struct fixture *fixture, struct samples *samples)
{
	/* Few functions at each step, so that paths of two runs meet. */
	FIXTURE_ARRAY(samples, nodes, fixture->nr_trees * 2 + 1);
	samples->nodes[0].function = SAMPLES_NONE;
	for (uint32_t i = 1; i < samples->nr_nodes; i++) {
		samples->nodes[i].parent = fixture_number(fixture, i < 8 ? i : 8);
		samples->nodes[i].function = fixture_number(fixture, 6);
	}
	FIXTURE_ARRAY(samples, trees, fixture->nr_trees);
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		struct samples_tree *tree = &samples->trees[i];

		tree->loop = fixture_number(fixture, samples->nr_loops);
		tree->leaves = fixture_array(4, sizeof(*tree->leaves));
		/* Many trees are to be different ones. */
		for (uint32_t node = samples->nr_trees < 1000 ?
					     1 : 1 + fixture_number(fixture, samples->nr_nodes - 1);
		     node < samples->nr_nodes && tree->nr_leaves < 4; node++)
			if (!fixture_number(fixture, 4))
				tree->leaves[tree->nr_leaves++] = node;
		tree->units[0] = fixture_number(fixture, 1000);
		tree->units[1] = fixture_number(fixture, 1000);
	}
}

static inline struct samples_hit *fixture_hits(struct fixture *fixture, uint32_t nr, bool has_counts)
{
	struct samples_hit *hits = fixture_array(nr, sizeof(*hits));

	for (uint32_t i = 0; i < nr; i++) {
		hits[i].function = fixture_number(fixture, fixture->nr_functions);
		hits[i].depth = 8 * fixture_number(fixture, 4);
		if (!has_counts)
			continue;
		hits[i].count = (uint16_t)(1 + fixture_number(fixture, 3));
		hits[i].quarter = (uint8_t)fixture_number(fixture, 4);
	}
	return hits;
}

static inline void fixture_times(struct fixture *fixture, struct samples_times *times)
{
	times->nr = fixture_number(fixture, 200);
	for (uint64_t i = 0; i < times->nr; i++) {
		uint32_t ns = 1000 + fixture_number(fixture, 50000);
		uint32_t at = times->nr_largest;

		times->sum_ns += ns;
		times->sum_squares += (unsigned __int128)ns * ns;
		times->hist[100 + ns / 500]++; /* not its bucket: only sums count here */
		if (at == SAMPLES_NR_LARGEST && ns <= times->largest_ns[at - 1])
			continue;
		if (at < SAMPLES_NR_LARGEST)
			times->nr_largest++;
		else
			at--;
		for (; at && times->largest_ns[at - 1] < ns; at--)
			times->largest_ns[at] = times->largest_ns[at - 1];
		times->largest_ns[at] = ns;
	}
}

/* Of some requests only all of their time is known. */
static inline void fixture_requests(struct fixture *fixture, struct samples_times *requests)
{
	fixture_times(fixture, &requests[0]);
	for (int part = 1; part < REQUEST_NR_PARTS && requests[0].nr % 4; part++)
		requests[part] = requests[0];
}

/* Of some units there is no account. */
static inline void fixture_parts(struct fixture *fixture, struct samples_parts *parts)
{
	fixture_times(fixture, &parts->of[SAMPLES_OWN]);
	for (int part = SAMPLES_CPU; part < SAMPLES_NR_PARTS && fixture_number(fixture, 4); part++)
		parts->of[part] = parts->of[SAMPLES_OWN];
	for (int cause = 0; cause < SAMPLES_NR_CAUSES; cause++)
		parts->added_ns[cause] = fixture_number(fixture, 1000);
	fixture_requests(fixture, parts->requests);
}

static inline void fixture_timings(struct fixture *fixture, struct samples *samples)
{
	FIXTURE_ARRAY(samples, guards, 2);
	for (uint32_t i = 0; i < samples->nr_guards; i++) {
		struct samples_guards *guards = &samples->guards[i];

		guards->functions = fixture_array(fixture->nr_functions, sizeof(uint32_t));
		for (uint32_t j = 0; j < fixture->nr_functions; j++)
			/* In all runs the same ones. */
			if (samples->functions[j].offset / 0x70 % 4 == i)
				guards->functions[guards->nr++] = j;
	}
	FIXTURE_ARRAY(samples, timings, fixture->nr_timings);
	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		struct samples_timing *timing = &samples->timings[i];

		timing->guards = fixture_number(fixture, samples->nr_guards);
		timing->loop = fixture_number(fixture, samples->nr_loops);
		timing->nr_hits = fixture_number(fixture, 3);
		timing->hits = fixture_hits(fixture, timing->nr_hits, false);
		timing->nr_contexts_hit = fixture_number(fixture, 10000);
		timing->is_carried = fixture_number(fixture, 2);
		fixture_parts(fixture, &timing->times[0]);
		fixture_parts(fixture, &timing->times[1]);
	}
}

/* Hashes are set. */
static inline void fixture_samples(struct fixture *fixture, struct samples *samples)
{
	uint32_t objects[FIXTURE_OBJECTS], loops[FIXTURE_LOOPS];

	memset(samples, 0, sizeof(*samples));
	fixture_objects(fixture, samples, objects);
	fixture_functions(fixture, samples, objects);
	fixture_shuffle(fixture, loops, FIXTURE_LOOPS, 0);
	FIXTURE_ARRAY(samples, loops, FIXTURE_LOOPS);
	for (uint32_t i = 0; i < FIXTURE_LOOPS; i++)
		fixture_loop(fixture, samples, i, loops[i], objects);
	fixture_trees(fixture, samples);
	FIXTURE_ARRAY(samples, units, fixture->nr_units);
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct samples_unit *unit = &samples->units[i];

		unit->tree = fixture_number(fixture, samples->nr_trees);
		unit->nr_hits = fixture_number(fixture, 3);
		unit->hits = fixture_hits(fixture, unit->nr_hits, true);
		unit->units[0] = fixture_number(fixture, 100);
		unit->units[1] = fixture_number(fixture, 100);
	}
	fixture_timings(fixture, samples);
	/* Some of the trees that all runs share. */
	for (uint64_t i = 0; i < 4; i++)
		if (samples_set_objective(samples, 1000 * i, fixture_number(fixture, 5)))
			abort();
	samples->runs = 1;
	samples->lost = fixture_number(fixture, 1000);
	if (samples_hash_all(samples))
		abort();
}

static inline void fixture_model(struct fixture *fixture, const struct samples *samples,
				 struct model *model)
{
	memset(model, 0, sizeof(*model));
	FIXTURE_ARRAY(model, types, 7);
	for (uint32_t i = 0; i < model->nr_types; i++) {
		struct model_type *type = &model->types[i];

		type->id = i + 1;
		type->loop = fixture_number(fixture, samples->nr_loops);
		type->example = fixture_number(fixture, samples->nr_trees);
		type->units = fixture_number(fixture, 100000);
		type->nr_trees = 1 + fixture_number(fixture, 20);
		type->nr_merged = 1;
		type->base_early = (int16_t)(-1 - (int)fixture_number(fixture, 30));
		type->base_final = (int16_t)fixture_number(fixture, 30);
		type->accuracy = fixture_number(fixture, 1001) / 1000.0;
		type->paths = fixture_number(fixture, 1000) / 7.0;
		type->functions = fixture_number(fixture, 1000) / 11.0;
		fixture_times(fixture, &type->times);
		for (int part = 0; part < SAMPLES_NR_PARTS; part++) {
			type->mean_ns[part] = fixture_number(fixture, 1000) / 3.0;
			type->limit_ns[part] = i ? 1000u * fixture_number(fixture, 5000) : 0;
		}
		for (int cause = 0; cause < SAMPLES_NR_CAUSES; cause++)
			type->added_ns[cause] = fixture_number(fixture, 20000);
		type->novel_ns = fixture_number(fixture, 20000);
		fixture_requests(fixture, type->requests);
		type->request_ns[0] = fixture_number(fixture, 20000);
		for (int part = 1; part < REQUEST_NR_PARTS; part++)
			type->request_ns[part] = type->request_ns[0] / (part + 1u);
		type->objective_ns = 1000u * fixture_number(fixture, 3);
		type->confidence = i % 4;
		type->units_needed = i % 4 < 3 ? fixture_number(fixture, 5000) : 0;
		type->false_alarms = 0.001;
		type->held_back_alarms = fixture_number(fixture, 5) / 1000.0;
		type->held_back_units = fixture_number(fixture, 5000);
	}
	FIXTURE_ARRAY(model, guards, 9);
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		model->guards[i].function = fixture_number(fixture, samples->nr_functions);
		model->guards[i].hits = fixture_number(fixture, 300) / 100.0;
		model->guards[i].most_hits = fixture_number(fixture, 30);
		model->guards[i].cost_ns = fixture_number(fixture, 3000);
	}
	FIXTURE_ARRAY(model, contexts, 30);
	FIXTURE_ARRAY(model, weights, 90);
	for (uint32_t i = 0; i < model->nr_contexts; i++) {
		model->contexts[i].loop = fixture_number(fixture, samples->nr_loops);
		model->contexts[i].guard = fixture_number(fixture, model->nr_guards);
		model->contexts[i].depth = 8 * fixture_number(fixture, 100);
		model->contexts[i].first_weight = 3 * i;
		model->contexts[i].nr_weights = 3;
	}
	for (uint32_t i = 0; i < model->nr_weights; i++) {
		model->weights[i].type = fixture_number(fixture, model->nr_types);
		model->weights[i].early = (uint8_t)fixture_number(fixture, 256);
		model->weights[i].final = (uint8_t)fixture_number(fixture, 256);
	}
	FIXTURE_ARRAY(model, predictions, samples->nr_loops);
	for (uint32_t i = 0; i < model->nr_predictions; i++) {
		model->predictions[i].loop = i;
		model->predictions[i].budget = 2;
		model->predictions[i].nr_guards = model->nr_guards;
		model->predictions[i].accuracy_end = fixture_number(fixture, 1001) / 1000.0;
		model->predictions[i].accuracy_half = fixture_number(fixture, 1001) / 1000.0;
		model->predictions[i].accuracy_unmerged = fixture_number(fixture, 1001) / 1000.0;
		model->predictions[i].threshold_right = fixture_number(fixture, 1001) / 1000.0;
		model->predictions[i].hits = fixture_number(fixture, 300) / 100.0;
		model->predictions[i].worst = fixture_number(fixture, 300);
		model->predictions[i].unseen = fixture_number(fixture, 100) / 1000.0;
		model->predictions[i].units = fixture_number(fixture, 100000);
	}
	model->nr_trees = samples->nr_trees;
	model->type_of_tree = fixture_array(model->nr_trees, sizeof(uint32_t));
	for (uint32_t i = 0; i < model->nr_trees; i++) {
		uint32_t type = fixture_number(fixture, model->nr_types + 1);

		model->type_of_tree[i] = type < model->nr_types ? type : SAMPLES_NONE;
	}
	model->budget = 0.02;
	model->false_alarm_rate = 0.001;
	model->cut = 1.0 / 3;
	strcpy(model->distance, "energy");
	strcpy(model->select, "information");
	strcpy(model->threshold_rule, "rate:0.001");
}

#endif /* _PGUARD_FIXTURE_H */
