// SPDX-License-Identifier: GPL-2.0

#include "app/top/top-detail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/watch/diagnosis.h"
#include "app/watch/late-units.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/time.h"
#include "binary/stack/unwind.h"
#include "link/link.h"
#include "out/alert/alert.h"
#include "out/profile/tree.h"
#include "out/request-report.h"
#include "store/profile-file.h"

enum {
	MAX_NODES = 400, /* of a call tree, as 'show' prints it */
	NR_SLOWEST = 5, /* requests */
};

int top_detail_init(struct top_detail *detail, struct top_reader *reader, const struct top_row *row)
{
	*detail = (struct top_detail){ .reader = reader, .row = *row };
	detail->unwinder = unwinder_create();
	return detail->unwinder ? 0 : -ENOMEM;
}

static void clear_records(struct top_detail *detail)
{
	for (uint32_t i = 0; i < detail->nr_records; i++)
		record_clear(&detail->records[i]);
	detail->nr_records = 0;
}

static void clear_lines(struct top_detail *detail)
{
	free(detail->text);
	free(detail->lines);
	detail->text = NULL;
	detail->lines = NULL;
	detail->nr_lines = 0;
}

void top_detail_deinit(struct top_detail *detail)
{
	clear_records(detail);
	clear_lines(detail);
	free(detail->alert);
	free(detail->tree);
	identities_deinit(&detail->identities);
	if (detail->unwinder)
		unwinder_destroy(detail->unwinder);
	*detail = (struct top_detail){ 0 };
}

static uint64_t begin_of(const struct record *record)
{
	return record->time_ns - record->account.elapsed_ns;
}

static bool is_of_unit(const struct record *record, const struct record *other)
{
	return record->tid == other->tid && record->unit == other->unit;
}

/* Keep it if it is of the unit that began last.  Runs while the link is read. */
static int on_record(struct record *record, void *arg)
{
	struct top_detail *detail = arg;
	const struct record *first = &detail->records[0];

	if (record->seq >= detail->next)
		detail->next = record->seq + 1;
	if ((record->kind != PERFGUARD_RECORD_KIND_LATE &&
	     record->kind != PERFGUARD_RECORD_KIND_ENDED) ||
	    record->profile_id != detail->row.profile_id || record->type_id != detail->row.type_id)
		return 0;
	if (detail->nr_records && !is_of_unit(record, first)) {
		if (begin_of(record) < begin_of(first))
			return 0;
		clear_records(detail);
	}
	if (detail->nr_records == TOP_DETAIL_MAX_RECORDS) {
		record_clear(&detail->records[1]);
		detail->nr_records--;
		memmove(&detail->records[1], &detail->records[2],
			(detail->nr_records - 1) * sizeof(*detail->records));
	}
	detail->records[detail->nr_records++] = *record;
	memset(record, 0, sizeof(*record));
	detail->has_new = true;
	return 0;
}

static void print_alert(FILE *file, const struct diagnosis *diagnosis, struct late_unit *unit)
{
	const struct alert *alert = &diagnosis->alert;
	uint64_t path = hotpath_hash(&diagnosis->hotpath);

	/* As watch: its end will come soon, or another record at twice the time. */
	if (unit->is_printed && alert->record->kind == PERFGUARD_RECORD_KIND_LATE &&
	    alert->record->account.elapsed_ns < NSEC_PER_SEC)
		return;
	if (unit->is_printed)
		alert_again_text(file, alert, unit->printed_ns, path != unit->printed_path);
	else
		alert_text(file, alert);
	if (!unit->is_printed)
		unit->printed_ns = alert->record->account.elapsed_ns;
	unit->is_printed = true;
	unit->printed_path = path;
}

/* The unit's records one after the other, as watch takes them. */
static int print_records(struct top_detail *detail, FILE *file)
{
	struct late_units units = { 0 };
	struct diagnosis diagnosis;
	int ret = 0;

	for (uint32_t i = 0; i < detail->nr_records && !ret; i++) {
		const struct record *record = &detail->records[i];
		struct late_unit *unit = late_units_get(&units, record);

		if (!unit) {
			ret = -ENOMEM;
			break;
		}
		ret = diagnosis_init(&diagnosis, &detail->identities, &detail->reader->cache, record);
		if (!ret)
			ret = diagnosis_add(&diagnosis, detail->unwinder, unit);
		if (!ret)
			print_alert(file, &diagnosis, unit);
		diagnosis_deinit(&diagnosis);
	}
	late_units_deinit(&units);
	return ret;
}

/* @print prints into *@ret, in place of what that had.  Returns what it does, or -ENOMEM. */
static int print_to(char **ret, struct top_detail *detail, int (*print)(struct top_detail *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	int error;

	if (!file)
		return -ENOMEM;
	error = print(detail, file);
	if (fclose(file))
		error = -ENOMEM;
	free(*ret);
	*ret = text;
	return error;
}

static const struct top_program *find_program(const struct top_detail *detail)
{
	const struct top_reading *now = &detail->reader->now;

	for (uint32_t i = 0; i < now->nr_programs; i++)
		if (now->programs[i].armed->id == detail->row.profile_id)
			return &now->programs[i];
	return NULL;
}

static int print_tree(FILE *file, const struct profile_view *view, uint32_t type_id)
{
	uint32_t type = model_find_type(view->model, type_id);
	struct tree tree;
	int ret = type == SAMPLES_NONE ? -ENOENT : tree_init(&tree, view, type, MAX_NODES);

	if (ret == -ENOENT) {
		fputs("The profile has no call tree of this type.\n", file);
		return 0;
	}
	if (ret)
		return ret;
	ret = tree_text(file, &tree);
	tree_deinit(&tree);
	return ret;
}

/* What the profile's file knows of the type. */
static int print_profile(struct top_detail *detail, FILE *file)
{
	const struct top_program *program = find_program(detail);
	char why[PROFILE_WHY_MAX];
	struct training training;
	struct profile_view view;
	struct samples samples;
	struct model model;
	int ret;

	if (!program)
		return 0;
	if (profile_load_hashed(program->armed->name, program->armed->hash, &samples, &model, &training,
				why)) {
		fputs("No call tree: ", file);
		text_safe(file, why);
		fputc('\n', file);
		return 0;
	}
	ret = profile_view_init(&view, program->armed->name, &samples, &model, &training);
	if (!ret) {
		ret = print_tree(file, &view, detail->row.type_id);
		profile_view_deinit(&view);
	}
	samples_deinit(&samples);
	model_deinit(&model);
	return ret;
}

static void print_level(const struct top_detail *detail, FILE *file)
{
	const struct cached_profile *profile =
		profile_cache_find(&detail->reader->cache, detail->row.profile_id);
	const struct cached_type *type =
		profile ? cached_type_find(profile, detail->row.type_id) : NULL;
	struct alert_level level;

	if (!type || !type->regression.is_on)
		return;
	level = cached_type_level(profile, type, type->regression.since_ns);
	alert_level_text(file, &level);
	fputc('\n', file);
}

static int print_all(struct top_detail *detail, FILE *file)
{
	const struct top_program *program = find_program(detail);

	if (!program) {
		fputs("It is not armed any more.\n", file);
		return 0;
	}
	if (detail->row.kind == TOP_REQUESTS) {
		if (program->requests)
			request_report_text(file, program->requests, NR_SLOWEST, 0);
		return 0;
	}
	print_level(detail, file);
	fputs(detail->alert ? "Its latest alert:\n" : "No alert of it, of those that the module has.\n",
	      file);
	fprintf(file, "%s\n%s", detail->alert ?: "", detail->tree ?: "");
	return 0;
}

static int split(struct top_detail *detail)
{
	uint32_t nr = 0;

	for (const char *at = detail->text; *at; at++)
		nr += *at == '\n';
	if (array_new(detail->lines, nr))
		return -ENOMEM;
	for (char *at = detail->text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		*end = '\0';
		detail->lines[detail->nr_lines++] = at;
	}
	return 0;
}

static int read_type(struct top_detail *detail)
{
	int error = link_alerts(detail->reader->link, detail->next, on_record, detail), ret = 0;

	if (detail->has_new)
		ret = print_to(&detail->alert, detail, print_records);
	detail->has_new = false;
	if (!ret && !detail->tree)
		ret = print_to(&detail->tree, detail, print_profile);
	return ret ?: error;
}

int top_detail_update(struct top_detail *detail)
{
	int error = detail->row.kind == TOP_TYPE ? read_type(detail) : 0, ret;

	if (error && error != -EAGAIN)
		return error;
	clear_lines(detail);
	ret = print_to(&detail->text, detail, print_all);
	return (ret ?: split(detail)) ?: error;
}
