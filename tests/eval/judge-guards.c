// SPDX-License-Identifier: GPL-2.0
/*
 * Judge a recording of record-guards: whether the module infers the same as the
 * reference, and the share of units whose type it infers right.
 *
 * usage: judge-guards PROFILE TRACE [hits:H | budget:PCT]...
 *
 * PROFILE is the one that was armed.  For each budget the guards are chosen
 * again, and their inference for the units of the trace is printed with the
 * prediction of training.  Prints JSON, an object a line, of these kinds:
 *
 *	replay	the module compared with the reference
 *	loop	units of an event loop: how many the module recognised
 *	budget	the same by guards of another budget, offline
 *
 * Exit: 0 it was judged, 1 it could not be, 2 usage
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "out/json.h"
#include "replay.h"
#include "store/profile-file.h"
#include "store/trace-file.h"
#include "train/model/derive.h"
#include "train/guards/novelty-floor.h"
#include "truth.h"

enum { MAX_CONFUSED = 5 };

struct judge {
	struct samples samples;
	struct samples joined;
	struct model model; /* that was armed */
	struct loading loading; /* as it was armed */
	struct novelty_floors floors;
	struct trace trace;
	struct replay replay;
	struct truth truth;
	uint32_t *types; /* by tree of the run */
	size_t *reported; /* by unit of the truth: index of the module's, SIZE_MAX for none */
	struct json json;
};

/* Units of a loop, by the result of the inference. */
struct score {
	uint64_t units;
	uint64_t reported; /* by the module, too */
	uint64_t right;
	uint64_t unseen; /* of trees that training had not seen */
	uint64_t unseen_right;
	uint64_t threshold_right; /* the inferred type's within 0.8 to 1.25 of the true one's */
	uint64_t paper_right; /* by the paper's rule on the same hits */
	uint64_t novel;
	uint64_t hits;
	uint64_t worst; /* hits of one unit */
};

static int fail(const char *what, const char *why)
{
	log_error("%s: %s", what, why);
	return 1;
}

static int load(struct judge *judge, char **paths)
{
	static char why[PROFILE_WHY_MAX];
	struct training training;
	struct model model;

	if (profile_load(paths[0], &judge->samples, &judge->model, &training, why) ||
	    profile_load(paths[0], &judge->joined, &model, &training, why))
		return fail("profile", why);
	model_deinit(&model);
	if (trace_file_load(paths[1], &judge->trace, why))
		return fail("trace", why);
	return 0;
}

static bool threshold_is_right(const struct model *model, uint32_t type, uint32_t is)
{
	double own, right, ratio;

	if (type == is)
		return true;
	if (type == SAMPLES_NONE || is == SAMPLES_NONE)
		return false;
	own = (double)model->types[type].limit_ns[SAMPLES_OWN];
	right = (double)model->types[is].limit_ns[SAMPLES_OWN];
	if (!own || !right)
		return false;
	ratio = own / right;
	return ratio >= 0.8 && ratio <= 1.25;
}

static void add_verdict(struct score *score, const struct model *model, uint32_t is,
			uint32_t inferred, bool is_learnt)
{
	bool is_right = is != SAMPLES_NONE && is == inferred;

	score->reported++;
	score->right += is_right;
	score->unseen += !is_learnt;
	score->unseen_right += !is_learnt && is_right;
	score->threshold_right += threshold_is_right(model, inferred, is);
}

static void json_score(struct json *json, const struct score *score)
{
	json_u64(json, "units", score->units);
	json_u64(json, "reported", score->reported);
	json_u64(json, "right", score->right);
	json_u64(json, "unseen", score->unseen);
	json_u64(json, "unseen_right", score->unseen_right);
	json_u64(json, "threshold_right", score->threshold_right);
	json_u64(json, "hits", score->hits);
	json_u64(json, "worst", score->worst);
}

static void json_prediction(struct json *json, const struct model *model, uint32_t loop)
{
	for (uint32_t i = 0; i < model->nr_predictions; i++) {
		const struct model_prediction *prediction = &model->predictions[i];

		if (prediction->loop != loop)
			continue;
		json_object(json, "predicted");
		json_real(json, "accuracy", prediction->accuracy_end);
		json_real(json, "unmerged", prediction->accuracy_unmerged);
		json_real(json, "threshold_right", prediction->threshold_right);
		json_real(json, "planned_hits", prediction->budget);
		json_real(json, "hits", prediction->hits);
		json_u64(json, "worst", prediction->worst);
		json_real(json, "unseen", prediction->unseen);
		json_u64(json, "guards", prediction->nr_guards);
		json_u64(json, "units", prediction->units);
		json_end(json);
	}
}

static uint32_t count_types(const struct model *model, uint32_t loop)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < model->nr_types; i++)
		nr += model->types[i].loop == loop;
	return nr;
}

/* The pairs of true and inferred type that are mistaken most often. */
static void json_confused(struct judge *judge, const uint64_t *confused)
{
	uint32_t nr = judge->model.nr_types + 1;
	uint64_t last = UINT64_MAX;
	size_t last_at = 0;

	json_array(&judge->json, "confused");
	for (int n = 0; n < MAX_CONFUSED; n++) {
		uint64_t most = 0;
		size_t at = 0;

		for (size_t i = 0; i < (size_t)nr * nr; i++)
			if (confused[i] > most &&
			    (confused[i] < last || (confused[i] == last && i > last_at))) {
				most = confused[i];
				at = i;
			}
		if (!most)
			break;
		last = most;
		last_at = at;
		json_object(&judge->json, NULL);
		json_u64(&judge->json, "units", most);
		json_u64(&judge->json, "is", at / nr ? judge->model.types[at / nr - 1].id : 0);
		json_u64(&judge->json, "inferred",
			 at % nr ? judge->model.types[at % nr - 1].id : 0);
		json_end(&judge->json);
	}
	json_end(&judge->json);
}

/* Share of units that fit no type, of those that training held back. */
static double predicted_novel(const struct judge *judge, uint32_t loop)
{
	const struct novelty_floor_share *share = &judge->floors.shares[loop];

	return share->units ? (double)share->novel / (double)share->units : 0;
}

static int judge_loop(struct judge *judge, uint32_t loop)
{
	uint32_t nr = judge->model.nr_types + 1;
	uint64_t *confused = calloc((size_t)nr * nr, sizeof(*confused));
	const struct truth *truth = &judge->truth;
	struct json *json = &judge->json;
	struct score score = { 0 };
	uint64_t all = 0;

	if (!confused)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_units; i++) {
		const struct truth_unit *unit = &truth->units[i];
		const struct replay_unit *reported;
		uint32_t is = judge->types[unit->tree];

		if (unit->loop != loop)
			continue;
		score.units++;
		if (judge->reported[i] == SIZE_MAX)
			continue;
		reported = &judge->replay.units[judge->reported[i]];
		add_verdict(&score, &judge->model, is, reported->type, truth->is_learnt[unit->tree]);
		score.paper_right += is != SAMPLES_NONE && is == reported->paper;
		score.novel += reported->is_novel;
		score.hits += reported->hits;
		score.worst = reported->hits > score.worst ? reported->hits : score.worst;
		if (is != reported->type)
			confused[(size_t)(is + 1) * nr + (reported->type + 1)]++;
	}
	for (size_t i = 0; i < judge->replay.nr_units; i++)
		all += judge->replay.units[i].loop == loop;
	json_object(json, NULL);
	json_string(json, "kind", "loop");
	json_u64(json, "loop", loop + 1);
	json_u64(json, "types", count_types(&judge->model, loop));
	json_u64(json, "module_units", all);
	json_score(json, &score);
	json_u64(json, "paper_right", score.paper_right);
	json_u64(json, "novel", score.novel);
	json_real(json, "predicted_novel", predicted_novel(judge, loop));
	json_confused(judge, confused);
	json_prediction(json, &judge->model, loop);
	json_end(json);
	free(confused);
	return json_end_line(json, stdout);
}

static int judge_replay(struct judge *judge)
{
	const struct replay *replay = &judge->replay;
	struct json *json = &judge->json;

	json_object(json, NULL);
	json_string(json, "kind", "replay");
	json_u64(json, "hits", replay->hits);
	json_u64(json, "wrong_hits", replay->wrong_hits);
	json_u64(json, "units", replay->known_units);
	json_u64(json, "wrong_units", replay->wrong_units);
	json_u64(json, "wrong_novel", replay->wrong_novel);
	json_u64(json, "all_units", replay->nr_units);
	json_u64(json, "unknown_hits", replay->unknown_hits);
	json_u64(json, "misplaced_hits", replay->misplaced_hits);
	json_u64(json, "missed_hits", replay->missed_hits);
	json_u64(json, "losses", replay->losses);
	json_u64(json, "lost", judge->trace.lost);
	json_u64(json, "strange", replay->strange);
	json_u64(json, "boundaries", judge->truth.nr_boundaries);
	json_u64(json, "equal_boundaries", judge->truth.nr_equal);
	json_u64(json, "foreign_units", judge->truth.nr_foreign);
	json_string(json, "why", replay->why[0] ? replay->why : NULL);
	json_end(json);
	return json_end_line(json, stdout);
}

/* The type that the guards of a model would infer for a variant of unit. */
static uint32_t infer_variant(const struct judge *judge, const struct model *model,
			      const uint32_t *guard_of, uint32_t loop, uint32_t variant,
			      uint32_t *ret_hits)
{
	const struct samples_unit *unit = &judge->truth.run.units[variant];
	uint32_t *met = calloc((size_t)unit->nr_hits + 1, sizeof(*met));
	uint32_t nr = 0, type = SAMPLES_NONE;
	int score;

	*ret_hits = 0;
	for (uint32_t i = 0; i < unit->nr_hits && met; i++) {
		uint32_t function = judge->truth.function_of[unit->hits[i].function];
		uint32_t guard = function == SAMPLES_NONE ? SAMPLES_NONE : guard_of[function];
		uint32_t context;

		if (guard == SAMPLES_NONE)
			continue;
		*ret_hits += unit->hits[i].count;
		context = replay_context(model, loop, guard, unit->hits[i].depth);
		if (context != SAMPLES_NONE)
			met[nr++] = context;
	}
	if (met)
		type = replay_type(model, loop, met, nr, true, &score);
	free(met);
	return type;
}

struct guess {
	bool is_made;
	uint32_t type;
	uint32_t hits;
};

static int rate_loop(struct judge *judge, const struct model *model, const uint32_t *types,
		     const uint32_t *guard_of, const char *name, uint32_t loop)
{
	const struct truth *truth = &judge->truth;
	struct guess *guesses = calloc((size_t)truth->run.nr_units + 1, sizeof(*guesses));
	struct json *json = &judge->json;
	struct score score = { 0 };

	if (!guesses)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_units; i++) {
		const struct truth_unit *unit = &truth->units[i];
		struct guess *guess = &guesses[unit->variant == SAMPLES_NONE ? 0 : unit->variant];

		if (unit->loop != loop)
			continue;
		score.units++;
		if (unit->variant == SAMPLES_NONE)
			continue;
		if (!guess->is_made)
			guess->type = infer_variant(judge, model, guard_of, loop, unit->variant,
						    &guess->hits);
		guess->is_made = true;
		add_verdict(&score, model, types[unit->tree], guess->type,
			    truth->is_learnt[unit->tree]);
		score.hits += guess->hits;
		score.worst = guess->hits > score.worst ? guess->hits : score.worst;
	}
	json_object(json, NULL);
	json_string(json, "kind", "budget");
	json_string(json, "budget", name);
	json_u64(json, "loop", loop + 1);
	json_u64(json, "types", count_types(model, loop));
	json_score(json, &score);
	json_prediction(json, model, loop);
	json_end(json);
	free(guesses);
	return json_end_line(json, stdout);
}

static int rate_model(struct judge *judge, const struct model *model, const char *name)
{
	const struct samples *samples = &judge->samples;
	uint32_t *types = calloc((size_t)judge->truth.run.nr_trees + 1, sizeof(*types));
	uint32_t *guard_of = calloc((size_t)samples->nr_functions + 1, sizeof(*guard_of));
	int error = types && guard_of ? 0 : -ENOMEM;

	if (!error)
		truth_types(&judge->truth, samples, model, types);
	for (uint32_t i = 0; i < samples->nr_functions && !error; i++)
		guard_of[i] = SAMPLES_NONE;
	for (uint32_t i = 0; i < model->nr_guards && !error; i++)
		guard_of[model->guards[i].function] = i;
	for (uint32_t i = 0; i < samples->nr_loops && !error; i++)
		if (count_types(model, i))
			error = rate_loop(judge, model, types, guard_of, name, i);
	free(types);
	free(guard_of);
	return error;
}

/* "hits:2" or "budget:0.5", a share of the time in percent. */
static int rate_budget(struct judge *judge, const char *name)
{
	struct derive_options options;
	const char *number = strchr(name, ':');
	struct model model;
	int error;

	derive_options_init(&options);
	if (number && !strncmp(name, "hits:", 5))
		options.hits = atof(number + 1);
	else if (number && !strncmp(name, "budget:", 7))
		options.budget = atof(number + 1) / 100;
	else
		return -EINVAL;
	error = model_derive(&judge->samples, &options, &model);
	if (error)
		return error;
	error = rate_model(judge, &model, name);
	model_deinit(&model);
	return error;
}

static int make_loading(struct judge *judge)
{
	const char *why;
	int error = novelty_floors_init(&judge->floors, &judge->samples, &judge->model);

	if (error)
		return error;
	return loading_init(&judge->loading, &judge->samples, &judge->model,
			    judge->floors.least_final, &why);
}

static int judge_all(struct judge *judge, char **budgets)
{
	int error = make_loading(judge);

	if (!error)
		error = replay_run(&judge->trace, &judge->samples, &judge->model, &judge->loading,
				   &judge->replay);
	if (!error)
		error = truth_find(&judge->trace, &judge->samples, &judge->joined, &judge->truth);
	if (error)
		return error;
	judge->types = calloc((size_t)judge->truth.run.nr_trees + 1, sizeof(*judge->types));
	judge->reported = calloc(judge->truth.nr_units + 1, sizeof(*judge->reported));
	error = judge->types && judge->reported ? 0 : -ENOMEM;
	if (!error)
		error = truth_align(&judge->truth, &judge->trace, &judge->replay, judge->reported);
	if (!error)
		truth_types(&judge->truth, &judge->samples, &judge->model, judge->types);
	if (!error)
		error = judge_replay(judge);
	for (uint32_t i = 0; i < judge->samples.nr_loops && !error; i++)
		if (count_types(&judge->model, i))
			error = judge_loop(judge, i);
	if (!error)
		error = rate_model(judge, &judge->model, "armed");
	for (; *budgets && !error; budgets++)
		error = rate_budget(judge, *budgets);
	return error;
}

int main(int argc, char **argv)
{
	static struct judge judge;
	int ret;

	if (argc < 3) {
		fputs("usage: judge-guards PROFILE TRACE [hits:H | budget:PCT]...\n", stderr);
		return 2;
	}
	ret = load(&judge, argv + 1);
	if (ret)
		return ret;
	ret = judge_all(&judge, argv + 3);
	if (ret)
		fail(argv[2], strerror(-ret));
	truth_deinit(&judge.truth);
	replay_deinit(&judge.replay);
	loading_deinit(&judge.loading);
	novelty_floors_deinit(&judge.floors);
	trace_deinit(&judge.trace);
	samples_deinit(&judge.samples);
	samples_deinit(&judge.joined);
	model_deinit(&judge.model);
	json_deinit(&judge.json);
	free(judge.types);
	free(judge.reported);
	return ret ? 1 : 0;
}
