// SPDX-License-Identifier: GPL-2.0
/* The table of 'top': rows of two readings, their order and their cells. */

#include <math.h>
#include <string.h>

#include "base/duration.h"
#include "base/utf8.h"
#include "data/histogram.h"
#include "out/top/top-cells.h"
#include "out/top/top-table.h"
#include "tap.h"

enum { NR_TYPES = 3, FIRST = 60 };

/* Two loops: types 1 and 2 are of the first one, 3 of the second. */
struct sample {
	struct armed_profile armed;
	struct armed_type types[NR_TYPES];
	struct armed_times times[NR_TYPES];
	struct top_type_note notes[NR_TYPES];
	struct requests requests;
	struct top_program program;
	struct top_reading reading;
};

static void sample_init(struct sample *sample, uint64_t seconds)
{
	*sample = (struct sample){
		.armed = { .id = 7, .nr_guards = 5, .nr_shed = 2, .prices.budget_ppm = 20000,
			   .last = { .cpu = 1000, .guards = 3, .boundaries = 2 } },
		.notes = { { "get", 4, false }, { "set\033[31m", 4, true }, { NULL, 0, false } },
	};
	for (uint32_t i = 0; i < NR_TYPES; i++) {
		sample->types[i] = (struct armed_type){ .id = i + 1, .loop_id = 1 + i / 2 };
		sample->times[i] = (struct armed_times){ .id = i + 1, .first = FIRST };
	}
	sample->program = (struct top_program){
		.armed = &sample->armed, .types = sample->types, .times = sample->times,
		.nr_types = NR_TYPES, .nr_times = NR_TYPES, .target_id = 3, .processes = 2,
		.exe = "/opt/a\033]0;b", .notes = sample->notes,
	};
	sample->reading = (struct top_reading){ seconds * NSEC_PER_SEC, &sample->program, 1, 0 };
}

/* @nr units that took @ns each, a third computing and the rest blocked. */
static void add_units(struct armed_type *type, uint64_t nr, uint64_t ns)
{
	type->units += nr;
	type->elapsed_ns += nr * ns;
	type->cpu_ns += nr * ns / 3;
}

static void add_late(struct armed_type *type, uint64_t nr, uint64_t ns)
{
	type->late += nr;
	type->late_elapsed_ns += nr * ns;
	type->late_blocked_ns += nr * ns;
}

static bool is_about(double value, double wanted)
{
	bool ret = fabs(value - wanted) <= 1e-6 * fabs(wanted) + 1e-9;

	if (!ret)
		diag("%g, not %g", value, wanted);
	return ret;
}

static bool is_order(const struct top_table *table, const char *const names[], uint32_t nr)
{
	bool ret = table->nr == nr;

	for (uint32_t i = 0; i < nr && i < table->nr; i++) {
		ret &= !strcmp(table->rows[i].name, names[i]);
		if (strcmp(table->rows[i].name, names[i]))
			diag("%u: %s, not %s", i, table->rows[i].name, names[i]);
	}
	return ret;
}

/* Ten seconds, in which the first type has 50 units, the second 20, 5 of them late. */
static void test_rates(void)
{
	struct sample before, now;
	struct top_table table;
	const struct top_row *row;

	sample_init(&before, 100);
	sample_init(&now, 110);
	add_units(&before.types[0], 1000, 3 * NSEC_PER_MSEC);
	add_units(&now.types[0], 1050, 3 * NSEC_PER_MSEC);
	add_late(&before.types[1], 2, NSEC_PER_SEC);
	add_units(&now.types[1], 15, 6 * NSEC_PER_MSEC);
	add_late(&now.types[1], 7, NSEC_PER_SEC);
	now.types[1].starved = 30;
	ok(!top_table_init(&table, &now.reading, &before.reading, NULL) && table.nr == 5 &&
	   table.rows[4].kind == TOP_LOOP && table.rows[4].units == 0,
	   "a row for the program, its loops and those of their types that had units");
	row = &table.rows[2];
	ok(row->kind == TOP_TYPE && row->type_id == 1 && is_about(row->rate, 5) &&
	   is_about(row->busy, 0.015) && row->mean_ns == 3 * NSEC_PER_MSEC && row->units == 1050 && is_about(row->late_rate, 0),
	   "units a second, and their time, are those of the interval");
	ok(is_about(row->share[TOP_CPU], 1.0 / 3) && is_about(row->share[TOP_BLOCKED], 2.0 / 3) &&
	   row->share[TOP_RUNQUEUE] == 0, "and the parts of it");
	row = &table.rows[3];
	ok(is_about(row->rate, 2) && row->late == 7 && is_about(row->late_rate, 0.5) &&
	   is_about(row->starved_rate, 3), "late ones are counted in all, and a second");
	row = &table.rows[1];
	ok(row->kind == TOP_LOOP && is_about(row->rate, 7) && row->late == 7 && row->is_slow &&
	   !strcmp(row->name, "loop 4: 2 types"), "a loop has the sums of its types, and its number in the profile");
	row = &table.rows[0];
	ok(row->kind == TOP_PROGRAM && is_about(row->rate, 7) && is_about(row->busy, 0.015 + 0.509) &&
	   row->is_slow, "and a program those of its loops");
	top_table_deinit(&table);
}

static void test_beginnings(void)
{
	struct sample before, now;
	struct top_table table;
	char text[TOP_CELL_MAX];

	sample_init(&before, 100);
	sample_init(&now, 101);
	add_units(&now.types[0], 10, NSEC_PER_MSEC);
	top_table_init(&table, &now.reading, NULL, NULL);
	ok(!table.rows[0].has_rates && !strcmp(top_cell(&table.rows[0], TOP_BY_RATE, text), "-"),
	   "one reading has no rates");
	top_table_deinit(&table);
	before.armed.id = 6;
	top_table_init(&table, &now.reading, &before.reading, NULL);
	ok(!table.rows[0].has_rates, "nor has what another profile was armed for");
	top_table_deinit(&table);
	before.armed.id = 7;
	add_units(&before.types[0], 20, NSEC_PER_MSEC);
	top_table_init(&table, &now.reading, &before.reading, NULL);
	ok(table.rows[0].rate == 0, "counters that are less than before are no rate");
	top_table_deinit(&table);
	before.types[0].id = 2;
	before.types[1].id = 1;
	before.types[1].units = 4;
	top_table_init(&table, &now.reading, &before.reading, NULL);
	ok(is_about(table.rows[2].rate, 6), "types are found by their number");
	top_table_deinit(&table);
	now.program.nr_types = 0;
	top_table_init(&table, &now.reading, &before.reading, NULL);
	ok(table.nr == 1 && table.rows[0].rate == 0, "a program without types has a row");
	top_table_deinit(&table);
	now.reading.nr_programs = 0;
	ok(!top_table_init(&table, &now.reading, NULL, NULL) && !table.nr, "nothing is armed: no rows");
	top_table_sort(&table, TOP_BY_RATE);
	top_table_deinit(&table);
}

/* The upper end of bucket @at of a type. */
static uint64_t end_of(uint32_t at)
{
	return histogram_bucket_max(2 * (FIRST + at) + 1);
}

static void test_times(void)
{
	struct sample base, now;
	struct top_table table;
	const struct top_row *row;

	sample_init(&base, 50);
	sample_init(&now, 100);
	add_units(&now.types[0], 200, NSEC_PER_MSEC);
	base.times[0].nr[PERFGUARD_TIMES_OWN - 1][40] = UINT32_MAX - 49;
	now.times[0].nr[PERFGUARD_TIMES_OWN - 1][40] = 50; /* it began again at 0 */
	base.times[0].nr[PERFGUARD_TIMES_OWN - 1][20] = 10;
	now.times[0].nr[PERFGUARD_TIMES_OWN - 1][20] = 10 + 899;
	now.times[0].nr[PERFGUARD_TIMES_OWN - 1][50] = 1;
	top_table_init(&table, &now.reading, NULL, &base.reading);
	row = &table.rows[2];
	ok(row->p50.ns == end_of(20) && row->p99.ns == end_of(40) && row->max.ns == end_of(50) &&
	   !row->p50.is_below && !row->max.is_above, "times are those since the span began");
	ok(table.rows[0].p99.ns == end_of(40) && table.rows[1].p50.ns == end_of(20),
	   "of a loop and a program, too");
	ok(!table.rows[0].share[TOP_CPU], "without a reading before nothing is said of parts");
	top_table_deinit(&table);

	memset(now.times, 0, sizeof(now.times));
	now.times[0] = (struct armed_times){ .id = 1, .first = FIRST };
	now.times[0].nr[PERFGUARD_TIMES_OWN - 1][0] = 90;
	now.times[0].nr[PERFGUARD_TIMES_OWN - 1][PERFGUARD_TIMES_BUCKETS - 1] = 10;
	top_table_init(&table, &now.reading, NULL, NULL);
	row = &table.rows[2];
	ok(row->p50.is_below && !row->p50.is_above && row->p99.is_above && row->max.is_above,
	   "and bounds where the module distinguishes no more");
	top_table_deinit(&table);
	add_late(&base.types[1], 1, NSEC_PER_SEC);
	add_late(&now.types[1], 1, NSEC_PER_SEC);
	add_late(&now.types[1], 2, 3 * NSEC_PER_SEC);
	add_late(&now.types[0], 1, 2 * NSEC_PER_SEC);
	now.times[1] = (struct armed_times){ .id = 2, .first = FIRST };
	now.times[1].nr[PERFGUARD_TIMES_OWN - 1][3] = 1;
	top_table_init(&table, &now.reading, NULL, &base.reading);
	ok(table.rows[3].max.ns == 3 * NSEC_PER_SEC && table.rows[3].max.is_above &&
	   table.rows[3].p50.ns == end_of(3) && table.rows[0].max.ns == 3 * NSEC_PER_SEC &&
	   table.rows[1].max.is_above, "the largest is not less than the mean of the late ones");
	top_table_deinit(&table);
	now.times[0].id = 9;
	top_table_init(&table, &now.reading, NULL, NULL);
	ok(!table.rows[2].p50.ns, "none where no unit was timed");
	top_table_deinit(&table);
}

static void test_requests(void)
{
	struct sample before, now;
	struct top_table table;
	const struct top_row *row;

	sample_init(&before, 100);
	sample_init(&now, 102);
	before.program.requests = &before.requests;
	now.program.requests = &now.requests;
	before.requests = (struct requests){ .requests = 10, .elapsed_ns = 1000, .working_ns = 500 };
	now.requests = (struct requests){ .requests = 20, .elapsed_ns = 2000, .working_ns = 600,
					  .peers_ns = 900 };
	now.requests.hist[100] = 10;
	now.program.late_requests = 3;
	top_table_init(&table, &now.reading, &before.reading, NULL);
	row = &table.rows[1];
	ok(row->kind == TOP_REQUESTS && is_about(row->rate, 5) && row->late == 3 &&
	   is_about(row->late_rate, 1.5) && row->p50.ns == histogram_bucket_max(100),
	   "requests have a row");
	ok(!strcmp(row->name, "requests: in units 10.0 %, waiting for others 90.0 %"),
	   "which says whose time it is: %s", row->name);
	ok(table.rows[0].late == 0, "and are no units of the program");
	top_table_deinit(&table);
}

/* The order of loops and types, each with another column in front. */
static void test_order(void)
{
	static const char *const by_rate[] = { "a?]0;b", "loop 2: 1 type", "3", "loop 4: 2 types", "1 get", "2 set?[31m" };
	static const char *const by_late[] = { "a?]0;b", "loop 4: 2 types", "2 set?[31m", "1 get", "loop 2: 1 type", "3" };
	static const char *const by_name[] = { "a?]0;b", "loop 4: 2 types", "1 get", "2 set?[31m", "loop 2: 1 type", "3" };
	static const char *const limited[] = { "a?]0;b", "loop 4: 2 types", "1 get", "loop 2: 1 type", "3" };
	struct sample before, now;
	struct top_table table;
	struct top_row row;
	bool is_up = true;

	sample_init(&before, 100);
	sample_init(&now, 101);
	add_units(&now.types[0], 30, NSEC_PER_MSEC);
	add_units(&now.types[1], 20, NSEC_PER_MSEC);
	add_units(&now.types[2], 60, NSEC_PER_MSEC);
	add_late(&now.types[1], 2, NSEC_PER_MSEC);
	top_table_init(&table, &now.reading, &before.reading, NULL);
	top_table_sort(&table, TOP_BY_RATE);
	ok(is_order(&table, by_rate, 6), "by units a second: loops, and types below theirs");
	row = table.rows[5];
	top_table_sort(&table, TOP_BY_LATE);
	ok(is_order(&table, by_late, 6), "by late ones");
	ok(top_table_find(&table, &row) == 2, "a row is found where it comes to stand");
	for (uint32_t i = 0; i < table.nr; i++)
		is_up &= table.rows[i].kind == TOP_PROGRAM ? table.rows[i].up == i :
			 table.rows[i].kind == TOP_LOOP	   ? table.rows[i].up == 0 :
			 table.rows[table.rows[i].up].loop_id == table.rows[i].loop_id;
	ok(is_up, "and so is the one it belongs to");
	top_table_sort(&table, TOP_BY_NAME);
	ok(is_order(&table, by_name, 6), "by name, which for loops and types is their number");
	top_table_limit(&table, 0);
	ok(table.nr == 6, "all types are kept");
	top_table_limit(&table, 1);
	ok(is_order(&table, limited, 5) && table.rows[2].up == 1 && table.rows[3].up == 0 &&
	   table.rows[4].up == 3, "or some of each loop");
	row.type_id = 77;
	ok(top_table_find(&table, &row) == UINT32_MAX, "one that is not there is not found");
	top_table_deinit(&table);
}

static bool is_cell(const struct top_row *row, enum top_column column, const char *wanted)
{
	char text[TOP_CELL_MAX];
	bool ret = !strcmp(top_cell(row, column, text), wanted);

	if (!ret)
		diag("'%s', not '%s'", text, wanted);
	return ret;
}

static bool is_rate(double rate, const char *wanted)
{
	return is_cell(&(struct top_row){ .has_rates = true, .rate = rate }, TOP_BY_RATE, wanted);
}

static void test_cells(void)
{
	const struct top_row row = {
		.has_rates = true, .busy = 1.254, .late = 123456, .share = { 0.755, 0.005, 0.24 },
		.p50 = { 1230000, true, false }, .p99 = { 999, false, false },
		.max = { 80 * NSEC_PER_SEC, false, true },
	};

	ok(is_rate(0, "0.00") && is_rate(0.254, "0.25") && is_rate(12.34, "12.3") &&
	   is_rate(5606.4, "5606") && is_rate(99999, "99999") && is_rate(123456, "123k") &&
	   is_rate(12345678, "12.3M"), "rates have as many digits as say something");
	ok(is_cell(&row, TOP_BY_BUSY, "125%") && is_cell(&row, TOP_BY_LATE, "123k"), "shares, counts");
	ok(is_cell(&row, TOP_BY_P50, "<1.23ms") && is_cell(&row, TOP_BY_P99, "999ns") &&
	   is_cell(&row, TOP_BY_MAX, ">80.0s"), "times and bounds");
	ok(is_cell(&row, TOP_BY_CPU, "76") && is_cell(&row, TOP_BY_RUNQUEUE, "0") &&
	   is_cell(&row, TOP_BY_BLOCKED, "24"), "parts");
	ok(is_cell(&(struct top_row){ 0 }, TOP_BY_CPU, "-") &&
	   is_cell(&(struct top_row){ 0 }, TOP_BY_MAX, "-"), "what is not known");
	ok(top_column_of_key('l') == TOP_BY_LATE && top_column_of_key('q') == TOP_NR_COLUMNS &&
	   top_column_key(TOP_BY_NAME) == 'n', "columns have keys");
}

static int count_characters(const char *text)
{
	size_t left = strlen(text), size;
	int nr = 0;
	uint32_t c;

	for (; left; text += size, left -= size, nr++)
		size = utf8_decode(text, left, &c);
	return nr;
}

static void test_lines(void)
{
	struct top_row row = { .kind = TOP_TYPE, .is_slow = true, .has_rates = true, .late = 5 };
	bool is_fit = true, is_even = true;
	char text[TOP_LINE_MAX];

	for (int i = 0; i < 90; i++)
		strcat(row.name, "\u00e4");
	for (int width = 0; width <= 300; width++) {
		is_fit &= count_characters(top_line(&row, width, text)) <= width &&
			  count_characters(top_heading(TOP_BY_MAX, width, text)) <= width;
		if (width >= 16)
			is_even &= count_characters(top_line(&row, width, text)) == width &&
				   count_characters(top_heading(TOP_BY_MAX, width, text)) == width;
	}
	ok(is_fit, "no line is wider than there is room");
	ok(is_even, "and headings stand above their columns");
	top_heading(TOP_BY_LATE, 80, text);
	ok(strstr(text, "[LATE]") && strstr(text, "UNITS/S") && !strstr(text, "BUSY"),
	   "80 columns: %s", text);
	ok(strstr(top_heading(TOP_BY_BUSY, 100, text), "[BUSY]"), "100 have one more: %s", text);
	ok(!strncmp(top_line(&row, 80, text), "    SLOW \u00e4", 11), "types are indented: %s", text);
	row.kind = TOP_PROGRAM;
	row.is_slow = false;
	row.is_starved = true;
	ok(!strncmp(top_line(&row, 80, text), "STARVED \u00e4", 10), "starvation is named: %s", text);
}

static void test_note(void)
{
	struct top_row row = { .starved_rate = 1.5 };
	char text[TOP_LINE_MAX];
	struct sample sample;

	sample_init(&sample, 1);
	ok(!strcmp(top_note(&sample.program, &row, 200, text),
		   "  target 3, 2 processes; takes 0.50 % of 2 % CPU; 3 guards on, 2 SHED; 1.50 starved/s"),
	   "the note: %s", text);
	sample.armed.prices.budget_ppm = 0;
	sample.armed.nr_shed = 0;
	sample.armed.last.cpu = 0;
	row.starved_rate = 0;
	ok(!strcmp(top_note(&sample.program, &row, 200, text),
		   "  target 3, 2 processes; takes 0.00 % CPU, no budget; 5 guards on"),
	   "without a budget: %s", text);
	ok(strlen(top_note(&sample.program, &row, 20, text)) == 20, "cut off: %s", text);
}

int main(void)
{
	plan(44);
	test_rates();
	test_beginnings();
	test_times();
	test_requests();
	test_order();
	test_cells();
	test_lines();
	test_note();
	return tap_status();
}
