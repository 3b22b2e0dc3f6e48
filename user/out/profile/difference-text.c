// SPDX-License-Identifier: GPL-2.0

#include "out/profile/difference-view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "out/profile/profile-view.h"
#include "out/text.h"

/* In columns: a function's name, and a line. */
enum {
	MAX_NAME = 40,
	MAX_COLUMN = 79,
};

/* A share of functions that is worth a word. */
#define LEAST_LOST 0.1

static void print_profile(FILE *file, const char *name, const struct difference_profile *profile)
{
	const struct samples_object *program = &profile->samples->objects[0];
	char text[TEXT_MAX];

	text_heading(file, name);
	if (profile->path)
		text_safe(file, profile->path);
	else
		fputs("what is counted now", file);
	fputs(", ", file);
	text_counted(file, profile->model->nr_types, "type");
	fprintf(file, ", %s timed units\n", text_count(profile->timed, text));
	text_heading(file, "");
	text_safe(file, program->path);
	fprintf(file, "\n");
	text_line(file, "", program->build_id[0] ? program->build_id : "(no build id)");
}

static const char *const changes[DIFFERENCE_NR_CHANGES] = {
	[DIFFERENCE_SLOWER] = "slower", [DIFFERENCE_FASTER] = "faster", [DIFFERENCE_NEW] = "new",
	[DIFFERENCE_GONE] = "gone", [DIFFERENCE_CALLS] = "calls others",
	[DIFFERENCE_RARE] = "too rare to compare", [DIFFERENCE_NONE] = "as before",
};

static void print_summary(FILE *file, const struct difference_view *view)
{
	uint32_t nr[DIFFERENCE_NR_CHANGES] = { 0 };
	const char *comma = "";

	for (uint32_t i = 0; i < view->difference->nr; i++)
		nr[difference_change(&view->difference->types[i])]++;
	fprintf(file, "\n%sTypes%s: ", text_bold(file), text_plain(file));
	if (nr[DIFFERENCE_NONE] + nr[DIFFERENCE_RARE] == view->difference->nr) {
		fputs("no difference was found\n", file);
		return;
	}
	for (int i = 0; i < DIFFERENCE_NR_CHANGES; i++) {
		if (!nr[i])
			continue;
		fprintf(file, "%s%" PRIu32 " %s", comma, nr[i], changes[i]);
		comma = ", ";
	}
	fputc('\n', file);
	if (view->difference->pace > 0)
		fprintf(file, "Units of the median type take %.2f times as long as before.\n",
			view->difference->pace);
}

/* "24.0 us, was 20.0 us: 1.20 times as long" */
static void print_part(FILE *file, int part, const struct part_difference *difference)
{
	char before[DURATION_TEXT_MAX], after[DURATION_TEXT_MAX];

	text_heading(file, profile_part_names[part]);
	fprintf(file, "%s, was %s: %.2f times as long",
		duration_format((uint64_t)(difference->after_ns + 0.5), after),
		duration_format((uint64_t)(difference->before_ns + 0.5), before),
		difference->after_ns / difference->before_ns);
	if (difference->chance < 1e-9)
		fputs(" (p < 1e-9)\n", file);
	else
		fprintf(file, " (p = %.1g)\n", difference->chance);
}

static void print_calls(FILE *file, const char *name, const struct samples *samples,
			const struct call_difference *calls)
{
	char label[PROFILE_LABEL_MAX];
	size_t column = 0;

	for (uint32_t i = 0; i < calls->nr; i++) {
		size_t len;

		profile_function_label(samples, calls->functions[i], MAX_NAME, label);
		len = strlen(label) + 2;
		if (!i || column + len > MAX_COLUMN) {
			fputs(i ? ",\n" : "", file);
			text_heading(file, i ? "" : name);
			column = PARAGRAPH_INDENT + 1;
		} else {
			fputs(", ", file);
		}
		column += len;
		fputs(label, file);
	}
	if (calls->nr_more)
		fprintf(file, ", and %" PRIu32 " more", calls->nr_more);
	if (calls->nr)
		fputc('\n', file);
}

static void print_shares(FILE *file, const struct type_difference *type)
{
	double before = 100 * type->units_a, after = 100 * type->units_b;

	text_heading(file, "units");
	if (type->a == SAMPLES_NONE)
		fprintf(file, "%.3g %% of all\n", after);
	else if (type->b == SAMPLES_NONE)
		fprintf(file, "%.3g %% of all, before\n", before);
	else
		fprintf(file, "%.3g %% of all, was %.3g %%\n", after, before);
}

static void print_type(FILE *file, const struct difference_view *view,
		       const struct type_difference *type)
{
	enum difference_change change = difference_change(type);
	const struct model *model = type->b == SAMPLES_NONE ? view->before.model :
							      view->after.model;
	uint32_t id = model->types[type->b == SAMPLES_NONE ? type->a : type->b].id;
	double ns = fmax(type->parts[SAMPLES_OWN].before_ns, type->parts[SAMPLES_OWN].after_ns);
	char text[DURATION_TEXT_MAX];

	fprintf(file, "\n%sType %" PRIu32 "%s: %s", text_bold(file), id, text_plain(file),
		changes[change]);
	if (type->a != SAMPLES_NONE && type->b != SAMPLES_NONE &&
	    view->before.model->types[type->a].id != id)
		fprintf(file, " (type %" PRIu32 " before)", view->before.model->types[type->a].id);
	fputc('\n', file);
	if (view->after.path)
		print_shares(file, type);
	if ((change == DIFFERENCE_NEW || change == DIFFERENCE_GONE) && ns > 0) {
		text_heading(file, profile_part_names[SAMPLES_OWN]);
		fprintf(file, "%s\n", duration_format((uint64_t)(ns + 0.5), text));
	}
	for (int part = 0; part < SAMPLES_NR_PARTS; part++)
		if (type->parts[part].is_sure)
			print_part(file, part, &type->parts[part]);
	print_calls(file, "no more", view->before.samples, &type->gone);
	print_calls(file, "calls now", view->after.samples, &type->added);
}

/* Time that the type takes of all that units take, more or less. */
static double weight_of(const struct type_difference *type)
{
	return fmax(type->units_a * type->parts[SAMPLES_OWN].before_ns,
		    type->units_b * type->parts[SAMPLES_OWN].after_ns);
}

static int compare_weights(const void *left, const void *right)
{
	const struct type_difference *const *a = left, *const *b = right;
	double x = weight_of(*a), y = weight_of(*b);

	if (x < y || x > y)
		return x < y ? 1 : -1;
	return order_of((uintptr_t)*a, (uintptr_t)*b);
}

int difference_text(FILE *file, const struct difference_view *view)
{
	const struct difference *difference = view->difference;
	const struct type_difference **types;

	if (array_new(types, difference->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < difference->nr; i++)
		types[i] = &difference->types[i];
	if (difference->nr)
		qsort(types, difference->nr, sizeof(const struct type_difference *), compare_weights);
	print_profile(file, "before", &view->before);
	print_profile(file, "after", &view->after);
	print_summary(file, view);
	if (difference->lost >= LEAST_LOST)
		fprintf(file, "%.0f %% of the functions before have no name and were not found in "
			"the\nother build; types may be new or gone only for that.\n",
			100 * difference->lost);
	for (uint32_t i = 0; i < difference->nr; i++)
		if (difference_change(types[i]) < DIFFERENCE_RARE)
			print_type(file, view, types[i]);
	free(types);
	return 0;
}
