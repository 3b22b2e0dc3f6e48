/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Comparison of two samples or models, to the last bit.  The first difference is
 * printed as a diagnosis.
 */
#ifndef _PGUARD_SAME_H
#define _PGUARD_SAME_H

#include <string.h>

#include "data/model.h"
#include "data/samples.h"
#include "tap.h"

#define SAME(a, b, field)                                    \
	do {                                                 \
		if ((a)->field != (b)->field) {              \
			diag("%s differs", #field);          \
			return false;                        \
		}                                            \
	} while (0)

static inline bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static inline bool same_hits(const struct samples_hit *a, const struct samples_hit *b, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		SAME(&a[i], &b[i], function);
		SAME(&a[i], &b[i], depth);
		SAME(&a[i], &b[i], count);
		SAME(&a[i], &b[i], quarter);
	}
	return true;
}

static inline bool same_times(const struct samples_times *a, const struct samples_times *b)
{
	SAME(a, b, nr);
	SAME(a, b, sum_ns);
	SAME(a, b, sum_squares);
	SAME(a, b, nr_largest);
	return !memcmp(a->hist, b->hist, sizeof(a->hist)) &&
	       !memcmp(a->largest_ns, b->largest_ns, a->nr_largest * sizeof(a->largest_ns[0]));
}

static inline bool same_loop(const struct samples_loop *a, const struct samples_loop *b)
{
	SAME(a, b, hash);
	SAME(a, b, nr_boundaries);
	SAME(a, b, function);
	SAME(a, b, units);
	SAME(a, b, cut_off);
	SAME(a, b, has_empty);
	SAME(a, b, foreign_stack);
	SAME(a, b, unmarked);
	for (uint32_t i = 0; i < a->nr_boundaries; i++) {
		SAME(a, b, boundaries[i].role);
		SAME(a, b, boundaries[i].syscall);
		SAME(a, b, boundaries[i].object);
		SAME(a, b, boundaries[i].return_offset);
		SAME(a, b, boundaries[i].distance);
		SAME(a, b, boundaries[i].rise);
		SAME(a, b, boundaries[i].function);
	}
	return !memcmp(a->comm, b->comm, sizeof(a->comm));
}

static inline bool same_code(const struct samples_object *a, const struct samples_object *b)
{
	SAME(a, b, code_size);
	return !a->code_size || !memcmp(a->code, b->code, a->code_size);
}

static inline bool same_structure(const struct samples *a, const struct samples *b)
{
	for (uint32_t i = 0; i < a->nr_objects; i++)
		if (!same_text(a->objects[i].path, b->objects[i].path) ||
		    !same_text(a->objects[i].build_id, b->objects[i].build_id) ||
		    !same_code(&a->objects[i], &b->objects[i]))
			return false;
	for (uint32_t i = 0; i < a->nr_functions; i++) {
		SAME(a, b, functions[i].object);
		SAME(a, b, functions[i].offset);
		SAME(a, b, functions[i].size);
		SAME(a, b, functions[i].site);
		SAME(a, b, functions[i].sp_delta);
		SAME(a, b, functions[i].cost);
		if (!same_text(a->functions[i].name, b->functions[i].name))
			return false;
	}
	for (uint32_t i = 0; i < a->nr_loops; i++)
		if (!same_loop(&a->loops[i], &b->loops[i]))
			return false;
	for (uint32_t i = 0; i < a->nr_nodes; i++) {
		SAME(a, b, nodes[i].parent);
		SAME(a, b, nodes[i].function);
	}
	return true;
}

static inline bool same_objectives(const struct samples *a, const struct samples *b)
{
	for (uint32_t i = 0; i < a->nr_objectives; i++) {
		SAME(a, b, objectives[i].tree);
		SAME(a, b, objectives[i].limit_ns);
	}
	return true;
}

static inline bool same_units(const struct samples *a, const struct samples *b)
{
	for (uint32_t i = 0; i < a->nr_trees; i++) {
		SAME(a, b, trees[i].hash);
		SAME(a, b, trees[i].loop);
		SAME(a, b, trees[i].nr_leaves);
		SAME(a, b, trees[i].units[0]);
		SAME(a, b, trees[i].units[1]);
		for (uint32_t j = 0; j < a->trees[i].nr_leaves; j++)
			SAME(a, b, trees[i].leaves[j]);
	}
	for (uint32_t i = 0; i < a->nr_units; i++) {
		SAME(a, b, units[i].hash);
		SAME(a, b, units[i].tree);
		SAME(a, b, units[i].nr_hits);
		SAME(a, b, units[i].units[0]);
		SAME(a, b, units[i].units[1]);
		SAME(a, b, units[i].least_ns);
		if (!same_hits(a->units[i].hits, b->units[i].hits, a->units[i].nr_hits))
			return false;
	}
	return true;
}

static inline bool same_requests(const struct samples_times *a, const struct samples_times *b)
{
	for (int part = 0; part < REQUEST_NR_PARTS; part++)
		if (!same_times(&a[part], &b[part]))
			return false;
	return true;
}

static inline bool same_parts(const struct samples_parts *a, const struct samples_parts *b)
{
	for (int part = 0; part < SAMPLES_NR_PARTS; part++)
		if (!same_times(&a->of[part], &b->of[part]))
			return false;
	for (int cause = 0; cause < SAMPLES_NR_CAUSES; cause++)
		SAME(a, b, added_ns[cause]);
	return same_requests(a->requests, b->requests);
}

static inline bool same_timings(const struct samples *a, const struct samples *b)
{
	for (uint32_t i = 0; i < a->nr_guards; i++) {
		SAME(a, b, guards[i].hash);
		SAME(a, b, guards[i].nr);
		for (uint32_t j = 0; j < a->guards[i].nr; j++)
			SAME(a, b, guards[i].functions[j]);
	}
	for (uint32_t i = 0; i < a->nr_timings; i++) {
		SAME(a, b, timings[i].hash);
		SAME(a, b, timings[i].guards);
		SAME(a, b, timings[i].loop);
		SAME(a, b, timings[i].nr_hits);
		SAME(a, b, timings[i].nr_contexts_hit);
		SAME(a, b, timings[i].is_carried);
		if (!same_hits(a->timings[i].hits, b->timings[i].hits, a->timings[i].nr_hits) ||
		    !same_parts(&a->timings[i].times[0], &b->timings[i].times[0]) ||
		    !same_parts(&a->timings[i].times[1], &b->timings[i].times[1]))
			return false;
	}
	return true;
}

static inline bool same_samples(const struct samples *a, const struct samples *b)
{
	SAME(a, b, nr_objects);
	SAME(a, b, nr_functions);
	SAME(a, b, nr_loops);
	SAME(a, b, nr_nodes);
	SAME(a, b, nr_trees);
	SAME(a, b, nr_units);
	SAME(a, b, nr_guards);
	SAME(a, b, nr_timings);
	SAME(a, b, nr_objectives);
	SAME(a, b, runs);
	SAME(a, b, lost);
	return same_structure(a, b) && same_units(a, b) && same_timings(a, b) &&
	       same_objectives(a, b);
}

static inline bool same_type(const struct model_type *a, const struct model_type *b)
{
	SAME(a, b, id);
	SAME(a, b, loop);
	SAME(a, b, example);
	SAME(a, b, units);
	SAME(a, b, nr_trees);
	SAME(a, b, nr_merged);
	SAME(a, b, base_early);
	SAME(a, b, base_final);
	SAME(a, b, accuracy);
	SAME(a, b, paths);
	SAME(a, b, functions);
	for (int part = 0; part < SAMPLES_NR_PARTS; part++) {
		SAME(a, b, mean_ns[part]);
		SAME(a, b, limit_ns[part]);
	}
	for (int cause = 0; cause < SAMPLES_NR_CAUSES; cause++)
		SAME(a, b, added_ns[cause]);
	SAME(a, b, novel_ns);
	for (int part = 0; part < REQUEST_NR_PARTS; part++)
		SAME(a, b, request_ns[part]);
	SAME(a, b, objective_ns);
	SAME(a, b, confidence);
	SAME(a, b, units_needed);
	SAME(a, b, false_alarms);
	SAME(a, b, held_back_alarms);
	SAME(a, b, held_back_units);
	SAME(a, b, is_carried);
	return same_times(&a->times, &b->times) && same_requests(a->requests, b->requests);
}

static inline bool same_guards(const struct model *a, const struct model *b)
{
	for (uint32_t i = 0; i < a->nr_guards; i++) {
		SAME(a, b, guards[i].function);
		SAME(a, b, guards[i].hits);
		SAME(a, b, guards[i].most_hits);
		SAME(a, b, guards[i].cost_ns);
	}
	for (uint32_t i = 0; i < a->nr_contexts; i++) {
		SAME(a, b, contexts[i].loop);
		SAME(a, b, contexts[i].guard);
		SAME(a, b, contexts[i].depth);
		SAME(a, b, contexts[i].first_weight);
		SAME(a, b, contexts[i].nr_weights);
	}
	for (uint32_t i = 0; i < a->nr_weights; i++) {
		SAME(a, b, weights[i].type);
		SAME(a, b, weights[i].early);
		SAME(a, b, weights[i].final);
	}
	return true;
}

static inline bool same_predictions(const struct model *a, const struct model *b)
{
	for (uint32_t i = 0; i < a->nr_predictions; i++) {
		SAME(a, b, predictions[i].loop);
		SAME(a, b, predictions[i].budget);
		SAME(a, b, predictions[i].nr_guards);
		SAME(a, b, predictions[i].accuracy_end);
		SAME(a, b, predictions[i].accuracy_half);
		SAME(a, b, predictions[i].accuracy_unmerged);
		SAME(a, b, predictions[i].threshold_right);
		SAME(a, b, predictions[i].hits);
		SAME(a, b, predictions[i].worst);
		SAME(a, b, predictions[i].unseen);
		SAME(a, b, predictions[i].units);
	}
	return true;
}

static inline bool same_model(const struct model *a, const struct model *b)
{
	SAME(a, b, nr_types);
	SAME(a, b, nr_guards);
	SAME(a, b, nr_contexts);
	SAME(a, b, nr_weights);
	SAME(a, b, nr_predictions);
	SAME(a, b, nr_trees);
	SAME(a, b, budget);
	SAME(a, b, false_alarm_rate);
	SAME(a, b, cut);
	for (uint32_t i = 0; i < a->nr_types; i++)
		if (!same_type(&a->types[i], &b->types[i]))
			return false;
	for (uint32_t i = 0; i < a->nr_trees; i++)
		SAME(a, b, type_of_tree[i]);
	return same_guards(a, b) && same_predictions(a, b) && same_text(a->distance, b->distance) &&
	       same_text(a->select, b->select) &&
	       same_text(a->threshold_rule, b->threshold_rule);
}

#endif /* _PGUARD_SAME_H */
