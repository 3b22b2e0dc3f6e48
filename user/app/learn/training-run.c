// SPDX-License-Identifier: GPL-2.0

#include "app/learn/training-run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/arm/cost-estimate.h"
#include "app/common/command.h"
#include "app/common/program-traits.h"
#include "app/learn/dry-run.h"
#include "base/log.h"
#include "base/long-step.h"
#include "out/text.h"
#include "store/trace-file.h"

/* A second one if the first one changed the guards. */
enum {
	MAX_TIMINGS = 2,
};

#define DEFAULT_SLOWDOWN 0.5

#define AT(member) offsetof(struct training_run, member)

/* A limit that is not finite is none. */
static int option_slowdown(const struct option_use *use, void *to)
{
	struct slowdown *slowdown = to;

	if (strcmp(use->text, "none") != 0)
		return option_percent(use, &slowdown->most);
	slowdown->most = INFINITY;
	return 0;
}

const struct option_spec training_run_options[] = {
	{ 0, "workload", "CMD", option_string, AT(recording.workload),
	  .help = "a shell command that makes the load: it is run once in each stage, and ends it" },
	{ 0, "max-slowdown", "PCT", option_slowdown, AT(recording.slowdown),
	  .help = "how much slower the program may become while its structure is recorded, on average; "
	  "none: as much as it takes (default: 50, and none with --workload)" },
	{ 0, "inline", NULL, option_flag, AT(recording.is_inline),
	  .help = "record by jumps where code allows it, which changes the processes' own copies "
	  "of the code meanwhile: a call takes some 14 instructions, instead of 950; and choose guards "
	  "for 'pg-collect arm --inline'" },
	NAMED_WAIT_OPTION(AT(recording.session.named)),
	{ 0, "canary", "N", option_count, AT(recording.session.selector.canary),
	  .most = ARMED_SCOPE_MAX_PIDS,
	  .help = "only N of the chosen processes, by chance, but not one that has started others of "
	  "them if there are enough without" },
	{ 0, "workload-may-fail", NULL, option_flag, AT(recording.is_load_loose),
	  .help = "learn also if that command ends with an error" },
	{ 0 },
};

void training_run_init(struct training_run *run, const char *verb, uint64_t duration_ns)
{
	*run = (struct training_run){ .duration_ns = duration_ns, .runs = 1 };
	recording_init(&run->recording);
	run->recording.session.verb = verb;
	learning_init(&run->learning);
}

/* One timing run.  Sets *@ret_timed if the guards at hand were on in a run. */
static int time_units(struct training_run *run, bool *ret_timed)
{
	struct learning *learning = &run->learning;
	int ret = recording_timing(&run->recording, &learning->samples, &learning->model);

	if (!ret)
		ret = learning_add_timing(learning, &run->recording.trace);
	*ret_timed = !ret && learning_is_timed(learning);
	return ret;
}

/*
 * How many hits the budget allows is known when units have been timed, so the
 * guards can be others after the first timing; then these are timed, too.
 */
static int train_once(struct training_run *run)
{
	bool is_timed = false;
	int ret = recording_structure(&run->recording);

	/* It is not if the program has no jumps. */
	run->learning.options.is_inline = run->recording.is_inline;
	if (!ret)
		ret = learning_add_structure(&run->learning, &run->recording.trace);
	for (int i = 0; i < MAX_TIMINGS && !ret && !is_timed; i++)
		ret = time_units(run, &is_timed);
	return ret ? ret : learning_save(&run->learning);
}

static void report_trained(const struct training_run *run)
{
	const struct model *model = &run->learning.model;

	printf("%s: %" PRIu32 " type%s of units, %" PRIu32 " guard%s\n", run->learning.path,
	       model->nr_types, text_plural(model->nr_types), model->nr_guards,
	       text_plural(model->nr_guards));
	for (uint32_t i = 0; i < model->nr_predictions; i++) {
		const struct model_prediction *prediction = &model->predictions[i];

		if (!prediction->units)
			continue;
		printf("loop %" PRIu32 ": type right in %.1f %% of units at their end, %.2f hits a unit\n",
		       prediction->loop + 1, 100 * prediction->accuracy_end, prediction->hits);
	}
	recording_report_lost(&run->recording);
	log_progress("what it knows: pg-collect show %s", run->learning.path);
	log_progress("guard the program by it: pg-collect arm %s", run->learning.path);
}

/* Production is not to come to a stand for it; a workload is there for nothing else. */
static int limit_slowdown(struct training_run *run)
{
	struct slowdown *slowdown = &run->recording.slowdown;
	struct armed_prices prices = { 0 };
	int ret;

	if (!(slowdown->most > 0) && !run->recording.workload)
		slowdown->most = DEFAULT_SLOWDOWN;
	if (!isfinite(slowdown->most))
		slowdown->most = 0;
	if (!(slowdown->most > 0))
		return 0;
	ret = price_measure(&prices);
	slowdown->hit_ns = prices.kernel_hit_ns + prices.handler_ns;
	return ret;
}

static int train(struct training_run *run)
{
	const struct selector *selector = &run->recording.session.selector;
	uint64_t share_ns = run->duration_ns / run->runs / 6;
	uint64_t *stage_ns = run->recording.stage_ns;
	int ret = learning_check_output(&run->learning) ?: limit_slowdown(run);

	if (ret)
		return ret;
	/* Coverage is quick; structure needs most, as the program is slow then. */
	stage_ns[RECORDING_COVERAGE] = share_ns;
	stage_ns[RECORDING_STRUCTURE] = 3 * share_ns;
	stage_ns[RECORDING_TIMING] = 2 * share_ns;
	if (run->is_dry)
		return dry_run(&run->recording);
	ret = recording_begin(&run->recording);
	if (!ret)
		ret = learning_open(&run->learning, selector->path, selector->build_id);
	for (uint32_t i = 0; i < run->runs && !ret; i++)
		ret = train_once(run);
	if (!ret)
		report_trained(run);
	return ret;
}

static int record_timing(struct training_run *run)
{
	const struct selector *selector = &run->recording.session.selector;
	struct learning *learning = &run->learning;
	int ret = learning_open(learning, selector->path, selector->build_id);

	if (ret)
		return ret;
	if (learning->model.nr_types)
		return recording_timing(&run->recording, &learning->samples, &learning->model);
	log_error("%s has no guards yet: pg-collect learn makes them", learning->path);
	return CMD_FAILED;
}

static int record(struct training_run *run)
{
	struct recording *recording = &run->recording;
	uint64_t *stage_ns = recording->stage_ns;
	char why[TRACE_FILE_WHY_MAX];
	int error, ret = cmd_check_output(run->trace_path) ?: limit_slowdown(run);

	if (ret)
		return ret;
	/* Coverage is quick; timing needs none. */
	stage_ns[RECORDING_COVERAGE] = run->duration_ns / 4;
	stage_ns[RECORDING_STRUCTURE] = 3 * stage_ns[RECORDING_COVERAGE];
	stage_ns[RECORDING_TIMING] = run->duration_ns;
	ret = recording_begin(recording);
	if (!ret)
		ret = run->learning.path ? record_timing(run) : recording_structure(recording);
	if (ret)
		return ret;
	long_step_begin("writing the trace");
	error = trace_file_save(run->trace_path, &recording->trace, why);
	long_step_end();
	if (error) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	recording_report_lost(recording);
	log_progress("%zu events in %s", recording->trace.nr_events, run->trace_path);
	return 0;
}

static int run_stages(struct training_run *run, int (*stages)(struct training_run *run))
{
	const struct selector *selector = &run->recording.session.selector;
	int ret = selector_resolve(&run->recording.session.selector);

	if (!ret)
		ret = program_traits_admit(selector);
	if (!ret)
		ret = stages(run);
	long_step_begin("unhooking the program");
	session_finish(&run->recording.session);
	recording_deinit(&run->recording);
	long_step_end();
	learning_deinit(&run->learning);
	return ret;
}

int training_run_train(struct training_run *run)
{
	return run_stages(run, train);
}

int training_run_record(struct training_run *run)
{
	return run_stages(run, record);
}
