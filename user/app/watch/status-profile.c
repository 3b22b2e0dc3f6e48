// SPDX-License-Identifier: GPL-2.0
/* An armed profile for people: its guards, and its types by time. */

#include "app/watch/status-query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/watch/expectation.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/time.h"
#include "out/profile/profile-view.h"
#include "out/text.h"
#include "train/guards/features.h"

enum {
	MAX_GUARDS = 5,
	MAX_NAME = 36, /* columns of a function's name */
};

static uint64_t all_units(const struct armed_type *type)
{
	return type->units + type->late;
}

static uint64_t all_time(const struct armed_type *type)
{
	return type->elapsed_ns + type->late_elapsed_ns;
}

static void print_since(const struct armed_profile *armed)
{
	uint64_t now_ns = time_wall_ns();
	char time[TIME_TEXT_MAX], since[DURATION_TEXT_MAX];

	fields_text(stdout, status_profile_fields, armed);
	text_heading(stdout, "since");
	/* whole seconds are enough for people */
	printf("%.19sZ", time_format(armed->armed_ns, time));
	if (now_ns >= armed->armed_ns)
		printf(", for %s", duration_format(now_ns - armed->armed_ns, since));
	puts(armed->flags & PERFGUARD_PROFILE_FLAGS_PAPER ? ", by the paper's rule" : "");
}

static void print_units(const struct status_profile *profile)
{
	const struct armed_profile *armed = profile->armed;
	double expected = status_expected(profile);
	uint64_t late = 0;
	char units[TEXT_MAX], text[TEXT_MAX], share[TEXT_MAX];

	for (uint32_t i = 0; i < profile->nr_types; i++)
		late += profile->types[i].late;
	text_heading(stdout, "units");
	printf("%s, %s late", text_count(armed->units, units), text_count(late, text));
	if (late)
		printf(" (%.3g %%)", 100 * (double)late / (double)(armed->units ? armed->units : late));
	if (!(armed->flags & PERFGUARD_PROFILE_FLAGS_PAPER)) {
		printf("; %s novel", text_share(armed->novel, armed->units, share));
		if (expected >= 0)
			printf(", %.1f %% expected", 100 * expected);
	}
	putchar('\n');
	if (armed->unknown_hits || armed->stray_hits) {
		text_heading(stdout, "");
		printf("%s guard hits in contexts training did not see, %s outside of units\n",
		       text_count(armed->unknown_hits, units),
		       text_count(armed->stray_hits, text));
	}
}

static void print_guard_sums(const struct status_profile *profile)
{
	const struct armed_profile *armed = profile->armed;
	uint64_t hits = 0, stepped = 0;
	char text[TEXT_MAX];

	for (uint32_t i = 0; i < profile->nr_guards; i++) {
		hits += profile->guards[i].hits;
		stepped += profile->guards[i].stepped;
	}
	text_heading(stdout, "guards");
	printf("%" PRIu32 " on, %" PRIu32 " shed; %s hits", armed->nr_guards - armed->nr_shed,
	       armed->nr_shed, text_count(hits, text));
	if (armed->units)
		printf(", %.2f a unit", (double)hits / (double)armed->units);
	if (stepped)
		printf(", %s single-stepped\n", text_share(stepped, hits, text));
	else
		puts(", none single-stepped");
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Boundaries come first: nothing of them can be shed. */
static void print_budget(const struct armed_profile *armed)
{
	const struct armed_cost *cost = &armed->cost, *last = &armed->last;
	double budget = armed->prices.budget_ppm / 1e4;
	double floor = percent(last->boundaries, last->cpu);
	double reporting = percent(last->report, last->cpu);

	if (!armed->prices.budget_ppm)
		return;
	text_heading(stdout, "budget");
	printf("%g %% of CPU time; takes %.2f %% now, %.2f %% since armed\n", budget,
	       floor + reporting + percent(last->guards, last->cpu),
	       percent(cost->guards + cost->boundaries + cost->report, cost->cpu));
	text_heading(stdout, "");
	printf("%.2f %% now is for boundaries, of which nothing is shed", floor);
	if (cost->report)
		printf("; %.2f %% for reporting late units", reporting);
	putchar('\n');
	if (armed->prices.assumed) {
		text_heading(stdout, "");
		puts("what hits or units cost is assumed, not measured: arm again to measure it");
	}
	if (floor < budget)
		return;
	text_heading(stdout, "");
	puts("that is all there is: nothing is left for guards");
}

static uint64_t cost_of(const struct armed_guard *guard)
{
	return guard->hits + (FEATURES_STEPPED - 1) * guard->stepped;
}

static int compare_guards(const void *a, const void *b)
{
	const struct armed_guard *x = a, *y = b;

	return order_of(cost_of(y), cost_of(x)) ?: order_of(x->index, y->index);
}

static void print_guard(const struct status_profile *profile, const struct armed_guard *guard)
{
	static const char *const ways[] = { "?", "kernel", "module", "stepped", "a jump" };
	uint32_t function = status_function(profile, guard);
	uint32_t plan = status_plan(profile, guard->index);
	uint64_t units = profile->armed->units;
	char label[PROFILE_LABEL_MAX], hits[TEXT_MAX];

	printf("  %13s ", text_count(guard->hits, hits));
	if (units)
		printf("%9.3f ", (double)guard->hits / (double)units);
	else
		printf("%9s ", "-");
	if (plan)
		printf("%9.3f", plan / 1024.0);
	else
		printf("%9s", "-");
	printf(" %8s  ", guard->step_mode < sizeof(ways) / sizeof(ways[0]) ? ways[guard->step_mode] : "?");
	if (function != SAMPLES_NONE)
		fputs(profile_function_label(&profile->samples, function, MAX_NAME, label), stdout);
	else
		printf("object %" PRIu32 "+0x%" PRIx64, guard->object, guard->offset);
	if (guard->state == PERFGUARD_GUARD_STATE_SHED && profile->armed->prices.budget_ppm)
		printf("  SHED: took %.3g %%", guard->share_ppm / 1e4);
	else if (guard->state == PERFGUARD_GUARD_STATE_SHED)
		fputs("  SHED", stdout);
	else if (guard->sheds)
		printf("  (shed %" PRIu32 " time%s)", guard->sheds, text_plural(guard->sheds));
	putchar('\n');
}

/* The costliest, and all that were taken off. */
static void print_guards(const struct status_profile *profile)
{
	uint32_t rest = 0;

	if (!profile->nr_guards)
		return;
	qsort(profile->guards, profile->nr_guards, sizeof(*profile->guards), compare_guards);
	printf("  %13s %9s %9s %8s  %s\n", "hits", "a unit", "planned", "by", "the costliest");
	for (uint32_t i = 0; i < profile->nr_guards; i++) {
		const struct armed_guard *guard = &profile->guards[i];

		if (i < MAX_GUARDS || guard->state == PERFGUARD_GUARD_STATE_SHED)
			print_guard(profile, guard);
		else
			rest++;
	}
	if (rest)
		printf("  %13s %" PRIu32 " more (--json)\n", "...", rest);
}

static int compare_types(const void *a, const void *b)
{
	const struct armed_type *x = a, *y = b;

	return order_of(x->loop_id, y->loop_id) ?: order_of(all_time(y), all_time(x)) ?:
	       order_of(x->id, y->id);
}

static void print_type(const struct armed_type *type, uint64_t units, uint64_t time_ns)
{
	char mean[DURATION_TEXT_MAX] = "-", limit[DURATION_TEXT_MAX] = "never";
	char share[TEXT_MAX], time[TEXT_MAX], late[TEXT_MAX], starved[TEXT_MAX], novel[TEXT_MAX];

	if (type->units)
		duration_format(type->elapsed_ns / type->units, mean);
	if (type->own_limit_ns)
		duration_format(type->own_limit_ns, limit);
	printf("  %5" PRIu32 " %9s %8s %9s %9s %9s %9s %9s\n", type->id,
	       text_share(all_units(type), units, share),
	       text_share(all_time(type), time_ns, time), mean, limit,
	       text_count(type->late, late), text_count(type->starved, starved),
	       text_count(type->novel, novel));
}

static void print_loop(const struct status_profile *profile, const struct armed_type *types,
		       uint32_t nr, uint32_t max_types)
{
	uint64_t units = 0, time_ns = 0, stopped = 0;
	uint32_t met = 0, shown = 0;
	char text[TEXT_MAX];

	for (uint32_t i = 0; i < nr; i++) {
		units += all_units(&types[i]);
		time_ns += all_time(&types[i]);
		stopped += types[i].stopped;
		met += all_units(&types[i]) != 0;
	}
	printf("  Event loop %" PRIu32 ": %s units of %" PRIu32 " of %" PRIu32 " types\n",
	       status_loop(profile, types->loop_id), text_count(units, text), met, nr);
	if (stopped)
		printf("  (%s were late only by being stopped, which does not count)\n",
		       text_count(stopped, text));
	if (!met || !max_types)
		return;
	printf("  %5s %9s %8s %9s %9s %9s %9s %9s\n", "type", "of units", "of time", "mean",
	       "limit", "late", "starved", "novel");
	for (uint32_t i = 0; i < nr && shown < max_types; i++) {
		if (!all_units(&types[i]))
			continue;
		print_type(&types[i], units, time_ns);
		shown++;
	}
	if (met > shown)
		printf("  ... %" PRIu32 " more (--types %" PRIu32 ")\n", met - shown, met);
}

static void print_types(const struct status_profile *profile, uint32_t max_types)
{
	uint32_t first = 0;

	if (!profile->nr_types)
		return;
	qsort(profile->types, profile->nr_types, sizeof(*profile->types), compare_types);
	for (uint32_t i = 1; i <= profile->nr_types; i++) {
		if (i < profile->nr_types &&
		    profile->types[i].loop_id == profile->types[first].loop_id)
			continue;
		print_loop(profile, &profile->types[first], i - first, max_types);
		first = i;
	}
}

/* Limits that units of another build had. */
static void print_carried(const struct status_profile *profile)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < profile->model.nr_types; i++)
		nr += profile->model.types[i].is_carried;
	if (!nr)
		return;
	text_heading(stdout, "carried");
	printf("the limits of %" PRIu32 " type%s are of another build;\n", nr, text_plural(nr));
	text_heading(stdout, "");
	fputs("'pg-collect learn --live -o ", stdout);
	text_safe(stdout, profile->armed->name);
	puts("' confirms them");
}

/* What to do about a load that training did not see. */
static void print_news(const struct status_profile *profile, const struct target *target)
{
	const char *path = profile->armed->name;

	if (!status_has_news(profile))
		return;
	puts("  The load is not the one that was trained with.  Learn it, too, while it is on;\n"
	     "  what is known stays:");
	fputs("    pg-collect disarm ", stdout);
	text_safe(stdout, target->path);
	fputs("\n    pg-collect train -o ", stdout);
	text_safe(stdout, path);
	fputs(" -e ", stdout);
	text_safe(stdout, target->path);
	fputs("\n    pg-collect arm ", stdout);
	text_safe(stdout, path);
	putchar('\n');
}

void status_profile_text(const struct status_profile *profile, const struct target *target,
			 uint32_t max_types)
{
	print_since(profile->armed);
	print_units(profile);
	print_guard_sums(profile);
	print_budget(profile->armed);
	print_carried(profile);
	if (!profile->is_known && profile->why)
		text_line(stdout, "no names", profile->why);
	print_guards(profile);
	print_types(profile, max_types);
	expectation_text(profile);
	print_news(profile, target);
}
