// SPDX-License-Identifier: GPL-2.0

#include "out/top/top-table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base-name.h"
#include "base/duration.h"
#include "base/utf8.h"
#include "data/histogram.h"
#include "out/text.h"

/* Units by their time; of those at the edges of a type's histogram only a bound is known. */
struct top_spread {
	uint64_t nr[PERFGUARD_HIST_BUCKETS];
	uint64_t below[PERFGUARD_HIST_BUCKETS];
	uint64_t above[PERFGUARD_HIST_BUCKETS];
};

/* What a row is made of. */
struct gathered {
	struct top_sums now, before;
	struct top_spread times;
	uint64_t late_ns; /* the mean of the late ones of a type; of several the largest */
};

struct maker {
	struct top_table *table;
	const struct top_reading *now, *before, *base;
	/* Of the program that is made, in the two readings; NULL: not in it. */
	const struct top_program *program, *was, *began;
	struct gathered *of[3]; /* program, loop, type */
};

static const struct top_program *find_program(const struct top_reading *reading, uint32_t profile_id)
{
	for (uint32_t i = 0; reading && i < reading->nr_programs; i++)
		if (reading->programs[i].armed->id == profile_id)
			return &reading->programs[i];
	return NULL;
}

/* Readings have their types in one order, unless another profile is armed. */
static const struct armed_type *find_type(const struct top_program *program, uint32_t at, uint32_t id)
{
	if (!program)
		return NULL;
	if (at < program->nr_types && program->types[at].id == id)
		return &program->types[at];
	for (uint32_t i = 0; i < program->nr_types; i++)
		if (program->types[i].id == id)
			return &program->types[i];
	return NULL;
}

static const struct armed_times *find_times(const struct top_program *program, uint32_t id)
{
	for (uint32_t i = 0; program && i < program->nr_times; i++)
		if (program->times[i].id == id)
			return &program->times[i];
	return NULL;
}

static void add_times(struct top_spread *to, const struct armed_times *now,
		      const struct armed_times *began)
{
	for (uint32_t i = 0; now && i < PERFGUARD_TIMES_BUCKETS; i++) {
		uint32_t nr = now->nr[PERFGUARD_TIMES_OWN - 1][i];
		uint32_t bucket = top_bucket_of(now->first, i);

		if (began && began->first == now->first)
			nr -= began->nr[PERFGUARD_TIMES_OWN - 1][i];
		to->nr[bucket] += nr;
		if (!i && now->first)
			to->below[bucket] += nr;
		if (i == PERFGUARD_TIMES_BUCKETS - 1)
			to->above[bucket] += nr;
	}
}

static void add_spread(struct top_spread *to, const struct top_spread *from)
{
	histogram_add(to->nr, from->nr);
	histogram_add(to->below, from->below);
	histogram_add(to->above, from->above);
}

static struct top_time time_of(const struct top_spread *times, double permille)
{
	struct top_time ret = { .ns = histogram_percentile(times->nr, permille, UINT64_MAX) };
	uint32_t bucket;

	if (!ret.ns)
		return ret;
	bucket = histogram_bucket(ret.ns);
	ret.is_below = 2 * times->below[bucket] > times->nr[bucket];
	ret.is_above = 2 * times->above[bucket] > times->nr[bucket];
	return ret;
}

static double seconds_of(const struct maker *maker)
{
	if (!maker->was || maker->now->at_ns <= maker->before->at_ns)
		return 0;
	return (double)(maker->now->at_ns - maker->before->at_ns) / NSEC_PER_SEC;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Mean time of the units that were late since the span began; 0 without any. */
static uint64_t late_mean_ns(const struct armed_type *type, const struct armed_type *began)
{
	uint64_t nr = type->late, ns = type->late_elapsed_ns;

	if (began && began->late <= nr) {
		nr -= began->late;
		ns -= began->late_elapsed_ns;
	}
	return nr ? ns / nr : 0;
}

/* Not each unit is timed; but the longest has taken no less than the mean of the late ones. */
static struct top_time max_of(const struct gathered *of)
{
	struct top_time ret = time_of(&of->times, 1000);

	if (of->late_ns > ret.ns)
		ret = (struct top_time){ .ns = of->late_ns, .is_above = true };
	return ret;
}

/* Counters of a profile that was armed again are less than before. */
static double rise(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

static void set_rates(const struct maker *maker, struct top_row *row, const struct gathered *of)
{
	double seconds = seconds_of(maker), parts[TOP_NR_PARTS], all = 0;

	if (seconds <= 0)
		return;
	row->has_rates = true;
	row->rate = rise(of->now.units, of->before.units) / seconds;
	row->late_rate = rise(of->now.late, of->before.late) / seconds;
	row->starved_rate = rise(of->now.starved, of->before.starved) / seconds;
	row->busy = rise(of->now.ns, of->before.ns) / seconds / NSEC_PER_SEC;
	if (of->now.units > of->before.units && of->now.ns > of->before.ns)
		row->mean_ns = (of->now.ns - of->before.ns) / (of->now.units - of->before.units);
	for (int i = 0; i < TOP_NR_PARTS; i++)
		all += parts[i] = rise(of->now.part_ns[i], of->before.part_ns[i]);
	for (int i = 0; i < TOP_NR_PARTS && all > 0; i++)
		row->share[i] = parts[i] / all;
}

static void set_row(const struct maker *maker, struct top_row *row, const struct gathered *of)
{
	row->late = of->now.late;
	row->units = of->now.units;
	row->p50 = time_of(&of->times, 500);
	row->p99 = time_of(&of->times, 990);
	row->max = max_of(of);
	set_rates(maker, row, of);
}

static struct top_row *add_row(struct maker *maker, enum top_kind kind, uint32_t up)
{
	struct top_table *table = maker->table;
	struct top_row *row = &table->rows[table->nr];

	*row = (struct top_row){
		.kind = kind,
		.program = (uint32_t)(maker->program - maker->now->programs),
		.profile_id = maker->program->armed->id,
		.up = kind == TOP_PROGRAM ? table->nr : up,
	};
	table->nr++;
	return row;
}

static void set_name(struct top_row *row, const char *name)
{
	snprintf(row->name, sizeof(row->name), "%s", name);
	utf8_make_plain(row->name);
}

/* Types without any unit are left out. */
static void make_type(struct maker *maker, uint32_t index, uint32_t up)
{
	const struct armed_type *type = &maker->program->types[index];
	const struct armed_type *was = find_type(maker->was, index, type->id);
	const struct top_type_note *note = maker->program->notes ? &maker->program->notes[index] : NULL;
	struct gathered *of = maker->of[TOP_TYPE - 1];
	char name[TOP_NAME_MAX];
	struct top_row *row;

	if (!type->units && !type->late)
		return;
	of->now = top_sums_of(type);
	of->before = top_sums_of(was);
	of->late_ns = late_mean_ns(type, find_type(maker->began, index, type->id));
	memset(&of->times, 0, sizeof(of->times));
	add_times(&of->times, find_times(maker->program, type->id),
		  find_times(maker->began, type->id));
	top_sums_add(&maker->of[1]->now, &of->now);
	top_sums_add(&maker->of[1]->before, &of->before);
	add_spread(&maker->of[1]->times, &of->times);
	maker->of[1]->late_ns = larger(maker->of[1]->late_ns, of->late_ns);
	row = add_row(maker, TOP_TYPE, up);
	row->type = index;
	row->type_id = type->id;
	row->loop_id = type->loop_id;
	row->is_slow = note && note->is_slow;
	set_row(maker, row, of);
	snprintf(name, sizeof(name), "%" PRIu32 "%s%s", type->id, note && note->name ? " " : "",
		 note && note->name ? note->name : "");
	set_name(row, name);
}

/* The loop as 'show' counts them. */
static uint32_t shown_loop(const struct top_program *program, uint32_t loop_id)
{
	for (uint32_t i = 0; program->notes && i < program->nr_types; i++)
		if (program->types[i].loop_id == loop_id && program->notes[i].loop)
			return program->notes[i].loop;
	return loop_id;
}

static void make_loop(struct maker *maker, uint32_t loop_id, uint32_t up)
{
	struct gathered *loop = maker->of[1], *program = maker->of[0];
	uint32_t at = maker->table->nr;
	struct top_row *row = add_row(maker, TOP_LOOP, up);
	char name[TOP_NAME_MAX];

	memset(loop, 0, sizeof(*loop));
	row->loop_id = loop_id;
	for (uint32_t i = 0; i < maker->program->nr_types; i++)
		if (maker->program->types[i].loop_id == loop_id)
			make_type(maker, i, at);
	snprintf(name, sizeof(name), "loop %" PRIu32 ": %" PRIu32 " type%s",
		 shown_loop(maker->program, loop_id), maker->table->nr - at - 1,
		 text_plural(maker->table->nr - at - 1));
	set_name(row, name);
	for (uint32_t i = at + 1; i < maker->table->nr; i++)
		row->is_slow |= maker->table->rows[i].is_slow;
	set_row(maker, row, loop);
	top_sums_add(&program->now, &loop->now);
	top_sums_add(&program->before, &loop->before);
	add_spread(&program->times, &loop->times);
	program->late_ns = larger(program->late_ns, loop->late_ns);
}

/* Of requests it is not a CPU's time that is shown, but whose. */
static void name_requests(struct top_row *row, const struct requests *now, const struct requests *was)
{
	uint64_t elapsed_ns = now->elapsed_ns - (was ? was->elapsed_ns : 0);
	char units[TEXT_MAX], peers[TEXT_MAX], name[TOP_NAME_MAX];

	text_share(now->working_ns - (was ? was->working_ns : 0), elapsed_ns, units);
	text_share(now->peers_ns - (was ? was->peers_ns : 0), elapsed_ns, peers);
	snprintf(name, sizeof(name), "requests: in units %s, waiting for others %s", units, peers);
	set_name(row, elapsed_ns ? name : "requests");
}

static void make_requests(struct maker *maker, uint32_t up)
{
	const struct requests *now = maker->program->requests;
	const struct requests *was = maker->was ? maker->was->requests : NULL;
	const struct requests *began = maker->began ? maker->began->requests : NULL;
	struct gathered *of = maker->of[1];
	struct top_row *row = add_row(maker, TOP_REQUESTS, up);

	memset(of, 0, sizeof(*of));
	of->now = (struct top_sums){ .units = now->requests, .ns = now->elapsed_ns,
				 .late = maker->program->late_requests };
	if (was)
		of->before = (struct top_sums){ .units = was->requests, .ns = was->elapsed_ns,
					    .late = maker->was->late_requests };
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++)
		of->times.nr[i] = now->hist[i] - (began ? began->hist[i] : 0);
	set_row(maker, row, of);
	name_requests(row, now, was);
}

/* A loop is made with its first type. */
static bool is_first_of_loop(const struct top_program *program, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (program->types[i].loop_id == program->types[index].loop_id)
			return false;
	return true;
}

static void make_program(struct maker *maker)
{
	const struct top_program *program = maker->program;
	uint32_t at = maker->table->nr;
	struct top_row *row = add_row(maker, TOP_PROGRAM, 0);

	memset(maker->of[0], 0, sizeof(*maker->of[0]));
	if (program->requests)
		make_requests(maker, at);
	for (uint32_t i = 0; i < program->nr_types; i++)
		if (is_first_of_loop(program, i))
			make_loop(maker, program->types[i].loop_id, at);
	set_name(row, base_name(program->exe));
	row->is_starved = program->is_starved;
	for (uint32_t i = at + 1; i < maker->table->nr; i++)
		row->is_slow |= maker->table->rows[i].is_slow;
	set_row(maker, row, maker->of[0]);
}

/* A program, its requests and, at most, a loop for each type. */
static uint32_t most_rows(const struct top_reading *reading)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < reading->nr_programs; i++)
		nr += 2 + 2 * reading->programs[i].nr_types;
	return nr;
}

int top_table_init(struct top_table *table, const struct top_reading *now,
		   const struct top_reading *before, const struct top_reading *base)
{
	struct maker maker = { .table = table, .now = now, .before = before, .base = base };
	struct gathered *all;

	*table = (struct top_table){ 0 };
	if (array_new(all, 3) || array_new(table->rows, most_rows(now))) {
		free(all);
		return -ENOMEM;
	}
	for (int i = 0; i < 3; i++)
		maker.of[i] = &all[i];
	for (uint32_t i = 0; i < now->nr_programs; i++) {
		maker.program = &now->programs[i];
		maker.was = find_program(before, maker.program->armed->id);
		maker.began = find_program(base, maker.program->armed->id);
		make_program(&maker);
	}
	free(all);
	return 0;
}

void top_table_deinit(struct top_table *table)
{
	free(table->rows);
	*table = (struct top_table){ 0 };
}

static double value_of(const struct top_row *row, enum top_column column)
{
	switch (column) {
	case TOP_BY_RATE:
		return row->rate;
	case TOP_BY_BUSY:
		return row->busy;
	case TOP_BY_MEAN:
		return (double)row->mean_ns;
	case TOP_BY_P50:
		return (double)row->p50.ns;
	case TOP_BY_P99:
		return (double)row->p99.ns;
	case TOP_BY_MAX:
		return (double)row->max.ns;
	case TOP_BY_CPU:
		return row->share[TOP_CPU];
	case TOP_BY_RUNQUEUE:
		return row->share[TOP_RUNQUEUE];
	case TOP_BY_BLOCKED:
		return row->share[TOP_BLOCKED];
	case TOP_BY_LATE:
		return (double)row->late;
	case TOP_BY_LATE_RATE:
		return row->late_rate;
	default:
		return 0;
	}
}

struct top_order {
	const struct top_row *rows;
	enum top_column column;
};

static int level_of(const struct top_row *row)
{
	return row->kind == TOP_PROGRAM ? 0 : row->kind == TOP_TYPE ? 2 : 1;
}

/* The row of @level that @at belongs to. */
static uint32_t lift(const struct top_row *rows, uint32_t at, int level)
{
	while (level_of(&rows[at]) > level)
		at = rows[at].up;
	return at;
}

/* Two of one level, below the same row. */
static int compare_siblings(const struct top_order *order, uint32_t a, uint32_t b)
{
	const struct top_row *x = &order->rows[a], *y = &order->rows[b];
	double left = value_of(x, order->column), right = value_of(y, order->column);
	int ret = 0;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (order->column == TOP_BY_NAME && x->kind == TOP_PROGRAM)
		ret = strcmp(x->name, y->name);
	else if (order->column != TOP_BY_NAME)
		ret = (left < right) - (left > right);
	return ret ?: order_of(x->loop_id, y->loop_id) ?: order_of(x->type_id, y->type_id) ?:
	       order_of(a, b);
}

static int compare_rows(const void *left, const void *right, void *arg)
{
	const struct top_order *order = arg;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	for (int level = 0; level < 3; level++) {
		uint32_t x = lift(order->rows, a, level), y = lift(order->rows, b, level);

		if (x != y)
			/* One is what the other belongs to. */
			return level_of(&order->rows[x]) != level_of(&order->rows[y]) ?
			       level_of(&order->rows[x]) - level_of(&order->rows[y]) :
			       compare_siblings(order, x, y);
	}
	return 0;
}

void top_table_sort(struct top_table *table, enum top_column column)
{
	struct top_order order = { .rows = table->rows, .column = column };
	struct top_row *sorted;
	uint32_t *places, *moved;

	if (array_new(places, 2 * (size_t)table->nr) || array_new(sorted, table->nr)) {
		free(places);
		return; /* as it is */
	}
	moved = places + table->nr;
	for (uint32_t i = 0; i < table->nr; i++)
		places[i] = i;
	qsort_r(places, table->nr, sizeof(*places), compare_rows, &order);
	for (uint32_t i = 0; i < table->nr; i++)
		moved[places[i]] = i;
	for (uint32_t i = 0; i < table->nr; i++) {
		sorted[i] = table->rows[places[i]];
		sorted[i].up = moved[sorted[i].up];
	}
	free(table->rows);
	free(places);
	table->rows = sorted;
}

void top_table_limit(struct top_table *table, uint32_t max_types)
{
	uint32_t nr = 0, nr_types = 0, program = 0, loop = 0;

	for (uint32_t i = 0; max_types && i < table->nr; i++) {
		struct top_row *row = &table->rows[i];

		nr_types = row->kind == TOP_TYPE ? nr_types + 1 : 0;
		if (nr_types > max_types)
			continue;
		program = row->kind == TOP_PROGRAM ? nr : program;
		loop = row->kind == TOP_LOOP ? nr : loop;
		row->up = row->kind == TOP_TYPE ? loop : program;
		table->rows[nr++] = *row;
	}
	if (max_types)
		table->nr = nr;
}

uint32_t top_table_find(const struct top_table *table, const struct top_row *row)
{
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct top_row *one = &table->rows[i];

		if (one->kind == row->kind && one->profile_id == row->profile_id &&
		    one->loop_id == row->loop_id && one->type_id == row->type_id)
			return i;
	}
	return UINT32_MAX;
}
