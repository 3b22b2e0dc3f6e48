// SPDX-License-Identifier: GPL-2.0

#include "out/profile/profile-view.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/syscall-name.h"
#include "out/text.h"

enum {
	MAX_NAME = 40, /* columns of a function's name */
	MAX_GUARDS = 10,
};

static char *percent(double share, char text[TEXT_MAX])
{
	double value = 100 * share;

	/* Rates of false alarms are small, and not to read as none. */
	if (value >= 0.995 || value <= 0)
		snprintf(text, TEXT_MAX, "%.1f %%", value);
	else if (value >= 0.0095)
		snprintf(text, TEXT_MAX, "%.2f %%", value);
	else
		snprintf(text, TEXT_MAX, "%.1g %%", value);
	return text;
}

static char *duration_of(double ns, char text[DURATION_TEXT_MAX])
{
	if (ns > 0 && ns < 9.2e18)
		return duration_format((uint64_t)(ns + 0.5), text);
	strcpy(text, "-");
	return text;
}

static void print_date(FILE *file, uint64_t seconds)
{
	time_t time = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (!seconds || !gmtime_r(&time, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm))
		strcpy(text, "at an unknown time");
	fputs(text, file);
}

static void print_training(FILE *file, const struct profile_view *view)
{
	const struct training *training = view->training;
	const struct model *model = view->model;
	char text[TEXT_MAX], budget[TEXT_MAX];

	text_heading(file, "trained");
	text_counted(file, view->samples->runs, "run");
	fputs(", the last ", file);
	print_date(file, training->changed_s);
	if (training->tool[0]) {
		fputs(" by pg-collect ", file);
		text_safe(file, training->tool);
	}
	fputc('\n', file);
	profile_training_text(file, view);
	if (!model->nr_types) {
		text_heading(file, "types");
		fputs("none: nothing was learnt from it yet\n", file);
		return;
	}
	text_heading(file, "types");
	fprintf(file, "%s, by ", text_count(model->nr_types, text));
	text_safe(file, model->distance);
	fprintf(file, " distance cut at %.3g\n", model->cut);
	text_heading(file, "thresholds");
	fputs("by ", file);
	text_safe(file, model->threshold_rule);
	if (model->false_alarm_rate > 0)
		fprintf(file, ", %s of the units may be false alarms",
			percent(model->false_alarm_rate, text));
	fputc('\n', file);
	text_heading(file, "guards");
	fprintf(file, "%s, by ", text_count(model->nr_guards, text));
	text_safe(file, model->select);
	if (model->is_inline)
		fputs(", to be jumps", file);
	if (model->budget > 0)
		fprintf(file, ", for a budget of %s of the time\n", percent(model->budget, budget));
	else
		fputs(", so many as were wanted, whatever they cost\n", file);
}

/* Most files of a process run no code while a unit is handled. */
static void print_objects(FILE *file, const struct profile_view *view)
{
	const struct samples *samples = view->samples;
	uint32_t nr_idle = 0;
	char text[TEXT_MAX];

	fprintf(file, "\n%sFiles%s\n  functions  path, build id\n", text_bold(file),
		text_plain(file));
	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		const char *build_id = samples->objects[i].build_id;

		if (i && !view->object_functions[i]) {
			nr_idle++;
			continue;
		}
		fprintf(file, "  %9s  ", text_count(view->object_functions[i], text));
		text_safe(file, samples->objects[i].path);
		fprintf(file, "\n  %9s  %s\n", "", build_id[0] ? build_id : "(no build id)");
	}
	if (nr_idle) {
		fputs("  ... ", file);
		text_counted(file, nr_idle, "file");
		fputs(" without a function that was seen\n", file);
	}
}

/* "epoll_wait that returns to module+0x123, 88 bytes up the stack" */
static void print_boundary(FILE *file, const struct profile_view *view,
			   const struct samples_boundary *boundary)
{
	const struct samples *samples = view->samples;
	char label[PROFILE_LABEL_MAX];
	const char *name;

	if (samples_is_site(boundary)) {
		fprintf(file, "%s %s\n",
			boundary->role == SAMPLES_ROLE_EVENT_SITE ? "each call of"
								  : "each thread's life, from",
			profile_function_label(samples, boundary->function, MAX_NAME, label));
		return;
	}
	name = syscall_name(boundary->syscall);
	if (name)
		fputs(name, file);
	else
		fprintf(file, "system call %" PRIu32, boundary->syscall);
	fputs(" that returns to ", file);
	text_safe(file, text_basename(samples->objects[boundary->object].path));
	fprintf(file, "+0x%" PRIx64 ", %" PRIu32 " bytes up the stack\n",
		boundary->return_offset, boundary->distance);
}

static void print_boundaries(FILE *file, const struct profile_view *view,
			     const struct samples_loop *loop)
{
	static const struct {
		enum samples_role role;
		const char *name;
	} roles[] = {
		{ SAMPLES_ROLE_WAIT, "waits in" },
		{ SAMPLES_ROLE_START_SITE, "unit by" },
		{ SAMPLES_ROLE_EVENT_CALL, "event by" },
		{ SAMPLES_ROLE_EVENT_SITE, "event by" },
	};

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		const char *name = roles[i].name;

		for (uint32_t j = 0; j < loop->nr_boundaries; j++) {
			if (loop->boundaries[j].role != roles[i].role)
				continue;
			text_heading(file, name);
			print_boundary(file, view, &loop->boundaries[j]);
			name = "";
		}
	}
}

/* What units are held to that may be of no type; each type of their loop has it. */
static void print_novel_limit(FILE *file, const struct model *model, uint32_t loop)
{
	char text[DURATION_TEXT_MAX];

	for (uint32_t i = 0; i < model->nr_types; i++) {
		const struct model_type *type = &model->types[i];

		if (type->loop != loop || !type->novel_ns)
			continue;
		text_heading(file, "limit");
		fprintf(file, "%s for units that may be of no type\n",
			duration_format(type->novel_ns, text));
		return;
	}
}

static void print_prediction(FILE *file, const struct profile_view *view, uint32_t loop)
{
	const struct model *model = view->model;
	char text[TEXT_MAX], worst[TEXT_MAX];

	for (uint32_t i = 0; i < model->nr_predictions; i++) {
		const struct model_prediction *prediction = &model->predictions[i];

		if (prediction->loop != loop)
			continue;
		text_heading(file, "guards");
		fprintf(file, "%s, %.2f hits a unit", text_count(prediction->nr_guards, text),
			prediction->hits);
		if (prediction->budget > 0)
			fprintf(file, model->is_inline ? " (planned: what %.2f breakpoints cost)"
						       : " (planned: %.2f)", prediction->budget);
		fprintf(file, ", %s in the worst\n", text_count(prediction->worst, worst));
		text_heading(file, "predicted");
		fprintf(file, "type right in %s of units at their end, ",
			percent(prediction->accuracy_end, text));
		fprintf(file, "%s half-way\n", percent(prediction->accuracy_half, text));
		if (prediction->accuracy_unmerged < prediction->accuracy_end) {
			text_heading(file, "");
			fprintf(file, "(%s if clusters that cannot be distinguished were types)\n",
				percent(prediction->accuracy_unmerged, text));
		}
		text_heading(file, "");
		fprintf(file, "threshold right in %s\n",
			percent(prediction->threshold_right, text));
		text_heading(file, "");
		fprintf(file, "%s of units have a call tree never seen in training\n",
			percent(prediction->unseen, text));
		if (view->novel && prediction->units) {
			text_heading(file, "");
			fprintf(file, "%s are novel: they fit no type\n",
				percent(view->novel[loop], text));
		}
		text_heading(file, "");
		fputs("(on ", file);
		text_counted(file, prediction->units, "unit");
		fputs(" held back)\n", file);
	}
}

static void print_identifying(FILE *file, const struct profile_view *view, uint32_t type)
{
	const struct profile_identifying *best = &view->identifying[type * PROFILE_MAX_IDENTIFYING];
	const struct model *model = view->model;
	char label[PROFILE_LABEL_MAX];
	size_t column = 0;

	for (int i = 0; i < PROFILE_MAX_IDENTIFYING && best[i].lead; i++) {
		const struct model_context *context = &model->contexts[best[i].context];
		size_t len;

		profile_function_label(view->samples, model->guards[context->guard].function,
				       MAX_NAME, label);
		len = strlen(label) + 16;
		if (!column || column + len > 80) {
			fprintf(file, "%s        %s", column ? "\n" : "",
				column ? "               " : "identified by  ");
			column = 17;
		} else {
			fputs(", ", file);
			column += 2;
		}
		column += (size_t)fprintf(file, "%s (depth %" PRIu32 ")", label, context->depth);
	}
	if (!column && model->nr_contexts)
		fputs("        identified by  no function of its own, but those it leaves out", file);
	if (column || model->nr_contexts)
		fputc('\n', file);
}

/* Those of requests that units of the type read, of which half were no longer. */
static void print_request_limits(FILE *file, const struct model_type *type)
{
	char half[DURATION_TEXT_MAX], limit[DURATION_TEXT_MAX];

	if (!type->request_ns[REQUEST_PART_ALL])
		return;
	fputs("        read ", file);
	text_counted(file, type->requests[REQUEST_PART_ALL].nr, "request");
	for (int part = 0; part < REQUEST_NR_PARTS; part++)
		if (type->request_ns[part])
			fprintf(file, "%s at most %s, limit %s\n",
				part ? profile_request_names[part] : ", half of which took",
				duration_format(profile_median_ns(&type->requests[part]), half),
				duration_format(type->request_ns[part], limit));
}

/* Those of the parts of a unit's own time. */
static void print_limits(FILE *file, const struct model_type *type)
{
	char mean[DURATION_TEXT_MAX], limit[DURATION_TEXT_MAX];

	if (type->objective_ns)
		fprintf(file, "        a limit of %s was set for all of its time\n",
			duration_format(type->objective_ns, limit));
	for (int part = SAMPLES_CPU; part < SAMPLES_NR_PARTS; part++)
		if (type->limit_ns[part])
			fprintf(file, "        %s %s, limit %s\n", profile_part_names[part],
				duration_of(type->mean_ns[part], mean),
				duration_of((double)type->limit_ns[part], limit));
	print_request_limits(file, type);
	if (type->added_ns[SAMPLES_INTERRUPT])
		fprintf(file, "        an interrupted unit may take %s longer\n",
			duration_format(type->added_ns[SAMPLES_INTERRUPT], limit));
	if (type->added_ns[SAMPLES_BATCH])
		fprintf(file, "        one of several events of a wait may take %s longer\n",
			duration_format(type->added_ns[SAMPLES_BATCH], limit));
}

static void print_remarks(FILE *file, const struct model_type *type)
{
	char text[TEXT_MAX];

	if (type->nr_merged > 1)
		fprintf(file, "        %" PRIu32 " clusters that the guards cannot distinguish\n",
			type->nr_merged);
	if (type->held_back_units) {
		fprintf(file, "        false alarms: %s expected, ",
			percent(type->false_alarms, text));
		if (type->held_back_alarms > 0)
			fprintf(file, "%s of ", percent(type->held_back_alarms, text));
		else
			fputs("none of ", file);
		text_counted(file, type->held_back_units, "unit");
		fputs(" held back\n", file);
	}
	if (type->confidence == MODEL_CONFIDENCE_NONE)
		fputs("        no unit of it was timed: its loop's largest time is the limit\n",
		      file);
	if (type->units_needed && type->confidence < MODEL_CONFIDENCE_FIT) {
		fputs("        needs ", file);
		text_counted(file, type->units_needed, "more timed unit");
		fputc('\n', file);
	}
	if (type->is_carried)
		fputs("        carried: its limits are of another build; learn --live confirms them\n",
		      file);
}

static void print_type(FILE *file, const struct profile_view *view, uint32_t index)
{
	const struct model_type *type = &view->model->types[index];
	char units[TEXT_MAX], time[TEXT_MAX], deviation[TEXT_MAX] = "-", timed[TEXT_MAX];
	char right[TEXT_MAX], mean[DURATION_TEXT_MAX], limit[DURATION_TEXT_MAX];

	if (type->times.nr > 1)
		percent(profile_deviation(&type->times), deviation);
	fprintf(file, "  %4" PRIu32 " %8s %8s %9s %9s %10s %-5s %9s %8s\n", type->id,
		text_share(type->units, view->units, units),
		text_share(type->times.sum_ns, view->time_ns, time),
		duration_of(profile_mean_ns(&type->times), mean), deviation,
		duration_of((double)type->limit_ns[SAMPLES_OWN], limit),
		profile_confidence_names[type->confidence], text_count(type->times.nr, timed),
		percent(type->accuracy, right));
	print_limits(file, type);
	print_identifying(file, view, index);
	print_remarks(file, type);
}

static void print_types(FILE *file, const struct profile_view *view, uint32_t loop,
			uint32_t max_types)
{
	const struct model *model = view->model;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < model->nr_types; i++) {
		if (model->types[view->types[i]].loop != loop)
			continue;
		if (!nr)
			fprintf(file, "  %4s %8s %8s %9s %9s %10s %-5s %9s %8s\n", "type",
				"of units", "of time", "mean", "deviation", "limit", "sure",
				"timed", "right");
		if (nr++ < max_types || !max_types)
			print_type(file, view, view->types[i]);
	}
	if (max_types && nr > max_types)
		fprintf(file, "   ... %" PRIu32 " more (--types %" PRIu32 ")\n",
			nr - max_types, nr);
}

/* What it costs that units are iterations. */
static void print_unmarked(FILE *file, const struct samples_loop *loop)
{
	if (!loop->unmarked)
		return;
	text_heading(file, "glued");
	text_counted(file, loop->unmarked, "event");
	fputs(" that nothing marks, in one unit with the one before:\n", file);
	text_heading(file, "");
	fputs("such units do the work of several clients, types are of what\n", file);
	text_heading(file, "");
	fputs("came together, and limits allow for it\n", file);
}

static void print_loop(FILE *file, const struct profile_view *view, uint32_t index,
		       uint32_t max_types)
{
	const struct samples_loop *loop = &view->samples->loops[index];
	char label[PROFILE_LABEL_MAX], text[TEXT_MAX];

	fprintf(file, "\n%sEvent loop %" PRIu32 ": thread ", text_bold(file), index + 1);
	text_safe(file, loop->comm);
	fprintf(file, "%s\n", text_plain(file));
	if (loop->function != SAMPLES_NONE) {
		text_heading(file, "in");
		fprintf(file, "%s\n", profile_function_label(view->samples, loop->function,
							     MAX_NAME, label));
	}
	print_boundaries(file, view, loop);
	text_heading(file, "units");
	fputs(text_count(loop->units, text), file);
	if (loop->cut_off)
		fprintf(file, ", and %s that were cut off or had lost events",
			text_count(loop->cut_off, text));
	if (loop->foreign_stack) {
		fputs("\n             ", file);
		text_counted(file, loop->foreign_stack, "hit");
		fputs(" on a stack that is not the thread's", file);
	}
	fputc('\n', file);
	print_unmarked(file, loop);
	/* A thread that had nothing to do meanwhile: no more is known of it. */
	if (!loop->units)
		return;
	text_heading(file, "variety");
	text_counted(file, view->loop_trees[index], "call tree");
	fputs(", ", file);
	text_counted(file, view->loop_variants[index], "variant");
	fputc('\n', file);
	print_prediction(file, view, index);
	print_novel_limit(file, view->model, index);
	print_types(file, view, index, max_types);
}

static void print_contexts(FILE *file, const struct profile_view *view, uint32_t guard)
{
	const struct model *model = view->model;

	for (uint32_t i = 0; i < model->nr_contexts; i++) {
		const struct model_context *context = &model->contexts[i];

		if (context->guard != guard)
			continue;
		fprintf(file, "  %31sloop %" PRIu32 ", depth %" PRIu32 ":", "",
			context->loop + 1, context->depth);
		for (uint32_t j = 0; j < context->nr_weights; j++) {
			const struct model_weight *weight =
				&model->weights[context->first_weight + j];

			if (j % 6 == 5)
				fprintf(file, "\n  %33s", "");
			fprintf(file, " %" PRIu32 "=%u", model->types[weight->type].id,
				weight->final);
		}
		fputc('\n', file);
	}
}

/* What is unusual about how a guard of the function is met. */
static const char *way_of(const struct samples_function *function, bool is_inline)
{
	if (is_inline && function->cost & SAMPLES_COST_WINDOW)
		return "  (a jump)";
	return function->cost & SAMPLES_COST_STEPPED ? "  (single-stepped)" : "";
}

static void print_guards(FILE *file, const struct profile_view *view, bool has_hits)
{
	const struct model *model = view->model;
	char label[PROFILE_LABEL_MAX], cost[DURATION_TEXT_MAX], most[TEXT_MAX];
	double hits = 0, cost_ns = 0;

	if (!model->nr_guards)
		return;
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		hits += model->guards[i].hits;
		cost_ns += model->guards[i].cost_ns;
	}
	fprintf(file, "\n%sGuards%s: %.2f hits and %s a unit over all loops\n", text_bold(file),
		text_plain(file), hits, duration_of(cost_ns, cost));
	fprintf(file, "  %9s %9s %9s  %s\n", "hits/unit", "worst", "cost/unit",
		has_hits ? "function, and in which context: type=weight" : "function");
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		const struct model_guard *guard = &model->guards[view->guards[i]];
		const struct samples_function *function =
			&view->samples->functions[guard->function];

		if (!has_hits && i == MAX_GUARDS) {
			fprintf(file, "  ... %" PRIu32 " more (--hits)\n",
				model->nr_guards - MAX_GUARDS);
			break;
		}
		fprintf(file, "  %9.3f %9s %9s  %s%s\n", guard->hits,
			text_count(guard->most_hits, most), duration_of(guard->cost_ns, cost),
			profile_function_label(view->samples, guard->function, MAX_NAME, label),
			way_of(function, model->is_inline));
		if (has_hits)
			print_contexts(file, view, view->guards[i]);
	}
}

void profile_text(FILE *file, const struct profile_view *view, uint32_t max_types, bool has_hits)
{
	const struct samples *samples = view->samples;

	fputs(text_bold(file), file);
	text_safe(file, samples->objects[0].path);
	fprintf(file, "%s\n", text_plain(file));
	text_line(file, "build id",
		  samples->objects[0].build_id[0] ? samples->objects[0].build_id : "(none)");
	text_line(file, "profile", view->path);
	print_training(file, view);
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		print_loop(file, view, view->loops[i], max_types);
	print_guards(file, view, has_hits);
	print_objects(file, view);
}
