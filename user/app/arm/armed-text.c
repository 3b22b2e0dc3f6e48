// SPDX-License-Identifier: GPL-2.0

#include "app/arm/arming.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/arm/guarded-programs.h"
#include "app/common/scope-options.h"
#include "base/duration.h"
#include "base/time.h"
#include "link/link.h"
#include "out/text.h"

/* By whom the instructions under the guards are executed. */
static void print_ways(struct link *link, uint32_t id)
{
	uint32_t ways[PERFGUARD_STEP_MODE_INLINE + 1] = { 0 }, nr;
	struct armed_guard *guards;

	if (link_guards(link, id, &guards, &nr) || !nr)
		return;
	for (uint32_t i = 0; i < nr; i++)
		if (guards[i].step_mode <= PERFGUARD_STEP_MODE_INLINE)
			ways[guards[i].step_mode]++;
	free(guards);
	text_heading(stdout, "");
	printf("%" PRIu32 " emulated by the kernel, %" PRIu32 " by the module, ",
	       ways[PERFGUARD_STEP_MODE_KERNEL], ways[PERFGUARD_STEP_MODE_MODULE]);
	if (ways[PERFGUARD_STEP_MODE_STEPPED])
		printf("%" PRIu32 " single-stepped (slow)\n", ways[PERFGUARD_STEP_MODE_STEPPED]);
	else
		puts("none single-stepped");
	if (!ways[PERFGUARD_STEP_MODE_INLINE])
		return;
	text_heading(stdout, "");
	printf("%" PRIu32 " by jumps, in processes where nothing stands against it\n",
	       ways[PERFGUARD_STEP_MODE_INLINE]);
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
	novel = novelty_floors_novel(&arming->floors, arming->samples.nr_loops);
	text_heading(stdout, "expected");
	if (arming->is_paper) {
		printf("%.2f hits a unit; how often the paper's rule is right is not known\n",
		       hits / units);
		return;
	}
	printf("type right in %.1f %% of units, %.2f hits a unit\n", 100 * right / units,
	       hits / units);
	if (novel >= 0) {
		text_heading(stdout, "");
		printf("%.2f %% of units like none that training saw\n", 100 * novel);
	}
}

static void print_budget(const struct armed_prices *prices)
{
	uint32_t hit_ns = prices->kernel_hit_ns + prices->handler_ns;

	text_heading(stdout, "budget");
	if (!prices->budget_ppm) {
		puts("none");
		return;
	}
	printf("%g %% of its CPU time; a hit takes %.2f us here", prices->budget_ppm / 1e4,
	       hit_ns / 1e3);
	printf(", a unit %.2f us\n", (prices->call_ns + prices->unit_ns) / 1e3);
	if (!prices->assumed)
		return;
	text_heading(stdout, "");
	puts("assumed high: the machine is too busy to measure it; arm again when it is not");
}

/* Limits that people have set. */
static void print_objectives(const struct loading *loading)
{
	uint64_t least_ns = UINT64_MAX, most_ns = 0;
	char least[DURATION_TEXT_MAX], most[DURATION_TEXT_MAX];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < loading->nr_types; i++) {
		uint64_t ns = loading->types[i].threshold_ns;

		if (!ns)
			continue;
		least_ns = ns < least_ns ? ns : least_ns;
		most_ns = ns > most_ns ? ns : most_ns;
		nr++;
	}
	if (!nr)
		return;
	text_heading(stdout, "");
	printf("and after %s", duration_format(least_ns, least));
	if (most_ns != least_ns)
		printf(" to %s", duration_format(most_ns, most));
	if (nr != loading->nr_types)
		printf(", %" PRIu32 " of %" PRIu32 " types", nr, loading->nr_types);
	putchar('\n');
}

/* How far the limits can be relied on; nothing where all can. */
static void print_limits(const struct model *model)
{
	uint32_t unsure = 0, none = 0;

	for (uint32_t i = 0; i < model->nr_types; i++) {
		if (!model->types[i].limit_ns[SAMPLES_OWN])
			none++;
		else if (model->types[i].confidence < MODEL_CONFIDENCE_FIT)
			unsure++;
	}
	text_heading(stdout, "late");
	fputs("by ", stdout);
	text_safe(stdout, model->threshold_rule);
	if (unsure)
		printf("; %" PRIu32 " of %" PRIu32 " types were seen too rarely to be sure",
		       unsure, model->nr_types);
	putchar('\n');
	if (none) {
		text_heading(stdout, "");
		printf("%" PRIu32 " type%s never late: no unit was timed\n", none,
		       none == 1 ? " is" : "s are");
	}
}

static void print_replaced(const struct armed_before *before, const struct arming *arming)
{
	for (uint32_t i = 0; i < before->nr; i++) {
		const struct armed_profile *profile = &before->profiles[i];
		char time[TIME_TEXT_MAX];

		if (!profile->target_id || profile->target_id != arming->target_id)
			continue;
		text_heading(stdout, "replaced");
		printf("the profile armed at %.19sZ", time_format(profile->armed_ns, time));
		if (strcmp(profile->name, arming->path)) {
			fputs(", ", stdout);
			text_safe(stdout, profile->name);
		} else if (profile->hash == arming->hash) {
			fputs(", with the same contents", stdout);
		}
		putchar('\n');
	}
}

static void print_scope(const struct armed_scope *scope)
{
	const char *comma = "";

	if (scope_is_any(scope))
		return;
	text_heading(stdout, "only");
	if (scope->nr_pids) {
		printf("process %" PRIu32, scope->pids[0]);
		comma = ", ";
	}
	if (scope->cgroup_path) {
		printf("%sin cgroup ", comma);
		text_safe(stdout, scope->cgroup_path);
		comma = ", ";
	}
	if (scope->has_uid) {
		printf("%sof user %" PRIu32, comma, scope->uid);
		comma = ", ";
	}
	if (scope->args) {
		printf("%swith in its arguments: ", comma);
		text_safe(stdout, scope->args);
	}
	putchar('\n');
}

void armed_text(const struct arming *arming, const struct armed_before *before,
		const struct armed_prices *prices, const struct armed_scope *scope,
		struct link *link)
{
	const struct loading *loading = &arming->loading;

	printf("%sGuarding ", text_bold(stdout));
	text_safe(stdout, arming->samples.objects[0].path);
	printf("%s\n", text_plain(stdout));
	text_heading(stdout, "profile");
	text_safe(stdout, arming->path);
	putchar('\n');
	print_replaced(before, arming);
	print_scope(scope);
	text_heading(stdout, "processes");
	printf("%" PRIu32 " now%s\n", arming->processes,
	       scope->nr_pids ? ", and not those that it forks" : ", and all that are started later");
	if (scope_is_any(scope))
		guarded_programs_text(link, arming->target_id);
	text_heading(stdout, "units");
	text_counted(stdout, loading->nr_courses, "event loop");
	fputs(", ", stdout);
	text_counted(stdout, loading->nr_types, "type");
	putchar('\n');
	text_heading(stdout, "guards");
	text_counted(stdout, loading->nr_guards, "function");
	fputs(" in ", stdout);
	text_counted(stdout, loading->nr_contexts, "context");
	puts(arming->is_paper ? ", counted by the paper's rule" : "");
	print_ways(link, arming->id);
	print_budget(prices);
	print_limits(&arming->model);
	print_objectives(loading);
	print_expected(arming);
}
