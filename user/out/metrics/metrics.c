// SPDX-License-Identifier: GPL-2.0

#include "out/metrics/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/deleted.h"
#include "out/metrics/families.h"

struct metrics_view {
	const struct metrics *metrics;
	struct metrics_program *programs; /* as those of the reading */
	uint32_t nr;
};

static void view_deinit(struct metrics_view *view)
{
	for (uint32_t i = 0; i < view->nr; i++) {
		struct metrics_program *program = &view->programs[i];

		for (uint32_t j = 0; j < program->nr_types; j++)
			free(program->types[j].labels);
		free(program->types);
		free(program->labels);
	}
	free(view->programs);
}

static void put_number(FILE *file, const char *name, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	exposition_label(file, false, name, text);
}

static void put_program_labels(FILE *file, const struct top_program *program)
{
	char *exe = strndup(program->exe, deleted_stem(program->exe));

	exposition_label(file, true, "exe", exe ?: "");
	exposition_label(file, false, "profile", program->armed->name);
	if (program->is_stale)
		exposition_label(file, false, "file", "replaced");
	if (program->has_uid)
		put_number(file, "uid", program->uid);
	if (program->cgroup)
		exposition_label(file, false, "cgroup", program->cgroup);
	free(exe);
}

static void put_type_labels(FILE *file, const struct top_program *program, uint32_t index)
{
	const struct top_type_note *note = program->notes ? &program->notes[index] : NULL;

	if (index == METRICS_MAX_TYPES) {
		exposition_label(file, false, "loop", "");
		exposition_label(file, false, "type", "other");
		exposition_label(file, false, "type_name", "");
		return;
	}
	put_number(file, "loop", note && note->loop ? note->loop : program->types[index].loop_id);
	put_number(file, "type", program->types[index].id);
	exposition_label(file, false, "type_name", note && note->name ? note->name : "");
}

/* Those of the program, and of the type at @index unless that is beyond all.  NULL: no memory. */
static char *labels_of(const struct top_program *program, uint32_t index)
{
	char *labels = NULL;
	size_t size;
	FILE *file = open_memstream(&labels, &size);

	if (!file)
		return NULL;
	put_program_labels(file, program);
	if (index < program->nr_types)
		put_type_labels(file, program, index);
	if (!fclose(file))
		return labels;
	free(labels);
	return NULL;
}

static void add_type(struct metrics_type *to, const struct top_program *program, uint32_t index,
		     const struct remembered_type *memory)
{
	const struct armed_type *armed = &program->types[index];
	struct top_sums sums = top_sums_of(armed);

	sums.part_ns[TOP_BLOCKED] = memory->blocked_ns;
	top_sums_add(&to->sums, &sums);
	to->novel += armed->novel;
	to->stopped += armed->stopped;
	to->is_slow |= program->notes && program->notes[index].is_slow;
	if (index >= METRICS_MAX_TYPES)
		return;
	to->armed = armed;
	to->times = memory;
}

static int view_program(struct metrics_program *view, const struct top_program *program,
			const struct remembered_program *memory)
{
	*view = (struct metrics_program){
		.of = program,
		.memory = memory,
		.is_starved = memory->starvation.is_on,
		.labels = labels_of(program, UINT32_MAX),
	};
	if (!view->labels || array_new(view->types, METRICS_MAX_TYPES + 1))
		return -ENOMEM;
	for (uint32_t i = 0; i < program->nr_types; i++) {
		uint32_t at = i < METRICS_MAX_TYPES ? i : METRICS_MAX_TYPES;

		if (at == view->nr_types) {
			view->types[at].labels = labels_of(program, at);
			if (!view->types[at].labels)
				return -ENOMEM;
			view->nr_types++;
		}
		add_type(&view->types[at], program, i, &memory->types[i]);
	}
	return 0;
}

/* Targets are numbered as they come. */
static void hide_older(struct metrics_view *view)
{
	for (uint32_t i = 0; i < view->nr; i++)
		for (uint32_t j = 0; j < view->nr; j++)
			if (view->programs[j].of->target_id > view->programs[i].of->target_id &&
			    !strcmp(view->programs[i].labels, view->programs[j].labels))
				view->programs[i].is_hidden = true;
}

static int view_init(struct metrics_view *view, const struct metrics *metrics)
{
	const struct top_reading *reading = metrics->reading;
	int ret = 0;

	*view = (struct metrics_view){ .metrics = metrics };
	if (array_new(view->programs, reading->nr_programs))
		return -ENOMEM;
	for (uint32_t i = 0; i < reading->nr_programs && !ret; i++) {
		view->nr++;
		ret = view_program(&view->programs[i], &reading->programs[i],
				   &metrics->memory->programs[i]);
	}
	if (ret)
		view_deinit(view);
	else
		hide_older(view);
	return ret;
}

static void put_program(struct exposition *text, const struct metrics_family *family,
			const struct metrics_program *program)
{
	if (program->is_hidden)
		return;
	text->labels = program->labels;
	if (family->program)
		family->program(text, program);
	for (uint32_t i = 0; i < program->nr_types && family->type; i++) {
		text->labels = program->types[i].labels;
		family->type(text, &program->types[i]);
	}
}

static void put_families(struct exposition *text, const struct metrics_family *families,
			 const struct metrics_view *view)
{
	for (const struct metrics_family *family = families; family->family.name; family++) {
		exposition_begin(text, &family->family);
		text->labels = "";
		if (family->service)
			family->service(text, view->metrics);
		for (uint32_t i = 0; i < view->nr; i++)
			put_program(text, family, &view->programs[i]);
	}
}

int metrics_text(FILE *file, const struct metrics *metrics, bool is_open_metrics)
{
	struct exposition text = { .file = file, .is_open_metrics = is_open_metrics };
	struct metrics_view view;
	int ret = view_init(&view, metrics);

	if (ret)
		return ret;
	put_families(&text, service_families, &view);
	put_families(&text, program_families, &view);
	put_families(&text, type_families, &view);
	exposition_end(&text);
	view_deinit(&view);
	return 0;
}
