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
_Static_assert(sizeof(struct training) == 304 && sizeof(struct samples) == 112 &&
		       sizeof(struct samples_object) == 16 &&
		       sizeof(struct samples_function) == 48 && sizeof(struct samples_loop) == 72 &&
		       sizeof(struct samples_boundary) == 40 && sizeof(struct samples_node) == 8 &&
		       sizeof(struct samples_tree) == 40 && sizeof(struct samples_unit) == 40 &&
		       sizeof(struct samples_hit) == 12 && sizeof(struct samples_guards) == 24 &&
		       sizeof(struct samples_times) == 5296 &&
		       sizeof(struct samples_timing) == 10640 && sizeof(struct model) == 160 &&
		       sizeof(struct model_type) == 5408 && sizeof(struct model_guard) == 32 &&
		       sizeof(struct model_context) == 20 && sizeof(struct model_weight) == 8 &&
		       sizeof(struct model_prediction) == 88,
	       "all fields of a profile are saved");

/* A boundary with the loop it is of, as its table has it. */
struct boundary_row {
	uint32_t loop;
	struct samples_boundary boundary;
};

struct digest_row {
	uint64_t value;
};

#define COLUMN(of, field, kind_, extra_) \
	{ .name = #field, .kind = kind_, .offset = offsetof(struct of, field), .extra = extra_ }
#define NAMED(name_, of, field, kind_, extra_) \
	{ .name = name_, .kind = kind_, .offset = offsetof(struct of, field), .extra = extra_ }
#define LIST(of, field, kind_, nr) COLUMN(of, field, kind_, offsetof(struct of, nr))
#define CHARS(of, field) COLUMN(of, field, COLUMN_CHARS, sizeof(((struct of *)NULL)->field))

#define TABLE(name_, columns_, size_, max_)                                                     \
	{                                                                                       \
		.name = name_, .columns = columns_,                                             \
		.nr_columns = sizeof(columns_) / sizeof((columns_)[0]), .size = size_,          \
		.max_rows = max_                                                                \
	}

static const struct column training_columns[] = {
	CHARS(training, tool),
	CHARS(training, settings),
	COLUMN(training, created_s, COLUMN_U64, 0),
	COLUMN(training, changed_s, COLUMN_U64, 0),
};

static const struct column total_columns[] = {
	COLUMN(samples, runs, COLUMN_U64, 0),
	COLUMN(samples, lost, COLUMN_U64, 0),
};

static const struct column object_columns[] = {
	COLUMN(samples_object, path, COLUMN_TEXT, CHECK_MAX_PATH),
	COLUMN(samples_object, build_id, COLUMN_TEXT, CHECK_MAX_BUILD_ID),
};

static const struct column function_columns[] = {
	COLUMN(samples_function, object, COLUMN_U32, 0),
	COLUMN(samples_function, offset, COLUMN_U64, 0),
	COLUMN(samples_function, size, COLUMN_U32, 0),
	COLUMN(samples_function, site, COLUMN_U64, 0),
	COLUMN(samples_function, sp_delta, COLUMN_U32, 0),
	COLUMN(samples_function, cost, COLUMN_U32, 0),
	COLUMN(samples_function, name, COLUMN_OPTIONAL_TEXT, CHECK_MAX_NAME),
};

static const struct column loop_columns[] = {
	COLUMN(samples_loop, function, COLUMN_OPTIONAL, 0),
	COLUMN(samples_loop, has_empty, COLUMN_BOOL, 0),
	CHARS(samples_loop, comm),
	COLUMN(samples_loop, units, COLUMN_U64, 0),
	COLUMN(samples_loop, cut_off, COLUMN_U64, 0),
	COLUMN(samples_loop, foreign_stack, COLUMN_U64, 0),
};

static const struct column boundary_columns[] = {
	COLUMN(boundary_row, loop, COLUMN_U32, 0),
	NAMED("role", boundary_row, boundary.role, COLUMN_U32, 0),
	NAMED("syscall", boundary_row, boundary.syscall, COLUMN_U32, 0),
	NAMED("object", boundary_row, boundary.object, COLUMN_OPTIONAL, 0),
	NAMED("return_offset", boundary_row, boundary.return_offset, COLUMN_U64, 0),
	NAMED("distance", boundary_row, boundary.distance, COLUMN_U32, 0),
	NAMED("rise", boundary_row, boundary.rise, COLUMN_U32, 0),
	NAMED("function", boundary_row, boundary.function, COLUMN_OPTIONAL, 0),
};

static const struct column node_columns[] = {
	COLUMN(samples_node, parent, COLUMN_OPTIONAL, 0),
	COLUMN(samples_node, function, COLUMN_OPTIONAL, 0),
};

static const struct column tree_columns[] = {
	COLUMN(samples_tree, loop, COLUMN_U32, 0),
	LIST(samples_tree, leaves, COLUMN_RISING, nr_leaves),
	NAMED("units_learnt", samples_tree, units[0], COLUMN_U64, 0),
	NAMED("units_held_back", samples_tree, units[1], COLUMN_U64, 0),
};

static const struct column unit_columns[] = {
	COLUMN(samples_unit, tree, COLUMN_U32, 0),
	LIST(samples_unit, hits, COLUMN_HITS, nr_hits),
	NAMED("units_learnt", samples_unit, units[0], COLUMN_U64, 0),
	NAMED("units_held_back", samples_unit, units[1], COLUMN_U64, 0),
};

static const struct column guards_columns[] = {
	LIST(samples_guards, functions, COLUMN_RISING, nr),
};

static const struct column timing_columns[] = {
	COLUMN(samples_timing, guards, COLUMN_U32, 0),
	COLUMN(samples_timing, loop, COLUMN_U32, 0),
	LIST(samples_timing, hits, COLUMN_PLACES, nr_hits),
	COLUMN(samples_timing, nr_contexts_hit, COLUMN_U64, 0),
	NAMED("times_learnt", samples_timing, times[0], COLUMN_TIMES, 0),
	NAMED("times_held_back", samples_timing, times[1], COLUMN_TIMES, 0),
};

static const struct column model_columns[] = {
	COLUMN(model, budget, COLUMN_REAL, 0),
	COLUMN(model, false_alarm_rate, COLUMN_REAL, 0),
	COLUMN(model, cut, COLUMN_REAL, 0),
	CHARS(model, distance),
	CHARS(model, select),
	CHARS(model, threshold_rule),
};

static const struct column type_columns[] = {
	NAMED("type", model_type, id, COLUMN_U32, 0),
	COLUMN(model_type, loop, COLUMN_U32, 0),
	COLUMN(model_type, example, COLUMN_OPTIONAL, 0),
	COLUMN(model_type, units, COLUMN_U64, 0),
	COLUMN(model_type, nr_trees, COLUMN_U32, 0),
	COLUMN(model_type, nr_merged, COLUMN_U32, 0),
	COLUMN(model_type, base_early, COLUMN_I16, 0),
	COLUMN(model_type, base_final, COLUMN_I16, 0),
	COLUMN(model_type, accuracy, COLUMN_REAL, 0),
	COLUMN(model_type, paths, COLUMN_REAL, 0),
	COLUMN(model_type, functions, COLUMN_REAL, 0),
	COLUMN(model_type, times, COLUMN_TIMES, 0),
	COLUMN(model_type, threshold_ns, COLUMN_U64, 0),
	COLUMN(model_type, confidence, COLUMN_U32, 0),
	COLUMN(model_type, units_needed, COLUMN_U64, 0),
	COLUMN(model_type, false_alarms, COLUMN_REAL, 0),
	COLUMN(model_type, held_back_alarms, COLUMN_REAL, 0),
	COLUMN(model_type, held_back_units, COLUMN_U64, 0),
};

static const struct column guard_columns[] = {
	COLUMN(model_guard, function, COLUMN_U32, 0),
	COLUMN(model_guard, hits, COLUMN_REAL, 0),
	COLUMN(model_guard, most_hits, COLUMN_U32, 0),
	COLUMN(model_guard, cost_ns, COLUMN_REAL, 0),
};

static const struct column context_columns[] = {
	COLUMN(model_context, loop, COLUMN_U32, 0),
	COLUMN(model_context, guard, COLUMN_U32, 0),
	COLUMN(model_context, depth, COLUMN_U32, 0),
	COLUMN(model_context, first_weight, COLUMN_U32, 0),
	COLUMN(model_context, nr_weights, COLUMN_U32, 0),
};

static const struct column weight_columns[] = {
	COLUMN(model_weight, type, COLUMN_U32, 0),
	COLUMN(model_weight, early, COLUMN_U8, 0),
	COLUMN(model_weight, final, COLUMN_U8, 0),
};

static const struct column prediction_columns[] = {
	COLUMN(model_prediction, loop, COLUMN_U32, 0),
	COLUMN(model_prediction, budget, COLUMN_REAL, 0),
	COLUMN(model_prediction, nr_guards, COLUMN_U32, 0),
	COLUMN(model_prediction, accuracy_end, COLUMN_REAL, 0),
	COLUMN(model_prediction, accuracy_half, COLUMN_REAL, 0),
	COLUMN(model_prediction, accuracy_unmerged, COLUMN_REAL, 0),
	COLUMN(model_prediction, threshold_right, COLUMN_REAL, 0),
	COLUMN(model_prediction, hits, COLUMN_REAL, 0),
	COLUMN(model_prediction, worst, COLUMN_U32, 0),
	COLUMN(model_prediction, unseen, COLUMN_REAL, 0),
	COLUMN(model_prediction, units, COLUMN_U64, 0),
};

/* An element of model.type_of_tree is a number, not a struct. */
static const struct column type_of_tree_columns[] = {
	{ .name = "type", .kind = COLUMN_OPTIONAL },
};

static const struct column digest_columns[] = {
	COLUMN(digest_row, value, COLUMN_U64, 0),
};

enum table_number {
	TABLE_TRAINING,
	TABLE_TOTAL,
	TABLE_OBJECT,
	TABLE_FUNCTION,
	TABLE_LOOP,
	TABLE_BOUNDARY,
	TABLE_NODE,
	TABLE_TREE,
	TABLE_UNIT,
	TABLE_GUARDS,
	TABLE_TIMING,
	TABLE_MODEL,
	TABLE_TYPE,
	TABLE_GUARD,
	TABLE_CONTEXT,
	TABLE_WEIGHT,
	TABLE_PREDICTION,
	TABLE_TYPE_OF_TREE,
	TABLE_DIGEST,
	NR_TABLES,
};

static const struct rows_table tables[] = {
	TABLE("training", training_columns, sizeof(struct training), 1),
	TABLE("total", total_columns, sizeof(struct samples), 1),
	TABLE("object", object_columns, sizeof(struct samples_object), CHECK_MAX_OBJECTS),
	TABLE("function", function_columns, sizeof(struct samples_function), CHECK_MAX_FUNCTIONS),
	TABLE("loop", loop_columns, sizeof(struct samples_loop), CHECK_MAX_LOOPS),
	TABLE("boundary", boundary_columns, sizeof(struct boundary_row), CHECK_MAX_BOUNDARIES),
	TABLE("node", node_columns, sizeof(struct samples_node), CHECK_MAX_NODES),
	TABLE("tree", tree_columns, sizeof(struct samples_tree), CHECK_MAX_TREES),
	TABLE("unit", unit_columns, sizeof(struct samples_unit), CHECK_MAX_UNITS),
	TABLE("guard_set", guards_columns, sizeof(struct samples_guards), CHECK_MAX_GUARD_SETS),
	TABLE("timing", timing_columns, sizeof(struct samples_timing), CHECK_MAX_TIMINGS),
	TABLE("model", model_columns, sizeof(struct model), 1),
	TABLE("type", type_columns, sizeof(struct model_type), CHECK_MAX_TYPES),
	TABLE("guard", guard_columns, sizeof(struct model_guard), CHECK_MAX_GUARDS),
	TABLE("context", context_columns, sizeof(struct model_context), CHECK_MAX_CONTEXTS),
	TABLE("weight", weight_columns, sizeof(struct model_weight), CHECK_MAX_WEIGHTS),
	TABLE("prediction", prediction_columns, sizeof(struct model_prediction), CHECK_MAX_LOOPS),
	TABLE("type_of_tree", type_of_tree_columns, sizeof(uint32_t), CHECK_MAX_TREES),
	TABLE("digest", digest_columns, sizeof(struct digest_row), 1),
};

_Static_assert(sizeof(tables) / sizeof(tables[0]) == NR_TABLES, "a number for each table");

int schema_create(sqlite3 *db)
{
	for (uint32_t i = 0; i < NR_TABLES; i++) {
		char *schema = rows_schema(&tables[i]);
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
int schema_check(sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;
	uint32_t nr = 0;
	int ret = 0, step = SQLITE_DONE;

	if (sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema ORDER BY rowid", -1, &statement,
			       NULL) != SQLITE_OK)
		return -EBADMSG;
	while (!ret && (step = sqlite3_step(statement)) == SQLITE_ROW)
		ret = nr < NR_TABLES ? check_table(statement, &tables[nr++]) : -EBADMSG;
	if (!ret && (step != SQLITE_DONE || nr != NR_TABLES))
		ret = -EBADMSG;
	sqlite3_finalize(statement);
	return ret;
}

static int save_boundaries(struct rows *rows, const struct samples *samples)
{
	struct boundary_row *boundaries;
	uint32_t nr = 0, max = 0;
	int ret;

	for (uint32_t i = 0; i < samples->nr_loops; i++)
		max += samples->loops[i].nr_boundaries;
	boundaries = calloc(max + 1, sizeof(*boundaries));
	if (!boundaries)
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		for (uint32_t j = 0; j < samples->loops[i].nr_boundaries; j++)
			boundaries[nr++] = (struct boundary_row){
				.loop = i,
				.boundary = samples->loops[i].boundaries[j],
			};
	ret = rows_save(rows, &tables[TABLE_BOUNDARY], boundaries, nr);
	free(boundaries);
	return ret;
}

/* Distribute the rows to their loops; they are in the same order. */
static int load_boundaries(struct rows *rows, struct samples *samples)
{
	struct boundary_row *boundaries = NULL;
	uint32_t nr = 0, first = 0;
	int ret = rows_load(rows, &tables[TABLE_BOUNDARY], (void **)&boundaries, &nr);

	for (uint32_t i = 0; i < samples->nr_loops && !ret; i++) {
		struct samples_loop *loop = &samples->loops[i];

		while (first + loop->nr_boundaries < nr &&
		       boundaries[first + loop->nr_boundaries].loop == i)
			loop->nr_boundaries++;
		loop->boundaries = calloc(loop->nr_boundaries + 1, sizeof(*loop->boundaries));
		if (!loop->boundaries) {
			loop->nr_boundaries = 0;
			ret = -ENOMEM;
			break;
		}
		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			loop->boundaries[j] = boundaries[first + j].boundary;
		first += loop->nr_boundaries;
	}
	if (!ret && first != nr)
		ret = -EBADMSG;
	free(boundaries);
	return ret;
}

struct array {
	enum table_number table;
	size_t elements; /* offset of the pointer in the struct */
	size_t nr;
};

#define ARRAY(number, of, field) \
	{ number, offsetof(struct of, field), offsetof(struct of, nr_##field) }

/* Arrays that are saved unchanged. */
static const struct array of_samples[] = {
	ARRAY(TABLE_OBJECT, samples, objects),	   ARRAY(TABLE_FUNCTION, samples, functions),
	ARRAY(TABLE_LOOP, samples, loops),	   ARRAY(TABLE_NODE, samples, nodes),
	ARRAY(TABLE_TREE, samples, trees),	   ARRAY(TABLE_UNIT, samples, units),
	ARRAY(TABLE_GUARDS, samples, guards),	   ARRAY(TABLE_TIMING, samples, timings),
};

static const struct array of_model[] = {
	ARRAY(TABLE_TYPE, model, types),
	ARRAY(TABLE_GUARD, model, guards),
	ARRAY(TABLE_CONTEXT, model, contexts),
	ARRAY(TABLE_WEIGHT, model, weights),
	ARRAY(TABLE_PREDICTION, model, predictions),
	{ TABLE_TYPE_OF_TREE, offsetof(struct model, type_of_tree),
	  offsetof(struct model, nr_trees) },
};

#define NR_OF(array) (sizeof(array) / sizeof((array)[0]))

static int save_arrays(struct rows *rows, const struct array *arrays, size_t nr, const void *from)
{
	int ret = 0;

	for (size_t i = 0; i < nr && !ret; i++) {
		const void *elements;
		uint32_t nr_elements;

		memcpy(&elements, (const char *)from + arrays[i].elements, sizeof(elements));
		memcpy(&nr_elements, (const char *)from + arrays[i].nr, sizeof(nr_elements));
		ret = rows_save(rows, &tables[arrays[i].table], elements, nr_elements);
	}
	return ret;
}

static int load_arrays(struct rows *rows, const struct array *arrays, size_t nr, void *to)
{
	int ret = 0;

	for (size_t i = 0; i < nr && !ret; i++)
		ret = rows_load(rows, &tables[arrays[i].table],
				(void **)((char *)to + arrays[i].elements),
				(uint32_t *)((char *)to + arrays[i].nr));
	return ret;
}

/* A table of exactly one row; the fields without a column are 0. */
static int load_one(struct rows *rows, enum table_number number, void *ret, size_t size)
{
	void *elements = NULL;
	uint32_t nr = 0;
	int error = rows_load(rows, &tables[number], &elements, &nr);

	if (!error && nr != 1)
		error = -EBADMSG;
	if (!error)
		memcpy(ret, elements, size);
	free(elements);
	return error;
}

int schema_save(sqlite3 *db, const struct samples *samples, const struct model *model,
		const struct training *training)
{
	struct rows rows = { .db = db };
	struct digest_row digest;
	int ret = rows_save(&rows, &tables[TABLE_TRAINING], training, 1);

	if (!ret)
		ret = rows_save(&rows, &tables[TABLE_TOTAL], samples, 1);
	if (!ret)
		ret = save_arrays(&rows, of_samples, NR_OF(of_samples), samples);
	if (!ret)
		ret = save_boundaries(&rows, samples);
	if (!ret)
		ret = rows_save(&rows, &tables[TABLE_MODEL], model, 1);
	if (!ret)
		ret = save_arrays(&rows, of_model, NR_OF(of_model), model);
	digest.value = rows.digest;
	return ret ? ret : rows_save(&rows, &tables[TABLE_DIGEST], &digest, 1);
}

static int check_digest(struct rows *rows)
{
	uint64_t value = rows->digest;
	struct digest_row digest;
	int ret = load_one(rows, TABLE_DIGEST, &digest, sizeof(digest));

	return ret ? ret : value == digest.value ? 0 : -EBADMSG;
}

int schema_load(sqlite3 *db, struct samples *samples, struct model *model,
		struct training *training)
{
	struct rows rows = { .db = db };
	int ret;

	memset(samples, 0, sizeof(*samples));
	memset(model, 0, sizeof(*model));
	ret = load_one(&rows, TABLE_TRAINING, training, sizeof(*training));
	if (!ret)
		ret = load_one(&rows, TABLE_TOTAL, samples, sizeof(*samples));
	if (!ret)
		ret = load_arrays(&rows, of_samples, NR_OF(of_samples), samples);
	if (!ret)
		ret = load_boundaries(&rows, samples);
	if (!ret)
		ret = load_one(&rows, TABLE_MODEL, model, sizeof(*model));
	if (!ret)
		ret = load_arrays(&rows, of_model, NR_OF(of_model), model);
	return ret ? ret : check_digest(&rows);
}
