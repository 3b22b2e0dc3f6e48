// SPDX-License-Identifier: GPL-2.0

#include "store/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/profile-check.h"

/*
 * A field that is added to one of these structs needs a column below, and
 * unify.c and unify-loop.c a rule by which it is joined.
 */
_Static_assert(sizeof(struct training) == 304 && sizeof(struct samples) == 128 &&
		       sizeof(struct samples_object) == 32 &&
		       sizeof(struct samples_function) == 48 && sizeof(struct samples_loop) == 80 &&
		       sizeof(struct samples_boundary) == 40 && sizeof(struct samples_node) == 8 &&
		       sizeof(struct samples_tree) == 40 && sizeof(struct samples_unit) == 48 &&
		       sizeof(struct samples_hit) == 12 && sizeof(struct samples_guards) == 24 &&
		       sizeof(struct samples_times) == 5296 &&
		       sizeof(struct samples_objective) == 16 &&
		       sizeof(struct samples_timing) == 84816 && sizeof(struct model) == 168 &&
		       sizeof(struct model_type) == 26720 && sizeof(struct model_guard) == 32 &&
		       sizeof(struct model_context) == 20 && sizeof(struct model_weight) == 8 &&
		       sizeof(struct model_prediction) == 88,
	       "all fields of a profile are saved");

/* A boundary with the loop it is of, as its table has it. */
struct boundary_row {
	uint32_t loop;
	struct samples_boundary boundary;
};

/* Those of all loops. */
struct boundaries {
	struct boundary_row *rows;
	uint32_t nr_rows;
};

struct digest {
	uint64_t value;
};

#define MEMBER(of, field) (((struct of *)NULL)->field)
/* A uint32_t that may be none, and a text, are named. */
#define KIND(value) \
	_Generic((value), bool : COLUMN_BOOL, uint8_t : COLUMN_U8, int16_t : COLUMN_I16, \
		 uint32_t : COLUMN_U32, uint64_t : COLUMN_U64, double : COLUMN_REAL, \
		 char * : COLUMN_CHARS, struct samples_times : COLUMN_TIMES)

#define NAMED_AS(kind_, name_, of, field, extra_) \
	{ .name = name_, .kind = kind_, .offset = offsetof(struct of, field), .extra = extra_ }
#define NAMED(name_, of, field) \
	NAMED_AS(KIND(MEMBER(of, field)), name_, of, field, sizeof(MEMBER(of, field)))
#define COLUMN(of, field) NAMED(#field, of, field)
#define OPTIONAL(of, field) NAMED_AS(COLUMN_OPTIONAL, #field, of, field, 0)
#define TEXT(of, field, max) NAMED_AS(COLUMN_TEXT, #field, of, field, max)
#define REQUESTS(part) requests[REQUEST_PART_##part]
#define REQUEST_NS(part) request_ns[REQUEST_PART_##part]
#define LIST(kind_, of, field, nr) NAMED_AS(kind_, #field, of, field, offsetof(struct of, nr))

static const struct column training_columns[] = {
	COLUMN(training, tool), COLUMN(training, settings),
	COLUMN(training, created_s), COLUMN(training, changed_s),
};

static const struct column total_columns[] = {
	COLUMN(samples, runs), COLUMN(samples, lost),
};

static const struct column object_columns[] = {
	TEXT(samples_object, path, CHECK_MAX_PATH),
	TEXT(samples_object, build_id, CHECK_MAX_BUILD_ID),
	LIST(COLUMN_BYTES, samples_object, code, code_size),
};

static const struct column function_columns[] = {
	COLUMN(samples_function, object), COLUMN(samples_function, offset),
	COLUMN(samples_function, size), COLUMN(samples_function, site),
	COLUMN(samples_function, sp_delta), COLUMN(samples_function, cost),
	NAMED_AS(COLUMN_OPTIONAL_TEXT, "name", samples_function, name, CHECK_MAX_NAME),
};

static const struct column loop_columns[] = {
	OPTIONAL(samples_loop, function), COLUMN(samples_loop, has_empty),
	COLUMN(samples_loop, comm), COLUMN(samples_loop, units),
	COLUMN(samples_loop, cut_off), COLUMN(samples_loop, foreign_stack),
	COLUMN(samples_loop, unmarked),
};

static const struct column boundary_columns[] = {
	COLUMN(boundary_row, loop),
	NAMED("role", boundary_row, boundary.role),
	NAMED("syscall", boundary_row, boundary.syscall),
	NAMED_AS(COLUMN_OPTIONAL, "object", boundary_row, boundary.object, 0),
	NAMED("return_offset", boundary_row, boundary.return_offset),
	NAMED("distance", boundary_row, boundary.distance),
	NAMED("rise", boundary_row, boundary.rise),
	NAMED_AS(COLUMN_OPTIONAL, "function", boundary_row, boundary.function, 0),
};

static const struct column node_columns[] = {
	OPTIONAL(samples_node, parent), OPTIONAL(samples_node, function),
};

static const struct column tree_columns[] = {
	COLUMN(samples_tree, loop),
	LIST(COLUMN_RISING, samples_tree, leaves, nr_leaves),
	NAMED("units_learnt", samples_tree, units[0]),
	NAMED("units_held_back", samples_tree, units[1]),
};

static const struct column unit_columns[] = {
	COLUMN(samples_unit, tree),
	LIST(COLUMN_HITS, samples_unit, hits, nr_hits),
	NAMED("units_learnt", samples_unit, units[0]),
	NAMED("units_held_back", samples_unit, units[1]),
	COLUMN(samples_unit, least_ns),
};

static const struct column guards_columns[] = {
	LIST(COLUMN_RISING, samples_guards, functions, nr),
};

static const struct column timing_columns[] = {
	COLUMN(samples_timing, guards), COLUMN(samples_timing, loop),
	LIST(COLUMN_PLACES, samples_timing, hits, nr_hits),
	COLUMN(samples_timing, nr_contexts_hit),
	NAMED("own_learnt", samples_timing, times[0].of[SAMPLES_OWN]),
	NAMED("cpu_learnt", samples_timing, times[0].of[SAMPLES_CPU]),
	NAMED("blocked_learnt", samples_timing, times[0].of[SAMPLES_BLOCKED]),
	NAMED("block_io_learnt", samples_timing, times[0].of[SAMPLES_BLOCK_IO]),
	NAMED("own_held_back", samples_timing, times[1].of[SAMPLES_OWN]),
	NAMED("cpu_held_back", samples_timing, times[1].of[SAMPLES_CPU]),
	NAMED("blocked_held_back", samples_timing, times[1].of[SAMPLES_BLOCKED]),
	NAMED("block_io_held_back", samples_timing, times[1].of[SAMPLES_BLOCK_IO]),
	NAMED("requests_learnt", samples_timing, times[0].REQUESTS(ALL)),
	NAMED("requests_working_learnt", samples_timing, times[0].REQUESTS(WORKING)),
	NAMED("requests_peers_learnt", samples_timing, times[0].REQUESTS(PEERS)),
	NAMED("requests_held_learnt", samples_timing, times[0].REQUESTS(HELD)),
	NAMED("requests_held_back", samples_timing, times[1].REQUESTS(ALL)),
	NAMED("requests_working_held_back", samples_timing, times[1].REQUESTS(WORKING)),
	NAMED("requests_peers_held_back", samples_timing, times[1].REQUESTS(PEERS)),
	NAMED("requests_held_held_back", samples_timing, times[1].REQUESTS(HELD)),
	NAMED("interrupt_learnt", samples_timing, times[0].added_ns[SAMPLES_INTERRUPT]),
	NAMED("interrupt_held_back", samples_timing, times[1].added_ns[SAMPLES_INTERRUPT]),
	NAMED("batch_learnt", samples_timing, times[0].added_ns[SAMPLES_BATCH]),
	NAMED("batch_held_back", samples_timing, times[1].added_ns[SAMPLES_BATCH]),
	COLUMN(samples_timing, is_carried),
};

static const struct column objective_columns[] = {
	COLUMN(samples_objective, tree), COLUMN(samples_objective, limit_ns),
};

static const struct column model_columns[] = {
	COLUMN(model, budget), COLUMN(model, false_alarm_rate), COLUMN(model, cut),
	COLUMN(model, distance), COLUMN(model, select), COLUMN(model, threshold_rule),
	COLUMN(model, is_inline),
};

static const struct column type_columns[] = {
	NAMED("type", model_type, id), COLUMN(model_type, loop), OPTIONAL(model_type, example),
	COLUMN(model_type, units), COLUMN(model_type, nr_trees), COLUMN(model_type, nr_merged),
	COLUMN(model_type, base_early), COLUMN(model_type, base_final),
	COLUMN(model_type, accuracy), COLUMN(model_type, paths), COLUMN(model_type, functions),
	COLUMN(model_type, times),
	NAMED("mean_own_ns", model_type, mean_ns[SAMPLES_OWN]),
	NAMED("mean_cpu_ns", model_type, mean_ns[SAMPLES_CPU]),
	NAMED("mean_blocked_ns", model_type, mean_ns[SAMPLES_BLOCKED]),
	NAMED("mean_block_io_ns", model_type, mean_ns[SAMPLES_BLOCK_IO]),
	COLUMN(model_type, objective_ns),
	NAMED("own_ns", model_type, limit_ns[SAMPLES_OWN]),
	NAMED("cpu_ns", model_type, limit_ns[SAMPLES_CPU]),
	NAMED("blocked_ns", model_type, limit_ns[SAMPLES_BLOCKED]),
	NAMED("block_io_ns", model_type, limit_ns[SAMPLES_BLOCK_IO]),
	NAMED("interrupt_ns", model_type, added_ns[SAMPLES_INTERRUPT]),
	NAMED("batch_ns", model_type, added_ns[SAMPLES_BATCH]),
	COLUMN(model_type, novel_ns),
	NAMED("requests", model_type, REQUESTS(ALL)),
	NAMED("requests_working", model_type, REQUESTS(WORKING)),
	NAMED("requests_peers", model_type, REQUESTS(PEERS)),
	NAMED("requests_held", model_type, REQUESTS(HELD)),
	NAMED("request_ns", model_type, REQUEST_NS(ALL)),
	NAMED("request_working_ns", model_type, REQUEST_NS(WORKING)),
	NAMED("request_peers_ns", model_type, REQUEST_NS(PEERS)),
	NAMED("request_held_ns", model_type, REQUEST_NS(HELD)),
	COLUMN(model_type, confidence), COLUMN(model_type, units_needed),
	COLUMN(model_type, false_alarms), COLUMN(model_type, held_back_alarms),
	COLUMN(model_type, held_back_units), COLUMN(model_type, is_carried),
};

static const struct column guard_columns[] = {
	COLUMN(model_guard, function), COLUMN(model_guard, hits),
	COLUMN(model_guard, most_hits), COLUMN(model_guard, cost_ns),
};

static const struct column context_columns[] = {
	COLUMN(model_context, loop), COLUMN(model_context, guard), COLUMN(model_context, depth),
	COLUMN(model_context, first_weight), COLUMN(model_context, nr_weights),
};

static const struct column weight_columns[] = {
	COLUMN(model_weight, type), COLUMN(model_weight, early), COLUMN(model_weight, final),
};

static const struct column prediction_columns[] = {
	COLUMN(model_prediction, loop), COLUMN(model_prediction, budget),
	COLUMN(model_prediction, nr_guards), COLUMN(model_prediction, accuracy_end),
	COLUMN(model_prediction, accuracy_half), COLUMN(model_prediction, accuracy_unmerged),
	COLUMN(model_prediction, threshold_right), COLUMN(model_prediction, hits),
	COLUMN(model_prediction, worst), COLUMN(model_prediction, unseen),
	COLUMN(model_prediction, units),
};

/* An element of model.type_of_tree is a number, not a struct. */
static const struct column type_of_tree_columns[] = {
	{ .name = "type", .kind = COLUMN_OPTIONAL },
};

static const struct column digest_columns[] = {
	COLUMN(digest, value),
};

/* What a table is of; they are saved in this order. */
enum owner {
	OF_TRAINING,
	OF_SAMPLES,
	OF_BOUNDARIES,
	OF_MODEL,
	OF_DIGEST,
};

struct schema_table {
	struct rows_table rows;
	enum owner owner;
	size_t elements; /* offset of the pointer to them in the owner */
	size_t nr; /* offset of their number; 0: the owner itself is the only row */
	uint32_t nr_added; /* of the columns: those at the end that came with version @since */
	uint32_t since;
};

#define ROWS(name_, columns_, size_, max_)                                                      \
	.rows = { .name = name_, .columns = columns_,                                           \
		  .nr_columns = sizeof(columns_) / sizeof((columns_)[0]), .size = size_,        \
		  .max_rows = max_ }
/* The last columns of these came with a version later than SCHEMA_OLDEST. */
#define ADDED(nr_, version) .nr_added = nr_, .since = version
#define ONE(name_, columns_, owner_, of, ...) \
	{ ROWS(name_, columns_, sizeof(struct of), 1), .owner = owner_, __VA_ARGS__ }
#define NUMBERED(name_, columns_, owner_, of, field, nr_, max_, ...) \
	{ ROWS(name_, columns_, sizeof(*MEMBER(of, field)), max_), .owner = owner_, \
	  .elements = offsetof(struct of, field), .nr = offsetof(struct of, nr_), __VA_ARGS__ }
#define ARRAY(name_, columns_, owner_, of, field, max_, ...) \
	NUMBERED(name_, columns_, owner_, of, field, nr_##field, max_, __VA_ARGS__)
#define SAMPLES(name_, columns_, field, max_, ...) \
	ARRAY(name_, columns_, OF_SAMPLES, samples, field, max_, __VA_ARGS__)
#define MODEL(name_, columns_, field, max_, ...) \
	ARRAY(name_, columns_, OF_MODEL, model, field, max_, __VA_ARGS__)

static const struct schema_table tables[] = {
	ONE("training", training_columns, OF_TRAINING, training),
	ONE("total", total_columns, OF_SAMPLES, samples),
	SAMPLES("object", object_columns, objects, CHECK_MAX_OBJECTS, ADDED(1, 7)),
	SAMPLES("function", function_columns, functions, CHECK_MAX_FUNCTIONS),
	SAMPLES("loop", loop_columns, loops, CHECK_MAX_LOOPS),
	ARRAY("boundary", boundary_columns, OF_BOUNDARIES, boundaries, rows, CHECK_MAX_BOUNDARIES),
	SAMPLES("node", node_columns, nodes, CHECK_MAX_NODES),
	SAMPLES("tree", tree_columns, trees, CHECK_MAX_TREES),
	SAMPLES("unit", unit_columns, units, CHECK_MAX_UNITS),
	SAMPLES("guard_set", guards_columns, guards, CHECK_MAX_GUARD_SETS),
	SAMPLES("timing", timing_columns, timings, CHECK_MAX_TIMINGS, ADDED(1, 7)),
	SAMPLES("objective", objective_columns, objectives, CHECK_MAX_OBJECTIVES),
	ONE("model", model_columns, OF_MODEL, model, ADDED(1, 8)),
	MODEL("type", type_columns, types, CHECK_MAX_TYPES, ADDED(1, 7)),
	MODEL("guard", guard_columns, guards, CHECK_MAX_GUARDS),
	MODEL("context", context_columns, contexts, CHECK_MAX_CONTEXTS),
	MODEL("weight", weight_columns, weights, CHECK_MAX_WEIGHTS),
	MODEL("prediction", prediction_columns, predictions, CHECK_MAX_LOOPS),
	NUMBERED("type_of_tree", type_of_tree_columns, OF_MODEL, model, type_of_tree, nr_trees,
		 CHECK_MAX_TREES),
	ONE("digest", digest_columns, OF_DIGEST, digest),
};

enum { NR_TABLES = sizeof(tables) / sizeof(tables[0]) };

/* As profiles of this version have it. */
static struct rows_table table_of(uint32_t i, uint32_t version)
{
	struct rows_table table = tables[i].rows;

	if (version < tables[i].since)
		table.nr_columns -= tables[i].nr_added;
	return table;
}

int schema_create(sqlite3 *db)
{
	for (uint32_t i = 0; i < NR_TABLES; i++) {
		char *schema = rows_schema(&tables[i].rows);
		int error;

		if (!schema)
			return -ENOMEM;
		error = sqlite3_exec(db, schema, NULL, NULL, NULL);
		sqlite3_free(schema);
		if (error != SQLITE_OK)
			return error == SQLITE_NOMEM ? -ENOMEM : -EIO;
	}
	return 0;
}

static int check_table(sqlite3_stmt *statement, const struct rows_table *table)
{
	const char *sql = (const char *)sqlite3_column_text(statement, 0);
	char *schema = rows_schema(table);
	int ret = 0;

	if (!schema)
		ret = -ENOMEM;
	else if (!sql || strcmp(sql, schema))
		ret = -EBADMSG;
	sqlite3_free(schema);
	return ret;
}

/* Views and triggers are entries of SQLite's catalogue, too; a profile has none. */
int schema_check(sqlite3 *db, uint32_t version)
{
	sqlite3_stmt *statement = NULL;
	uint32_t nr = 0;
	int ret = 0, step = SQLITE_DONE;

	if (sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema ORDER BY rowid", -1, &statement,
			       NULL) != SQLITE_OK)
		return -EBADMSG;
	while (!ret && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		struct rows_table table = table_of(nr < NR_TABLES ? nr : 0, version);

		ret = nr++ < NR_TABLES ? check_table(statement, &table) : -EBADMSG;
	}
	if (!ret && (step != SQLITE_DONE || nr != NR_TABLES))
		ret = -EBADMSG;
	sqlite3_finalize(statement);
	return ret;
}

static int join_boundaries(struct boundaries *boundaries, const struct samples *samples)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < samples->nr_loops; i++)
		max += samples->loops[i].nr_boundaries;
	boundaries->rows = calloc(max + 1, sizeof(*boundaries->rows));
	if (!boundaries->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		for (uint32_t j = 0; j < samples->loops[i].nr_boundaries; j++)
			boundaries->rows[boundaries->nr_rows++] = (struct boundary_row){
				.loop = i,
				.boundary = samples->loops[i].boundaries[j],
			};
	return 0;
}

/* Distribute the rows to their loops; they are in the same order. */
static int split_boundaries(const struct boundaries *boundaries, struct samples *samples)
{
	const struct boundary_row *row = boundaries->rows, *end = row + boundaries->nr_rows;

	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		struct samples_loop *loop = &samples->loops[i];
		uint32_t nr = 0;

		while (row + nr < end && row[nr].loop == i)
			nr++;
		loop->boundaries = calloc(nr + 1, sizeof(*loop->boundaries));
		if (!loop->boundaries)
			return -ENOMEM;
		while (loop->nr_boundaries < nr)
			loop->boundaries[loop->nr_boundaries++] = (row++)->boundary;
	}
	return row == end ? 0 : -EBADMSG;
}

static int save(struct rows *rows, enum owner owner, const void *from)
{
	int ret = 0;

	for (size_t i = 0; i < NR_TABLES && !ret; i++) {
		const struct schema_table *table = &tables[i];
		const void *elements = from;
		uint32_t nr = 1;

		if (table->owner != owner)
			continue;
		if (table->nr) {
			memcpy(&elements, (const char *)from + table->elements, sizeof(elements));
			memcpy(&nr, (const char *)from + table->nr, sizeof(nr));
		}
		ret = rows_save(rows, &table->rows, elements, nr);
	}
	return ret;
}

/* A table of exactly one row; the fields without a column are 0. */
static int load_one(struct rows *rows, const struct rows_table *table, void *to)
{
	void *elements = NULL;
	uint32_t nr = 0;
	int error = rows_load(rows, table, &elements, &nr);

	if (!error && nr != 1)
		error = -EBADMSG;
	if (!error)
		memcpy(to, elements, table->size);
	free(elements);
	return error;
}

static int load(struct rows *rows, enum owner owner, uint32_t version, void *to)
{
	int ret = 0;

	for (uint32_t i = 0; i < NR_TABLES && !ret; i++) {
		const struct schema_table *table = &tables[i];
		struct rows_table of = table_of(i, version);

		if (table->owner != owner)
			continue;
		if (table->nr)
			ret = rows_load(rows, &of, (void **)((char *)to + table->elements),
					(uint32_t *)((char *)to + table->nr));
		else
			ret = load_one(rows, &of, to);
	}
	return ret;
}

int schema_save(sqlite3 *db, const struct samples *samples, const struct model *model,
		const struct training *training)
{
	struct rows rows = { .db = db };
	struct boundaries boundaries = { 0 };
	struct digest digest;
	int ret = join_boundaries(&boundaries, samples);

	if (!ret)
		ret = save(&rows, OF_TRAINING, training);
	if (!ret)
		ret = save(&rows, OF_SAMPLES, samples);
	if (!ret)
		ret = save(&rows, OF_BOUNDARIES, &boundaries);
	if (!ret)
		ret = save(&rows, OF_MODEL, model);
	free(boundaries.rows);
	digest.value = rows.digest;
	return ret ? ret : save(&rows, OF_DIGEST, &digest);
}

int schema_load(sqlite3 *db, uint32_t version, struct samples *samples, struct model *model,
		struct training *training)
{
	struct rows rows = { .db = db };
	struct boundaries boundaries = { 0 };
	struct digest digest;
	uint64_t value;
	int ret;

	memset(samples, 0, sizeof(*samples));
	memset(model, 0, sizeof(*model));
	ret = load(&rows, OF_TRAINING, version, training);
	if (!ret)
		ret = load(&rows, OF_SAMPLES, version, samples);
	if (!ret)
		ret = load(&rows, OF_BOUNDARIES, version, &boundaries);
	if (!ret)
		ret = split_boundaries(&boundaries, samples);
	free(boundaries.rows);
	if (!ret)
		ret = load(&rows, OF_MODEL, version, model);
	value = rows.digest;
	if (!ret)
		ret = load(&rows, OF_DIGEST, version, &digest);
	return ret ? ret : digest.value == value ? 0 : -EBADMSG;
}
