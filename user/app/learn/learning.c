// SPDX-License-Identifier: GPL-2.0

#include "app/learn/learning.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/perfguard.h>

#include "app/common/command.h"
#include "app/learn/enough.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/time.h"
#include "out/text.h"
#include "store/profile-file.h"
#include "store/trace-file.h"
#include "train/guards/timed.h"
#include "train/model/objectives.h"
#include "train/samples/extract-timing.h"
#include "train/samples/join.h"

void learning_init(struct learning *learning)
{
	*learning = (struct learning){ 0 };
	derive_options_init(&learning->options);
	learning->options.clustering = &learning->clustering;
}

static int parse_distance(const struct option_use *use, void *to)
{
	struct cluster_options *options = to;
	int ret = option_choice(use, &options->distance);

	/* No height suits the paper's distance. */
	if (!ret && options->distance == DISTANCE_PAPER)
		options->cut = CLUSTER_CUT_GAP;
	return ret;
}

static int parse_cut(const struct option_use *use, void *to)
{
	if (strcmp(use->text, "gap"))
		return option_number(use, to);
	*(double *)to = CLUSTER_CUT_GAP;
	return 0;
}

static int parse_threshold(const struct option_use *use, void *to)
{
	if (!threshold_parse(use->text, to))
		return 0;
	return cmd_usage(use->verb, "--threshold is rate:R or sigma:K, not '%s'", use->text);
}

/* By enum distance and enum select_method. */
static const char *const distances[] = { "energy", "paper", NULL };
static const char *const selections[] = { "information", "paper", NULL };

#define AT(member) offsetof(struct learning, member)

const struct option_spec learning_options[] = {
	{ 'o', NULL, "FILE", option_string, AT(path),
	  .help = "the profile; if it exists, what is learnt is added to it" },
	{ 0, "guard-share", "PCT", option_percent, AT(options.budget),
	  .help = "share of the time that guarding may take (default: 2)", .most = 100 },
	{ 0, "budget", "PCT", option_percent, AT(options.budget), .most = 100 },
	{ 0, "hits", "N", option_number, AT(options.hits),
	  .help = "mean guard hits a unit instead of a share of the time", .most = 64 },
	{ 0, "guards", "N", option_count, AT(options.nr_guards),
	  .help = "so many guards, whatever they cost; with --select paper",
	  .most = PERFGUARD_MAX_GUARDS },
	{ 0, "threshold", "RULE", parse_threshold, AT(options.rule),
	  .help = "rate:R, at most a share R of false alarms (default: rate:0.001), or sigma:K, mean + "
	  "K deviations" },
	{ 0, "distance", "NAME", parse_distance, AT(options.cluster),
	  .help = "of call trees: energy (default) or paper", .choices = distances },
	{ 0, "cut", "HEIGHT", parse_cut, AT(options.cluster.cut),
	  .help = "distance up to which trees are of one type, or gap", .most = 1 },
	{ 0, "select", "NAME", option_choice, AT(options.select),
	  .help = "of guards: information (default) or paper", .choices = selections },
	{ 0, "limit", "[TYPE=]TIME", limit_option_parse, AT(limits),
	  .help = "what takes longer by the clock is late, whatever was learnt; kept in the "
	  "profile, none takes it off" },
	{ 0, "units", "FILE", option_string, AT(units_path),
	  .help = "list the units of the structure run, one a line" },
	{ 0 },
};

int learning_check_options(const struct learning *learning, const char *verb)
{
	if (!learning->path)
		return cmd_usage(verb, "give the file of the profile by -o FILE");
	if (learning->options.nr_guards && learning->options.select != SELECT_PAPER)
		return cmd_usage(verb, "--guards goes with --select paper only");
	return 0;
}

static int failed(int error, const char *what)
{
	log_error("%s: %s", what,
		  error == -ENOMEM ? "out of memory" :
		  error == -EBADMSG ? "the trace contradicts itself" : strerror(-error));
	return CMD_FAILED;
}

/* Types have the numbers that the profile has shown so far. */
static int set_limits(struct learning *learning)
{
	for (uint32_t i = 0; i < learning->limits.nr; i++) {
		const struct limit_option *limit = &learning->limits.of[i];
		int error = objective_set(&learning->samples, &learning->model, limit->type,
					  limit->limit_ns);

		if (error == -ENOMEM)
			return failed(error, "cannot learn");
		if (error) {
			log_error("%s has no type %" PRIu32, learning->path, limit->type);
			return CMD_FAILED;
		}
	}
	return 0;
}

int learning_check_output(const struct learning *learning)
{
	int ret = cmd_check_output(learning->path);
	struct stat st;

	if (ret || !learning->units_path)
		return ret;
	/* This list is not put in the place of what is there: it may be a pipe. */
	if (!stat(learning->units_path, &st) && !S_ISDIR(st.st_mode) &&
	    !access(learning->units_path, W_OK))
		return 0;
	return cmd_check_output(learning->units_path);
}

int learning_load(struct learning *learning)
{
	char why[PROFILE_WHY_MAX];
	int error;

	long_step_begin("reading the profile");
	error = profile_load(learning->path, &learning->samples, &learning->model,
			     &learning->training, why);
	long_step_end();
	if (!error)
		return set_limits(learning);
	learning->training = (struct training){ 0 };
	if (error == -ENOENT)
		return set_limits(learning);
	log_error("%s", why);
	return CMD_FAILED;
}

static int check_program(const struct learning *learning, const char *exe, const char *build_id)
{
	char why[PROFILE_WHY_MAX];

	if (!learning->samples.nr_objects ||
	    !profile_is_of(&learning->samples, exe, build_id, why))
		return 0;
	log_error("%s", why);
	return CMD_FAILED;
}

int learning_open(struct learning *learning, const char *exe, const char *build_id)
{
	int ret = learning_load(learning);

	return ret ? ret : check_program(learning, exe, build_id);
}

/* Check that the trace is of the profile's program, and fits what it says. */
static int check_trace(const struct learning *learning, const struct trace *trace)
{
	const struct samples *samples = &learning->samples;

	if (!trace->nr_objects) {
		log_error("the trace is of no program");
		return CMD_FAILED;
	}
	for (uint32_t i = 0; i < trace->nr_loops; i++) {
		uint32_t loop = 0;

		while (loop < samples->nr_loops && samples->loops[loop].hash != trace->loops[i])
			loop++;
		if (loop == samples->nr_loops) {
			log_error("the times were not recorded for %s", learning->path);
			return CMD_FAILED;
		}
	}
	return check_program(learning, trace->objects[0].path, trace->objects[0].build_id);
}

int learning_derive(struct learning *learning)
{
	uint64_t begin_ns = time_now_ns();
	char took[DURATION_TEXT_MAX];
	int error;

	model_deinit(&learning->model);
	long_step_begin("learning types and guards");
	error = model_derive(&learning->samples, &learning->options, &learning->model);
	long_step_end();
	if (error)
		return failed(error, "cannot learn");
	log_progress("learnt %" PRIu32 " type%s and %" PRIu32 " guard%s from %" PRIu32
		     " call tree%s in %s",
		     learning->model.nr_types, text_plural(learning->model.nr_types),
		     learning->model.nr_guards, text_plural(learning->model.nr_guards),
		     learning->samples.nr_trees, text_plural(learning->samples.nr_trees),
		     duration_format(time_now_ns() - begin_ns, took));
	return 0;
}

static int join(struct learning *learning, const struct samples *samples)
{
	int error;

	long_step_begin("joining what was learnt");
	error = samples_join(&learning->samples, samples);
	long_step_end();
	return error ? failed(error, "cannot add to the profile") : 0;
}

/* Keep of the run what identifies its units once they are joined to others. */
static int keep_units(struct learning *learning, const struct samples *samples)
{
	free(learning->tree_hashes);
	free(learning->tree_seen);
	free(learning->loop_hashes);
	learning->tree_hashes = calloc(samples->nr_trees + 1, sizeof(uint64_t));
	learning->tree_seen = calloc(samples->nr_trees + 1, sizeof(bool));
	learning->loop_hashes = calloc(samples->nr_loops + 1, sizeof(uint64_t));
	if (!learning->tree_hashes || !learning->tree_seen ||
	    !learning->loop_hashes)
		return failed(-ENOMEM, "cannot learn");
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		learning->tree_hashes[i] = samples->trees[i].hash;
		learning->tree_seen[i] = samples->trees[i].units[0] > 0;
	}
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		learning->loop_hashes[i] = samples->loops[i].hash;
	return 0;
}

int learning_add_structure(struct learning *learning, const struct trace *trace)
{
	const struct extract_contexts *contexts;
	struct samples samples;
	int ret, error;

	extract_result_deinit(&learning->units);
	long_step_begin("finding units and their call trees");
	error = extract_samples(trace, &samples, &learning->units);
	long_step_end();
	if (error)
		return failed(error, "cannot learn");
	log_progress("structure: %" PRIu64 " unit%s, %" PRIu32 " distinct call tree%s",
		     learning->units.nr_units, text_plural(learning->units.nr_units), samples.nr_trees,
		     text_plural(samples.nr_trees));
	contexts = &learning->units.contexts;
	if (contexts->calls)
		log_progress("contexts identified: %.1f %% of %" PRIu64
			     " calls, %.1f %% of %" PRIu32 " pairs of function and depth",
			     100 * (double)contexts->calls_known / (double)contexts->calls,
			     contexts->calls,
			     100 * (double)contexts->pairs_known / (double)contexts->pairs,
			     contexts->pairs);
	ret = keep_units(learning, &samples);
	if (!ret)
		ret = join(learning, &samples) ?: enough_structure(&samples, &learning->samples);
	samples_deinit(&samples);
	return ret ? ret : learning_derive(learning);
}

/* The functions that carry guards, rising; the caller's to free; NULL if no memory. */
static uint32_t *list_guards(const struct learning *learning)
{
	uint32_t *guards = calloc(learning->model.nr_guards + 1, sizeof(*guards));

	for (uint32_t i = 0; guards && i < learning->model.nr_guards; i++)
		guards[i] = learning->model.guards[i].function;
	if (guards)
		qsort(guards, learning->model.nr_guards, sizeof(*guards), order_u32);
	return guards;
}

bool learning_is_timed(const struct learning *learning)
{
	uint32_t *guards = list_guards(learning);
	bool is_timed = guards && timed_units(&learning->samples, guards,
					      learning->model.nr_guards) > 0;

	free(guards);
	return is_timed;
}

void learning_note_settings(struct learning *learning, int argc, char **argv)
{
	char *settings = learning->settings;
	size_t size = sizeof(learning->settings), used = 0;

	for (int i = 0; i < argc && used < size; i++)
		used += (size_t)snprintf(settings + used, size - used, "%s%s", i ? " " : "",
					 argv[i]);
}

int learning_add_timing(struct learning *learning, const struct trace *trace)
{
	struct samples samples;
	int ret, error;

	long_step_begin("finding units and their times");
	error = extract_timing(trace, &learning->samples, &samples);
	long_step_end();
	if (error)
		return failed(error, "cannot learn from the timing run");
	ret = join(learning, &samples) ?: enough_timing(&samples, &learning->samples);
	samples_deinit(&samples);
	return ret ? ret : learning_derive(learning);
}

int learning_add_file(struct learning *learning, const char *path)
{
	char why[TRACE_FILE_WHY_MAX];
	struct trace trace;
	int ret, error;

	long_step_begin("reading the trace");
	error = trace_file_load(path, &trace, why);
	long_step_end();
	if (error) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	ret = check_trace(learning, &trace);
	if (!ret)
		ret = trace.stage == TRACE_STAGE_TIMING ? learning_add_timing(learning, &trace) :
							  learning_add_structure(learning, &trace);
	trace_deinit(&trace);
	return ret;
}

/* The type of a tree by its hash and that of its loop; 0 for none. */
static uint32_t type_of(const struct learning *learning, uint64_t hash, uint64_t loop)
{
	const struct samples *samples = &learning->samples;

	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		uint32_t type;

		if (samples->trees[i].hash != hash ||
		    samples->loops[samples->trees[i].loop].hash != loop)
			continue;
		type = learning->model.type_of_tree[i];
		return type == SAMPLES_NONE ? 0 : learning->model.types[type].id;
	}
	return 0;
}

static int list_units(const struct learning *learning)
{
	FILE *file = fopen(learning->units_path, "we");
	int ret = 0;

	if (!file) {
		log_error("cannot write %s: %s", learning->units_path, strerror(errno));
		return CMD_FAILED;
	}
	fputs("start_ns\tend_ns\tpid\ttid\tloop\tfd\thalf\ttree\ttype\tseen\thits\n", file);
	for (uint64_t i = 0; i < learning->units.nr_units; i++) {
		const struct extract_unit *unit = &learning->units.units[i];
		uint64_t hash = learning->tree_hashes[unit->tree];

		fprintf(file,
			"%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32
			"\t%" PRId64 "\t%u\t%016" PRIx64 "\t%" PRIu32 "\t%d\t%" PRIu32 "\n",
			unit->start_ns, unit->end_ns, unit->pid, unit->tid, unit->loop + 1,
			unit->fd, unit->half, hash,
			type_of(learning, hash, learning->loop_hashes[unit->loop]),
			learning->tree_seen[unit->tree], unit->hits);
	}
	if (ferror(file) | fclose(file)) {
		log_error("cannot write %s: %s", learning->units_path, strerror(errno));
		ret = CMD_FAILED;
	}
	return ret;
}

int learning_save(struct learning *learning)
{
	struct training *training = &learning->training;
	char why[PROFILE_WHY_MAX];
	int error;

	snprintf(training->tool, sizeof(training->tool), "%s", CMD_VERSION);
	memcpy(training->settings, learning->settings, sizeof(training->settings));
	training->changed_s = (uint64_t)time(NULL);
	if (!training->created_s)
		training->created_s = training->changed_s;
	long_step_begin("writing the profile");
	error = profile_save(learning->path, &learning->samples, &learning->model, training, why);
	long_step_end();
	if (error) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	return learning->units_path && learning->tree_hashes ? list_units(learning) : 0;
}

void learning_deinit(struct learning *learning)
{
	samples_deinit(&learning->samples);
	model_deinit(&learning->model);
	clustering_deinit(&learning->clustering);
	extract_result_deinit(&learning->units);
	free(learning->tree_hashes);
	free(learning->tree_seen);
	free(learning->loop_hashes);
}
