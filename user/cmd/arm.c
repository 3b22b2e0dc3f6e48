// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/arm/arming.h"
#include "app/arm/hit-benchmark.h"
#include "app/common/command.h"
#include "base/log.h"
#include "base/time.h"
#include "link/link.h"
#include "out/text.h"

static const char help[] =
	"usage: pg-collect arm [OPTION...] FILE...\n"
	"\n"
	"Guard the program of each profile FILE from now on: its processes that run,\n"
	"and those started later.  A unit that takes longer than its type may is late,\n"
	"and told by 'pg-collect watch'.  Ends with 'pg-collect disarm'.\n"
	"\n"
	"What is guarded already changes to the new profile without a gap.\n"
	"\n"
	"  -p PID        look for the program and its libraries where process PID, in a\n"
	"                container perhaps, has them\n"
	"  --budget PCT  what guarding may take of the program's CPU time (default: 2);\n"
	"                guards are taken off for a time, the dearest first, so that it\n"
	"                takes no more; none for no limit\n"
	"  --infer RULE  how a unit's type is inferred: weights (default), or paper, the\n"
	"                plain count of guard hits, for comparison\n"
	"  --help        print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed (a FILE was not armed; what it had been before\n"
	"stays), 2 wrong usage, 3 not possible on this machine.\n";

enum {
	OPTION_INFER = 256,
	OPTION_BUDGET,
	PPM_PER_PERCENT = 10000,
	DEFAULT_PPM = 2 * PPM_PER_PERCENT,
};

/* A FILE of the command line; those that were refused stay out. */
struct file {
	struct arming arming;
	bool is_loaded;
};

struct arm {
	struct file *files;
	uint32_t nr;
	bool is_paper;
	struct armed_prices prices;
	char root[32]; /* of the files, "" for all */
	/* What was armed before. */
	struct armed_profile *profiles;
	uint32_t nr_profiles;
};

static int parse_pid(struct arm *arm, const char *verb, const char *text)
{
	uint32_t pid;
	int ret = cmd_parse_count(verb, "-p", text, &pid);

	if (!ret)
		snprintf(arm->root, sizeof(arm->root), "/proc/%" PRIu32 "/root", pid);
	return ret;
}

static int parse_budget(struct arm *arm, const char *verb, const char *text)
{
	double percent;
	char *end;

	if (!strcmp(text, "none")) {
		arm->prices.budget_ppm = 0;
		return 0;
	}
	errno = 0;
	percent = strtod(text, &end);
	if (errno || end == text || *end || !(percent * PPM_PER_PERCENT >= 1) || percent > 100)
		return cmd_usage(verb, "--budget wants none, or a number above 0 and up to 100, not '%s'",
				 text);
	arm->prices.budget_ppm = (uint32_t)(percent * PPM_PER_PERCENT + 0.5);
	return 0;
}

static int parse_option(struct arm *arm, char **argv, int option)
{
	switch (option) {
	case 'p':
		return parse_pid(arm, argv[0], optarg);
	case OPTION_BUDGET:
		return parse_budget(arm, argv[0], optarg);
	case OPTION_INFER:
		arm->is_paper = !strcmp(optarg, "paper");
		if (!arm->is_paper && strcmp(optarg, "weights"))
			return cmd_usage(argv[0], "--infer is weights or paper, not '%s'",
					 optarg);
		return 0;
	case 'h':
		fputs(help, stdout);
		exit(CMD_OK);
	}
	return cmd_bad_option(argv, option);
}

static int parse(int argc, char **argv, struct arm *arm)
{
	static const struct option options[] = {
		{ "infer", required_argument, NULL, OPTION_INFER },
		{ "budget", required_argument, NULL, OPTION_BUDGET },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, ret;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":p:h", options, NULL)) != -1) {
		ret = parse_option(arm, argv, option);
		if (ret)
			return ret;
	}
	if (optind == argc)
		return cmd_usage(argv[0], "give a profile");
	return 0;
}

/* The most serious of both. */
static int worse(int a, int b)
{
	return a > b ? a : b;
}

static int load_files(struct arm *arm, char **paths)
{
	int worst = 0;

	for (uint32_t i = 0; i < arm->nr; i++) {
		struct file *file = &arm->files[i];
		int ret = arming_load(&file->arming, paths[i], arm->root, arm->is_paper);

		file->is_loaded = !ret;
		worst = worse(worst, ret);
	}
	return worst;
}

/* Which of two profiles of a program is meant cannot be known. */
static int refuse_same(const struct arm *arm)
{
	for (uint32_t i = 0; i < arm->nr; i++) {
		const struct arming *a = &arm->files[i].arming;

		for (uint32_t j = 0; j < i; j++) {
			const struct arming *b = &arm->files[j].arming;

			if (!arm->files[i].is_loaded || !arm->files[j].is_loaded ||
			    a->dev != b->dev || a->inode != b->inode)
				continue;
			log_error("%s and %s are both of %s; give one of them", b->path, a->path,
				  a->samples.objects[0].path);
			return CMD_FAILED;
		}
	}
	return 0;
}

static void heading(const char *name)
{
	printf("  %-10s ", name);
}

static void counted(uint64_t nr, const char *noun, const char *plural)
{
	char text[TEXT_MAX];

	printf("%s %s", text_count(nr, text), nr == 1 ? noun : plural);
}

/* Who carries out the instructions under the guards. */
static void print_ways(struct link *link, uint32_t id)
{
	uint32_t ways[PERFGUARD_STEP_MODE_STEPPED + 1] = { 0 }, nr;
	struct armed_guard *guards;

	if (link_guards(link, id, &guards, &nr) || !nr)
		return;
	for (uint32_t i = 0; i < nr; i++)
		if (guards[i].step_mode <= PERFGUARD_STEP_MODE_STEPPED)
			ways[guards[i].step_mode]++;
	free(guards);
	heading("");
	printf("%" PRIu32 " emulated by the kernel, %" PRIu32 " by the module, ",
	       ways[PERFGUARD_STEP_MODE_KERNEL], ways[PERFGUARD_STEP_MODE_MODULE]);
	if (ways[PERFGUARD_STEP_MODE_STEPPED])
		printf("%" PRIu32 " single-stepped (slow)\n", ways[PERFGUARD_STEP_MODE_STEPPED]);
	else
		puts("none single-stepped");
}

static void print_expected(const struct arming *arming)
{
	double units = 0, right = 0, hits = 0, novel;

	for (uint32_t i = 0; i < arming->model.nr_predictions; i++) {
		const struct model_prediction *prediction = &arming->model.predictions[i];

		units += (double)prediction->units;
		right += prediction->accuracy_end * (double)prediction->units;
		hits += prediction->hits * (double)prediction->units;
	}
	if (!(units > 0))
		return;
	novel = floors_novel(&arming->floors, arming->samples.nr_loops);
	heading("expected");
	if (arming->is_paper) {
		printf("%.2f hits a unit; how often the paper's rule is right is not known\n",
		       hits / units);
		return;
	}
	printf("type right in %.1f %% of units, %.2f hits a unit\n", 100 * right / units,
	       hits / units);
	if (novel >= 0) {
		heading("");
		printf("%.2f %% of units like none that training saw\n", 100 * novel);
	}
}

static void print_budget(const struct armed_prices *prices)
{
	uint32_t hit_ns = prices->kernel_hit_ns + prices->handler_ns;

	heading("budget");
	if (!prices->budget_ppm) {
		puts("none");
		return;
	}
	printf("%g %% of its CPU time; a hit takes %.2f us here", prices->budget_ppm / 1e4,
	       hit_ns / 1e3);
	printf(", a unit %.2f us\n", (prices->call_ns + prices->unit_ns) / 1e3);
}

/* What the thresholds are worth; nothing to say where each is sure. */
static void print_thresholds(const struct model *model)
{
	uint32_t unsure = 0, none = 0;

	for (uint32_t i = 0; i < model->nr_types; i++) {
		if (!model->types[i].threshold_ns)
			none++;
		else if (model->types[i].confidence != MODEL_CONFIDENCE_FULL)
			unsure++;
	}
	heading("late");
	printf("by %s", model->threshold_rule);
	if (unsure)
		printf("; %" PRIu32 " of %" PRIu32 " types were seen too rarely to be sure",
		       unsure, model->nr_types);
	putchar('\n');
	if (none) {
		heading("");
		printf("%" PRIu32 " type%s never late: no unit was timed\n", none,
		       none == 1 ? " is" : "s are");
	}
}

static void print_replaced(const struct arm *arm, const struct arming *arming)
{
	for (uint32_t i = 0; i < arm->nr_profiles; i++) {
		const struct armed_profile *profile = &arm->profiles[i];
		char time[CLOCK_TEXT_MAX];

		if (!profile->target_id || profile->target_id != arming->target_id)
			continue;
		heading("replaced");
		printf("the profile armed at %.19sZ", clock_format(profile->armed_ns, time));
		if (strcmp(profile->name, arming->path)) {
			fputs(", ", stdout);
			text_safe(stdout, profile->name);
		} else if (profile->hash == arming->hash) {
			fputs(", with the same contents", stdout);
		}
		putchar('\n');
	}
}

static void print_armed(const struct arm *arm, const struct arming *arming, struct link *link)
{
	const struct loading *loading = &arming->loading;

	printf("%sGuarding ", text_bold(stdout));
	text_safe(stdout, arming->samples.objects[0].path);
	printf("%s\n", text_plain(stdout));
	heading("profile");
	text_safe(stdout, arming->path);
	putchar('\n');
	print_replaced(arm, arming);
	heading("processes");
	printf("%" PRIu32 " now, and all that are started later\n", arming->processes);
	heading("units");
	counted(loading->nr_courses, "event loop, ", "event loops, ");
	counted(loading->nr_types, "type", "types");
	putchar('\n');
	heading("guards");
	counted(loading->nr_guards, "function", "functions");
	fputs(" in ", stdout);
	counted(loading->nr_contexts, "context", "contexts");
	puts(arming->is_paper ? ", counted by the paper's rule" : "");
	print_ways(link, arming->id);
	print_budget(&arm->prices);
	print_thresholds(&arming->model);
	print_expected(arming);
}

static int arm_files(struct arm *arm, struct link *link)
{
	bool is_first = true;
	int worst = 0, error;

	error = link_profiles(link, &arm->profiles, &arm->nr_profiles);
	if (error)
		return cmd_link_failed(link, error, "cannot ask the module");
	for (uint32_t i = 0; i < arm->nr; i++) {
		struct arming *arming = &arm->files[i].arming;
		int ret;

		if (!arm->files[i].is_loaded)
			continue;
		ret = arming_arm(arming, link, &arm->prices);
		worst = worse(worst, ret);
		if (ret)
			continue;
		if (!is_first)
			putchar('\n');
		is_first = false;
		print_armed(arm, arming, link);
		fflush(stdout);
	}
	if (!is_first)
		puts("\nLate units are told by 'pg-collect watch', counters by 'pg-collect status'.");
	return worst;
}

static int run(struct arm *arm, char **paths)
{
	int ret = load_files(arm, paths), same, armed;
	bool is_any = false;
	struct link *link;

	for (uint32_t i = 0; i < arm->nr; i++)
		is_any |= arm->files[i].is_loaded;
	if (!is_any)
		return ret;
	same = refuse_same(arm);
	if (same)
		return same;
	armed = arm->prices.budget_ppm ? price_measure(&arm->prices) : 0;
	if (!armed)
		armed = cmd_open_link(&link);
	if (armed)
		return worse(ret, armed);
	armed = arm_files(arm, link);
	link_close(link);
	return worse(ret, armed);
}

int cmd_arm(int argc, char **argv)
{
	struct arm arm = { .prices.budget_ppm = DEFAULT_PPM };
	int ret = parse(argc, argv, &arm);

	if (ret)
		return ret;
	arm.nr = (uint32_t)(argc - optind);
	arm.files = calloc(arm.nr, sizeof(*arm.files));
	if (!arm.files) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	ret = run(&arm, argv + optind);
	for (uint32_t i = 0; i < arm.nr; i++)
		arming_deinit(&arm.files[i].arming);
	link_profiles_free(arm.profiles, arm.nr_profiles);
	free(arm.files);
	return ret;
}
