// SPDX-License-Identifier: GPL-2.0
/*
 * What goes into the module says the same as the model: tables made from it as
 * the module makes them infer the same.  And nothing damaged gets through.
 */

#include <errno.h>

#include "data/model.h"
#include "synthetic.h"
#include "tap.h"
#include "train/guards/infer-tables.h"
#include "train/guards/novelty-floor.h"
#include "train/model/derive.h"
#include "train/model/loading.h"

enum {
	DAMAGES = 4000,
	EMPTY_LOOP = 0, /* without units */
	NR_LOOPS = 3,
	OBJECTS = 4,
	LIBRARY = 2, /* the only one with functions, apart from the program */
	WAITING = 3, /* waits are in it */
};

static const struct synthetic program = {
	.types = 20, .functions = 120, .parts = 25, .parts_per_type = 4, .calls_per_part = 12,
	.noise = 3, .noise_chance = 0.3, .hot = 2, .units = 600, .stepped = 9,
};

static void add_boundaries(struct samples_loop *loop, uint32_t site)
{
	loop->boundaries = calloc(3, sizeof(*loop->boundaries));
	loop->boundaries[0] = (struct samples_boundary){
		.role = SAMPLES_ROLE_WAIT, .syscall = 232, .object = WAITING,
		.return_offset = 0x1234, .distance = 72, .rise = 480, .function = SAMPLES_NONE,
	};
	loop->boundaries[1] = (struct samples_boundary){
		.role = SAMPLES_ROLE_EVENT_CALL, .syscall = 45, .object = 0,
		.return_offset = 0x77, .distance = 40, .function = SAMPLES_NONE,
	};
	loop->boundaries[2] = (struct samples_boundary){
		.role = SAMPLES_ROLE_EVENT_SITE, .object = 0, .function = site,
	};
	loop->nr_boundaries = 3;
}

/* Units held back, the first in a context that is new, the other in those of all types. */
static void add_novel(struct samples *samples, const struct model *model)
{
	struct samples_unit *units;

	samples->units = realloc(samples->units,
				 (samples->nr_units + 2) * sizeof(*samples->units));
	units = &samples->units[samples->nr_units];
	for (uint32_t i = 0; i < 2; i++) {
		units[i] = (struct samples_unit){ .tree = 0, .units = { 0, 7 } };
		units[i].hits = calloc(model->nr_contexts + 1, sizeof(*units[i].hits));
	}
	units[0].hits[units[0].nr_hits++] = (struct samples_hit){
		.function = model->guards[0].function, .depth = 123456, .count = 1 };
	for (uint32_t i = 0; i < model->nr_contexts; i++)
		if (model->contexts[i].loop == samples->trees[0].loop)
			units[1].hits[units[1].nr_hits++] = (struct samples_hit){
				.function = model->guards[model->contexts[i].guard].function,
				.depth = model->contexts[i].depth, .count = 1 };
	samples->nr_units += 2;
}

/* Three loops, the first without units; the others share the functions. */
static void make(struct samples *samples, struct model *model)
{
	struct derive_options options;

	synthetic_make(&program, samples);
	samples->objects = calloc(OBJECTS, sizeof(*samples->objects));
	samples->nr_objects = OBJECTS;
	free(samples->loops);
	samples->loops = calloc(NR_LOOPS, sizeof(*samples->loops));
	samples->nr_loops = NR_LOOPS;
	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		samples->functions[i].object = i % 2 ? LIBRARY : 0;
		samples->functions[i].sp_delta = 8 * (i % 5);
		samples->functions[i].site += 4;
	}
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		samples->trees[i].loop = 1 + i % 2;
	derive_options_init(&options);
	options.hits = 3;
	if (model_derive(samples, &options, model)) {
		puts("Bail out! no model");
		exit(1);
	}
	/* One site is a guard already, the other one is not. */
	add_boundaries(&samples->loops[EMPTY_LOOP], 0);
	add_boundaries(&samples->loops[1], model->guards[1].function);
	for (uint32_t i = 0; i < samples->nr_functions && !samples->loops[2].boundaries; i++) {
		bool is_guard = false;

		for (uint32_t j = 0; j < model->nr_guards; j++)
			is_guard |= model->guards[j].function == i;
		if (!is_guard)
			add_boundaries(&samples->loops[2], i);
	}
	samples->loops[1].has_empty = true;
	add_novel(samples, model);
}

/* True if all that refers to something is in range, as the module checks it. */
static bool is_sound(const struct loading *loading)
{
	uint64_t weights = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < loading->nr_courses; i++)
		if (loading->courses[i].id != i + 1)
			return false;
	for (uint32_t i = 0; i < loading->nr_guards; i++)
		if (loading->guards[i].object >= loading->nr_objects)
			return false;
	for (uint32_t i = 0; i < loading->nr_boundaries; i++)
		if (loading->boundaries[i].loop >= loading->nr_courses ||
		    loading->boundaries[i].role < PERFGUARD_BOUNDARY_ROLE_WAIT ||
		    loading->boundaries[i].role > PERFGUARD_BOUNDARY_ROLE_EVENT_SITE ||
		    loading->boundaries[i].object >= loading->nr_objects ||
		    loading->boundaries[i].guard >= loading->nr_guards)
			return false;
	for (uint32_t i = 0; i < loading->nr_types; i++)
		if (loading->types[i].loop >= loading->nr_courses || !loading->types[i].id ||
		    loading->types[i].id >> 28 ||
		    (i && loading->types[i].loop < loading->types[i - 1].loop))
			return false;
	for (uint32_t i = 0; i < loading->nr_contexts; i++) {
		const struct perfguard_calling_context *context = &loading->contexts[i];
		uint32_t types = 0;

		for (uint32_t j = 0; j < loading->nr_types; j++)
			types += loading->types[j].loop == context->loop;
		if (context->loop >= loading->nr_courses ||
		    context->guard >= loading->nr_guards ||
		    (i && context->loop < loading->contexts[i - 1].loop))
			return false;
		weights += context->nr_weights;
		if (weights > loading->nr_weights)
			return false;
		for (uint32_t j = 0; j < context->nr_weights; j++, at++)
			if (loading->weights[at].type >= types ||
			    loading->weights[at].early > INFER_MAX_WEIGHT ||
			    loading->weights[at].final > INFER_MAX_WEIGHT)
				return false;
	}
	return weights == loading->nr_weights && loading->nr_guards <= PERFGUARD_MAX_GUARDS &&
	       loading->nr_types <= PERFGUARD_MAX_PROFILE_TYPES &&
	       loading->nr_contexts <= PERFGUARD_MAX_PROFILE_CONTEXTS &&
	       loading->nr_weights <= PERFGUARD_MAX_PROFILE_WEIGHTS;
}

/* The table of an event loop, from nothing but what was loaded. */
struct course {
	struct infer_table table;
	struct infer_state *state;
	uint32_t first_type;
};

static void course_init(struct course *course, const struct loading *loading, uint32_t index)
{
	struct infer_type *types = calloc(loading->nr_types + 1, sizeof(*types));
	struct infer_context *contexts = calloc(loading->nr_contexts + 1, sizeof(*contexts));
	struct infer_weight *weights = calloc(loading->nr_weights + 1, sizeof(*weights));
	uint32_t at = 0;
	void *room;

	*course = (struct course){ .first_type = UINT32_MAX };
	for (uint32_t i = 0; i < loading->nr_types; i++) {
		const struct perfguard_type *type = &loading->types[i];

		if (type->loop != index)
			continue;
		if (course->first_type == UINT32_MAX)
			course->first_type = i;
		types[course->table.nr_types++] = (struct infer_type){
			.threshold_ns = type->own_ns, .id = type->id,
			.base_early = type->base_early, .base_final = type->base_final,
			.least_final = type->least_final,
		};
	}
	for (uint32_t i = 0; i < loading->nr_contexts; i++) {
		const struct perfguard_calling_context *context = &loading->contexts[i];

		for (uint32_t j = 0; j < context->nr_weights; j++, at++) {
			if (context->loop != index)
				continue;
			weights[course->table.nr_weights + j] = (struct infer_weight){
				loading->weights[at].type, loading->weights[at].early,
				loading->weights[at].final,
			};
		}
		if (context->loop != index)
			continue;
		contexts[course->table.nr_contexts++] = (struct infer_context){
			context->guard, context->depth, course->table.nr_weights,
			context->nr_weights,
		};
		course->table.nr_weights += context->nr_weights;
	}
	course->table.types = types;
	course->table.contexts = contexts;
	course->table.weights = weights;
	room = malloc(infer_room(&course->table));
	course->state = calloc(1, infer_state_size(&course->table));
	if (infer_table_init(&course->table, room)) {
		puts("Bail out! no table");
		exit(1);
	}
}

static void course_deinit(struct course *course)
{
	free((void *)course->table.types);
	free((void *)course->table.contexts);
	free((void *)course->table.weights);
	free((void *)course->table.slots);
	free(course->state);
}

static uint32_t guard_of(const struct loading *loading, uint32_t function)
{
	for (uint32_t i = 0; i < loading->nr_guards; i++)
		if (loading->functions[i] == function)
			return i;
	return SAMPLES_NONE;
}

/* Feed the unit to a table; returns whether all its contexts are known. */
static bool meet(const struct infer_table *table, struct infer_state *state,
		 const struct loading *loading, const struct model *model,
		 const struct samples_unit *unit, bool is_model)
{
	bool is_known = true;

	infer_begin(table, state);
	for (uint32_t i = 0; i < unit->nr_hits; i++) {
		uint32_t guard = guard_of(loading, unit->hits[i].function);

		/* a site that begins events has no contexts, and says nothing */
		if (guard == SAMPLES_NONE || guard >= model->nr_guards)
			continue;
		if (is_model && model->guards[guard].function != unit->hits[i].function)
			return false;
		is_known &= infer_hit(table, state, guard, unit->hits[i].depth);
	}
	return is_known;
}

/* The same verdicts by the model's own tables and by those that were loaded. */
static void test_inference(const struct samples *samples, const struct model *model,
			   const struct loading *loading, const struct novelty_floors *floors)
{
	uint64_t novel[NR_LOOPS] = { 0 }, units[NR_LOOPS] = { 0 };
	uint32_t different = 0, unfit = 0, judged = 0;
	struct course courses[NR_LOOPS];
	struct infer_tables tables;

	if (infer_tables_init(&tables, samples, model, false))
		exit(1);
	for (uint32_t i = 0; i < loading->nr_courses; i++)
		course_init(&courses[i], loading, i);
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		const struct samples_unit *unit = &samples->units[i];
		uint32_t loop = samples->trees[unit->tree].loop;
		struct table *table = &tables.loops[loop];
		struct course *course = &courses[loop - 1];
		bool is_known, fits;

		is_known = meet(&table->table, table->state, loading, model, unit, true);
		if (meet(&course->table, course->state, loading, model, unit, false) != is_known ||
		    infer_end(&table->table, table->state) + table->first_type !=
			    infer_end(&course->table, course->state) + course->first_type ||
		    infer_early(&table->table, table->state) !=
			    infer_early(&course->table, course->state))
			different++;
		fits = is_known && infer_fits(&course->table, course->state);
		judged++;
		/* what was learnt from fits by its score; its contexts may be another type's */
		if (unit->units[0] && infer_fits(&table->table, table->state) &&
		    !infer_fits(&course->table, course->state))
			unfit++;
		units[loop] += unit->units[1];
		novel[loop] += fits ? 0 : unit->units[1];
	}
	ok(judged > 100 && !different, "%u variants: the same types", judged);
	ok(!unfit, "no unit that was learnt from is below its type's floor");
	ok(units[1] == floors->shares[1].units && novel[1] == floors->shares[1].novel &&
	   units[2] == floors->shares[2].units && novel[2] == floors->shares[2].novel,
	   "the share of novel units held back is right: %llu of %llu and %llu of %llu",
	   (unsigned long long)novel[1], (unsigned long long)units[1],
	   (unsigned long long)novel[2], (unsigned long long)units[2]);
	ok(novel[1] >= 14 && novel[1] + novel[2] < (units[1] + units[2]) / 20,
	   "those made for it, and few others");
	for (uint32_t i = 0; i < loading->nr_courses; i++)
		course_deinit(&courses[i]);
	infer_tables_deinit(&tables);
}

static void test_numbers(const struct samples *samples, const struct model *model,
			 const struct loading *loading)
{
	const struct perfguard_boundary *boundaries = loading->boundaries;
	bool are_sites = true, are_types = true, are_planned = true;
	const struct samples_function *function;
	uint32_t nr = model->nr_guards;

	ok(loading->nr_courses == 2 && loading->loops[0] == 1 && loading->loops[1] == 2 &&
	   loading->courses[0].flags == PERFGUARD_LOOP_FLAGS_HAS_EMPTY &&
	   !loading->courses[1].flags, "a loop without types is left out");
	ok(loading->nr_objects == 3 && loading->objects[0] == 0, "so is a file without guards");
	for (uint32_t i = 0; i < nr; i++) {
		function = &samples->functions[model->guards[i].function];
		are_sites &= loading->guards[i].offset == function->site &&
			     loading->guards[i].sp_delta == function->sp_delta &&
			     loading->objects[loading->guards[i].object] == function->object;
		are_planned &= i == 1 || loading->guards[i].plan >= 1024 * model->guards[i].hits;
	}
	ok(are_sites, "guards keep their numbers, sites and files");
	ok(are_planned, "and have a plan that training would not have broken");
	for (uint32_t i = 0; i < model->nr_types; i++)
		are_types &= loading->types[i].id == model->types[i].id &&
			     loading->loops[loading->types[i].loop] == model->types[i].loop;
	ok(loading->nr_types == model->nr_types && are_types, "so do types");
	ok(loading->nr_boundaries == 6 && boundaries[0].role == PERFGUARD_BOUNDARY_ROLE_WAIT &&
	   boundaries[0].loop == 0 && boundaries[0].syscall == 232 &&
	   boundaries[0].return_offset == 0x1234 && boundaries[0].distance == 72 &&
	   boundaries[0].rise == 480 && loading->objects[boundaries[0].object] == WAITING &&
	   boundaries[4].role == PERFGUARD_BOUNDARY_ROLE_EVENT_CALL && boundaries[4].loop == 1 &&
	   boundaries[4].syscall == 45 && !boundaries[4].rise, "boundaries");
	ok(boundaries[2].role == PERFGUARD_BOUNDARY_ROLE_EVENT_SITE && boundaries[2].guard == 1 &&
	   !loading->guards[1].plan, "an event site that is a guard is that guard, never shed");
	function = &samples->functions[samples->loops[2].boundaries[2].function];
	ok(loading->nr_guards == nr + 1 && boundaries[5].guard == nr &&
	   loading->guards[nr].offset == function->site && !loading->guards[nr].plan,
	   "another one becomes a guard without contexts");
}

/* Change a number of the model or the samples; *@ret_old to put it back. */
static uint32_t *damage(struct samples *samples, struct model *model, uint32_t *ret_old)
{
	static const uint32_t values[] = { 0, 1, 2, 7, 100, 65535, 65536, 1u << 28, UINT32_MAX };
	uint32_t *at, context = synthetic_below(model->nr_contexts);
	uint32_t loop = 1 + synthetic_below(2), unit = synthetic_below(samples->nr_units);

	switch (synthetic_below(15)) {
	case 0: at = &model->types[synthetic_below(model->nr_types)].loop; break;
	case 1: at = &model->types[synthetic_below(model->nr_types)].id; break;
	case 2: at = &model->guards[synthetic_below(model->nr_guards)].function; break;
	case 3: at = &model->contexts[context].loop; break;
	case 4: at = &model->contexts[context].guard; break;
	case 5: at = &model->contexts[context].first_weight; break;
	case 6: at = &model->contexts[context].nr_weights; break;
	case 7: at = &model->weights[synthetic_below(model->nr_weights)].type; break;
	case 8: at = &samples->functions[synthetic_below(samples->nr_functions)].object; break;
	case 9: at = (uint32_t *)&samples->loops[loop].boundaries[synthetic_below(3)].role; break;
	case 10: at = &samples->loops[loop].boundaries[synthetic_below(3)].object; break;
	case 11: at = &samples->loops[loop].boundaries[2].function; break;
	case 12: at = &samples->units[unit].tree; break;
	case 13: at = &samples->units[unit].hits[0].function; break;
	default: at = &samples->trees[synthetic_below(samples->nr_trees)].loop;
	}
	*ret_old = *at;
	*at = values[synthetic_below(sizeof(values) / sizeof(values[0]))];
	return at;
}

static void test_damaged(struct samples *samples, struct model *model)
{
	uint32_t refused = 0, passed = 0, unsound = 0, unexplained = 0;

	for (int i = 0; i < DAMAGES; i++) {
		struct loading loading;
		struct novelty_floors floors;
		const char *why;
		uint32_t old, *at = damage(samples, model, &old);
		int error = novelty_floors_init(&floors, samples, model);
		int16_t *least = error ? calloc(model->nr_types, sizeof(*least)) : NULL;

		/* what the floors refuse must not get through without them, either */
		error = loading_init(&loading, samples, model, least ? least : floors.least_final,
				     &why);
		if (error) {
			refused++;
			unexplained += !why;
		} else {
			passed++;
			unsound += !is_sound(&loading);
			loading_deinit(&loading);
		}
		novelty_floors_deinit(&floors);
		free(least);
		*at = old;
	}
	ok(refused > DAMAGES / 4 && passed, "%u of %d damaged models are refused", refused, DAMAGES);
	ok(!unsound, "and the other ones stay within their bounds");
	ok(!unexplained, "each time there is a reason");
}

static void test_limits(const struct samples *samples, struct model *model)
{
	int16_t *least = calloc(PERFGUARD_MAX_PROFILE_TYPES + 1, sizeof(*least));
	uint32_t nr = model->nr_contexts, nr_weights = model->nr_weights;
	struct model none = { 0 };
	struct loading loading;
	const char *why;
	int error;

	error = loading_init(&loading, samples, &none, least, &why);
	ok(error == -ENODATA && why, "nothing learnt: %s", why);
	model->contexts = realloc(model->contexts, (PERFGUARD_MAX_PROFILE_CONTEXTS + 1) *
							   sizeof(*model->contexts));
	while (model->nr_contexts <= PERFGUARD_MAX_PROFILE_CONTEXTS)
		model->contexts[model->nr_contexts++] = model->contexts[nr - 1];
	error = loading_init(&loading, samples, model, least, &why);
	ok(error == -E2BIG && why, "too many contexts: %s", why);
	model->nr_contexts = PERFGUARD_MAX_PROFILE_CONTEXTS;
	for (uint32_t i = 0; i < model->nr_contexts; i++) {
		model->contexts[i] = model->contexts[0];
		model->contexts[i].first_weight = 0;
		model->contexts[i].nr_weights = nr_weights;
	}
	/* as a file might say it that is to take all memory */
	for (uint32_t i = 0; i < nr_weights; i++)
		model->weights[i].type = model->weights[0].type;
	error = loading_init(&loading, samples, model, least, &why);
	ok(error == -E2BIG && why, "too many weights: %s", why);
	free(least);
}

int main(void)
{
	struct samples samples;
	struct loading loading;
	struct novelty_floors floors;
	struct model model;
	const char *why;

	plan(20);
	make(&samples, &model);
	diag("%u types, %u guards, %u contexts, %u weights", model.nr_types, model.nr_guards,
	     model.nr_contexts, model.nr_weights);
	ok(!novelty_floors_init(&floors, &samples, &model), "floors");
	ok(!loading_init(&loading, &samples, &model, floors.least_final, &why) &&
	   is_sound(&loading), "tables for the module");
	test_numbers(&samples, &model, &loading);
	test_inference(&samples, &model, &loading, &floors);
	test_damaged(&samples, &model);
	test_limits(&samples, &model);
	loading_deinit(&loading);
	novelty_floors_deinit(&floors);
	samples_deinit(&samples);
	model_deinit(&model);
	return tap_status();
}
