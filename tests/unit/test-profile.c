// SPDX-License-Identifier: GPL-2.0
/* The profile file: what goes in comes out, and nothing else is taken for one. */

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "same.h"
#include "store/profile-check.h"
#include "store/pack.h"
#include "store/profile-file.h"
#include "store/rows.h"
#include "tap.h"
#include "train/samples/join.h"

static char directory[] = "/tmp/test-profile-XXXXXX";
static char path[64], other[64];
static char why[PROFILE_WHY_MAX];

static const struct training training = {
	.tool = "0.1",
	.settings = "--duration 60s",
	.created_s = 1767225600,
	.changed_s = 1767225601,
};

struct content {
	struct samples samples;
	struct model model;
	struct training training;
};

static void make(struct content *content, uint64_t seed)
{
	struct fixture fixture = { .state = seed, .nr_functions = FIXTURE_FUNCTIONS,
				   .nr_trees = 20, .nr_units = 60, .nr_timings = 10 };

	fixture_samples(&fixture, &content->samples);
	fixture_model(&fixture, &content->samples, &content->model);
	content->training = training;
}

static void content_deinit(struct content *content)
{
	samples_deinit(&content->samples);
	model_deinit(&content->model);
}

static int save(const struct content *content)
{
	return profile_save(path, &content->samples, &content->model, &content->training, why);
}

static int load(const char *from, struct content *content)
{
	why[0] = '\0';
	return profile_load(from, &content->samples, &content->model, &content->training, why);
}

/* It is refused with this error and one line, and leaves nothing behind. */
static bool is_refused(const char *from, int error, const char *pattern)
{
	static const struct content empty;
	struct content content;
	int ret = load(from, &content);

	if (!ret) {
		content_deinit(&content);
		diag("it was loaded");
		return false;
	}
	if (ret == error && strstr(why, pattern) && !strchr(why, '\n') && strstr(why, from) == why &&
	    !memcmp(&content.samples, &empty.samples, sizeof(empty.samples)) &&
	    !memcmp(&content.model, &empty.model, sizeof(empty.model)))
		return true;
	/* What open() and read() say begins with what could not be done. */
	if (ret == error && strstr(why, pattern) && !strncmp(why, "cannot ", 7))
		return true;
	diag("error %d: %s", ret, why);
	return false;
}

static uint8_t *read_file(const char *from, size_t *len)
{
	FILE *file = fopen(from, "rb");
	uint8_t *bytes = NULL;

	*len = 0;
	if (!file)
		abort();
	fseek(file, 0, SEEK_END);
	*len = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*len + 1);
	if (!bytes || fread(bytes, 1, *len, file) != *len)
		abort();
	fclose(file);
	return bytes;
}

static void write_file(const char *to, const void *bytes, size_t len)
{
	FILE *file = fopen(to, "wb");

	if (!file || (len && fwrite(bytes, 1, len, file) != len) || fclose(file))
		abort();
}

static bool is_same(const struct content *a, const struct content *b)
{
	return same_samples(&a->samples, &b->samples) && same_model(&a->model, &b->model) &&
	       !strcmp(a->training.tool, b->training.tool) &&
	       !strcmp(a->training.settings, b->training.settings) &&
	       a->training.created_s == b->training.created_s &&
	       a->training.changed_s == b->training.changed_s;
}

static void test_round_trip(void)
{
	bool comes_back = true, is_repeatable = true, has_no_rest = true;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct content content, loaded;
		uint8_t *first, *second;
		size_t len, again;
		char rest[80];

		make(&content, seed);
		if (save(&content)) {
			diag("%s", why);
			comes_back = false;
			break;
		}
		first = read_file(path, &len);
		if (load(path, &loaded)) {
			diag("%s", why);
			comes_back = false;
			break;
		}
		comes_back &= is_same(&content, &loaded);
		save(&loaded);
		second = read_file(path, &again);
		is_repeatable &= len == again && !memcmp(first, second, len);
		snprintf(rest, sizeof(rest), "%s.new", path);
		has_no_rest &= access(rest, F_OK) != 0;
		free(first);
		free(second);
		content_deinit(&content);
		content_deinit(&loaded);
	}
	ok(comes_back, "20 random profiles come back as they were, to the last bit");
	ok(is_repeatable, "the same contents are the same file");
	ok(has_no_rest, "nothing is left next to it");
}

static void test_other_contents(void)
{
	struct content content, more, loaded;
	static const struct model none;

	make(&content, 1);
	make(&more, 2);
	if (samples_join(&content.samples, &more.samples))
		abort();
	model_deinit(&content.model);
	ok(!save(&content) && !load(path, &loaded) && is_same(&content, &loaded),
	   "joined samples without a model come back");
	content_deinit(&loaded);
	ok(!profile_save(path, &content.samples, NULL, &training, why) && !load(path, &loaded) &&
		   same_samples(&content.samples, &loaded.samples) &&
		   same_model(&none, &loaded.model),
	   "no model is an empty one");
	content_deinit(&loaded);
	content_deinit(&more);

	/* The least a profile can be, and names of any bytes. */
	content_deinit(&content);
	memset(&content, 0, sizeof(content));
	FIXTURE_ARRAY(&content.samples, objects, 1);
	content.samples.objects[0].path = strdup("/\xff \"'\xc3\n");
	content.samples.objects[0].build_id = strdup("");
	content.samples.lost = UINT64_MAX;
	ok(!save(&content) && !load(path, &loaded) && is_same(&content, &loaded),
	   "an almost empty profile comes back, with a name of any bytes");
	content_deinit(&loaded);
	content_deinit(&content);
}

static void test_not_profiles(void)
{
	char text[80];
	sqlite3 *db;
	int fd;

	ok(is_refused("/nonexistent/x.pgp", -ENOENT, "No such file"), "a file that is not there");
	ok(is_refused("/tmp", -EISDIR, "Is a directory"), "a directory");
	ok(is_refused("/dev/null", -EINVAL, "not a regular file"), "a device");
	snprintf(text, sizeof(text), "%s/fifo", directory);
	ok(!mkfifo(text, 0600) && is_refused(text, -EINVAL, "not a regular file"), "a pipe");
	unlink(text);
	write_file(other, "", 0);
	ok(is_refused(other, -EBADMSG, "is empty"), "an empty file");
	write_file(other, "hello", 5);
	ok(is_refused(other, -EBADMSG, "is not a profile"), "a text");
	ok(is_refused("/proc/self/exe", -EBADMSG, "is not a profile"), "a program");
	write_file(other, "SQLite", 6);
	ok(is_refused(other, -EBADMSG, "is cut short"), "the beginning of a database");
	unlink(other);
	sqlite3_open(other, &db);
	sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL);
	sqlite3_close(db);
	ok(is_refused(other, -EBADMSG, "another program"), "a database of another program");
	fd = open(other, O_RDWR | O_TRUNC);
	if (fd >= 0 && !ftruncate(fd, (off_t)3 << 30))
		ok(is_refused(other, -EFBIG, "File too large"), "a file of 3 GiB");
	else
		skip(1, "no sparse files here");
	close(fd);
}

static void test_versions(void)
{
	struct content content;
	uint8_t *bytes;
	size_t len;

	make(&content, 1);
	save(&content);
	bytes = read_file(path, &len);
	bytes[63] = 9;
	write_file(other, bytes, len);
	ok(is_refused(other, -EPROTONOSUPPORT,
		      "is of profile version 9, and this pg-collect reads 8"), "a newer version");
	bytes[63] = 0;
	write_file(other, bytes, len);
	ok(is_refused(other, -EBADMSG, "is of profile version 0"), "a version that never was");
	bytes[63] = 1;
	bytes[71] ^= 1;
	write_file(other, bytes, len);
	ok(is_refused(other, -EBADMSG, "another program"), "another application's file");
	free(bytes);
	content_deinit(&content);
}

static void test_truncation(void)
{
	struct content content;
	bool refused = true;
	uint8_t *bytes;
	size_t len, places = 0;

	make(&content, 1);
	save(&content);
	bytes = read_file(path, &len);
	for (size_t cut = 0; cut < len; cut += cut < 200 ? 1 : 509, places++) {
		write_file(other, bytes, cut);
		if (is_refused(other, -EBADMSG, ""))
			continue;
		diag("cut at %zu", cut);
		refused = false;
	}
	ok(refused, "cut off at any of %zu places: refused", places);
	free(bytes);
	content_deinit(&content);
}

/* What a flipped bit does not change is as it was; all else is refused. */
static void test_flips(void)
{
	enum { FLIPS = 2000 };
	struct fixture random = { .state = 42 };
	struct content content, loaded;
	unsigned int refused = 0, harmless = 0;
	uint8_t *bytes;
	size_t len;

	make(&content, 1);
	save(&content);
	bytes = read_file(path, &len);
	for (int i = 0; i < FLIPS; i++) {
		/* Half of them in the first page, where the schema begins. */
		size_t at = fixture_number(&random, i % 2 ? 4096 : (uint32_t)len);
		uint8_t was;
		int error;

		/* Room that is free has zeros. */
		while (at < len - 1 && !bytes[at])
			at++;
		was = bytes[at];
		bytes[at] ^= (uint8_t)(1 + fixture_number(&random, 255));
		write_file(other, bytes, len);
		error = load(other, &loaded);
		if (error && why[0] && !strchr(why, '\n')) {
			refused++;
		} else if (!error) {
			if (is_same(&content, &loaded))
				harmless++;
			content_deinit(&loaded);
		}
		bytes[at] = was;
	}
	ok(refused + harmless == FLIPS, "%d damaged bytes: %u files refused, %u unchanged", FLIPS,
	   refused, harmless);
	ok(refused > FLIPS / 4, "and not for lack of damage");
	free(bytes);
	content_deinit(&content);
}

/* Run SQL in a copy of the profile; returns how many rows it changed. */
static int change(const uint8_t *bytes, size_t len, const char *sql)
{
	sqlite3 *db;
	int changes = -1;

	write_file(other, bytes, len);
	if (sqlite3_open(other, &db) == SQLITE_OK &&
	    sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		changes = sqlite3_total_changes(db);
	sqlite3_close(db);
	return changes;
}

/* Each column of a table gets wrong values, one after the other. */
static void damage_columns(const uint8_t *bytes, size_t len, const char *table, bool *refused,
			   unsigned int *nr)
{
	static const char *const values[] = { "NULL", "'x'", "-5", "99999999999", "0.5", "x'ff'",
					      "id + 1", "9223372036854775807" };
	sqlite3_stmt *columns;
	sqlite3 *db;
	char sql[256];

	write_file(other, bytes, len);
	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		abort();
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS p", path);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?, 'p')", -1, &columns, NULL);
	sqlite3_bind_text(columns, 1, table, -1, SQLITE_STATIC);
	while (sqlite3_step(columns) == SQLITE_ROW) {
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			const char *name = (const char *)sqlite3_column_text(columns, 0);

			/* The last row: the others are still as they were. */
			snprintf(sql, sizeof(sql),
				 "UPDATE \"%s\" SET \"%s\"=%s WHERE id=(SELECT max(id) FROM \"%s\")"
				 " AND \"%s\" IS NOT %s",
				 table, name, values[i], table, name, values[i]);
			if (change(bytes, len, sql) <= 0)
				continue;
			++*nr;
			if (!is_refused(other, -EBADMSG, "is damaged")) {
				diag("%s", sql);
				*refused = false;
			}
		}
	}
	sqlite3_finalize(columns);
	sqlite3_close(db);
}

static void test_tables(void)
{
	static const char *const tables[] = {
		"training", "total",  "object", "function", "loop",    "boundary",   "node",
		"tree",	    "unit",   "timing", "guard_set", "model",  "type",	     "guard",
		"context",  "weight", "prediction", "type_of_tree", "digest",
	};
	static const char *const whole[] = {
		"DELETE FROM \"%s\" WHERE id=0",
		"DELETE FROM \"%s\" WHERE id=(SELECT max(id) FROM \"%s\")",
		"DELETE FROM \"%s\"",
		"INSERT INTO \"%s\"(id) SELECT max(id) + 1 FROM \"%s\"",
		"UPDATE \"%s\" SET id=-1 WHERE id=0",
		"DROP TABLE \"%s\"",
		"ALTER TABLE \"%s\" ADD COLUMN more",
		"ALTER TABLE \"%s\" RENAME TO renamed",
	};
	bool refused = true, are_values = true;
	unsigned int nr = 0, nr_values = 0;
	struct content content;
	uint8_t *bytes;
	char sql[256];
	size_t len;

	make(&content, 1);
	save(&content);
	bytes = read_file(path, &len);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (size_t j = 0; j < sizeof(whole) / sizeof(whole[0]); j++, nr++) {
			snprintf(sql, sizeof(sql), whole[j], tables[i], tables[i]);
			if (change(bytes, len, sql) >= 0 && is_refused(other, -EBADMSG, "is damaged"))
				continue;
			diag("%s", sql);
			refused = false;
		}
		damage_columns(bytes, len, tables[i], &are_values, &nr_values);
	}
	ok(refused, "rows or tables missing, added, changed: all %u refused", nr);
	ok(are_values && nr_values > 500, "wrong values in every column: all %u refused", nr_values);
	change(bytes, len, "CREATE VIEW v AS SELECT 1");
	ok(is_refused(other, -EBADMSG, "is damaged"), "a view");
	change(bytes, len, "CREATE TRIGGER t AFTER INSERT ON unit BEGIN SELECT 1; END");
	ok(is_refused(other, -EBADMSG, "is damaged"), "a trigger");
	change(bytes, len, "ALTER TABLE unit RENAME TO u; CREATE VIEW unit AS SELECT * FROM u");
	ok(is_refused(other, -EBADMSG, "is damaged"), "a view in place of a table");
	change(bytes, len, "PRAGMA journal_mode=WAL; PRAGMA user_version=5");
	ok(is_refused(other, -EBADMSG, ""), "a file that another program would write to");
	free(bytes);
	content_deinit(&content);
}

/* Each index, one after the other, out of its range. */
static void test_indices(void)
{
	struct content content;
	const struct samples *samples = &content.samples;
	const struct model *model = &content.model;
	unsigned int nr = 0, found = 0;

	make(&content, 3);
	content.samples.loops[0].boundaries[0].role = SAMPLES_ROLE_WAIT;
#define WRONG(field, value)                                                        \
	do {                                                                       \
		__typeof__(content.field) was = content.field;                     \
		content.field = (value);                                           \
		nr++;                                                              \
		if (check_samples(samples) || check_model(model, samples))         \
			found++;                                                   \
		else                                                               \
			diag("%s = %s is not seen", #field, #value);               \
		content.field = was;                                               \
	} while (0)
	ok(!check_samples(samples) && !check_model(model, samples), "a sound profile is sound");
	WRONG(samples.nr_objects, 0);
	WRONG(samples.objects[1].build_id, (char *)"XY");
	WRONG(samples.objects[1].path, (char *)"");
	WRONG(samples.functions[3].object, samples->nr_objects);
	WRONG(samples.functions[3].cost, 4);
	WRONG(samples.loops[0].function, samples->nr_functions);
	WRONG(samples.loops[0].nr_boundaries, 0);
	WRONG(samples.loops[0].boundaries[0].role, 4);
	WRONG(samples.loops[0].boundaries[0].object, samples->nr_objects);
	WRONG(samples.nodes[5].parent, 5);
	WRONG(samples.nodes[5].parent, SAMPLES_NONE);
	WRONG(samples.nodes[5].function, samples->nr_functions);
	WRONG(samples.trees[0].loop, samples->nr_loops);
	WRONG(samples.trees[0].leaves[0], samples->nr_nodes);
	WRONG(samples.trees[0].leaves[0], samples->trees[0].leaves[1]);
	WRONG(samples.units[0].tree, samples->nr_trees);
	for (uint32_t i = 0; i < samples->nr_units && samples->units[i].nr_hits; i++) {
		WRONG(samples.units[i].hits[0].function, samples->nr_functions);
		WRONG(samples.units[i].hits[0].quarter, 4);
	}
	WRONG(samples.guards[0].functions[0], samples->nr_functions);
	WRONG(samples.timings[0].guards, samples->nr_guards);
	WRONG(samples.timings[0].loop, samples->nr_loops);
	WRONG(samples.timings[0].times[0].of[0].nr, 1 + samples->timings[0].times[0].of[0].nr);
	WRONG(samples.timings[0].times[0].of[0].nr_largest, SAMPLES_NR_LARGEST + 1);
	WRONG(samples.timings[0].times[0].of[0].largest_ns[1], UINT64_MAX);
	WRONG(samples.timings[0].times[0].of[0].hist[3], UINT64_MAX);
	WRONG(samples.objectives[0].limit_ns, 0);
	WRONG(samples.objectives[1].tree, 0);
	WRONG(model.types[0].id, 0);
	WRONG(model.types[0].id, 2);
	WRONG(model.types[0].id, 65536);
	WRONG(model.types[0].loop, samples->nr_loops);
	WRONG(model.types[0].example, samples->nr_trees);
	WRONG(model.types[0].confidence, 4);
	WRONG(model.types[0].accuracy, 0.0 / 0.0);
	WRONG(model.types[0].times.nr, UINT64_MAX);
	WRONG(model.guards[0].function, samples->nr_functions);
	WRONG(model.guards[0].hits, 1 / 0.0);
	WRONG(model.contexts[0].loop, samples->nr_loops);
	WRONG(model.contexts[0].guard, model->nr_guards);
	WRONG(model.contexts[0].first_weight, model->nr_weights);
	WRONG(model.contexts[0].first_weight, UINT32_MAX);
	WRONG(model.contexts[0].nr_weights, UINT32_MAX);
	WRONG(model.weights[0].type, model->nr_types);
	WRONG(model.predictions[0].loop, samples->nr_loops);
	WRONG(model.predictions[0].unseen, 0.0 / 0.0);
	WRONG(model.type_of_tree[0], model->nr_types);
	WRONG(model.nr_trees, model->nr_trees - 1);
	WRONG(model.budget, 1 / 0.0);
	ok(found == nr && nr > 40, "%u wrong indices and numbers: each is found", nr);

	content.samples.trees[0].loop = samples->nr_loops;
	unlink(path);
	ok(save(&content) == -EINVAL && strstr(why, "a call tree of no loop") && access(path, F_OK),
	   "and not saved");
	content.samples.trees[0].loop = 0;
	content_deinit(&content);
}

struct element {
	uint32_t number;
	char *text;
	double real;
};

/* Types of values, without the digest that would find them first. */
static void test_rows(void)
{
	static const struct column columns[] = {
		{ "number", COLUMN_U32, offsetof(struct element, number), 0 },
		{ "text", COLUMN_TEXT, offsetof(struct element, text), 5 },
		{ "real", COLUMN_REAL, offsetof(struct element, real), 0 },
	};
	static const struct rows_table table = { "t", columns, 3, sizeof(struct element), 2 };
	static const struct {
		const char *row;
		int error;
	} cases[] = {
		{ "0, 1, 'five5', 0.5", 0 },
		{ "0, 4294967295, '', -1", 0 },
		{ "1, 1, 'a', 0.5", -EBADMSG },
		{ "0, 4294967296, 'a', 0.5", -EBADMSG },
		{ "0, -1, 'a', 0.5", -EBADMSG },
		{ "0, NULL, 'a', 0.5", -EBADMSG },
		{ "0, 'x', 'a', 0.5", -EBADMSG },
		{ "0, 1, 'sixsix', 0.5", -EBADMSG },
		{ "0, 1, NULL, 0.5", -EBADMSG },
		{ "0, 1, x'61', 0.5", -EBADMSG },
		{ "0, 1, 'a' || char(0) || 'b', 0.5", -EBADMSG },
		{ "0, 1, 'a', NULL", -EBADMSG },
		{ "0, 1, 'a', 'x'", -EBADMSG },
		{ "0, 1, 'a', 1), (1, 1, 'a', 1", 0 },
		{ "0, 1, 'a', 1), (1, 1, 'a', 1), (2, 1, 'a', 1", -EBADMSG },
		{ "0, 1, 'a', 1), (2, 1, 'a', 1", -EBADMSG },
	};
	unsigned int right = 0, nr = sizeof(cases) / sizeof(cases[0]);

	for (uint32_t i = 0; i < nr; i++) {
		struct element *elements = NULL;
		char *schema = rows_schema(&table);
		struct rows rows = { 0 };
		uint32_t nr_elements = 0;
		char sql[160];

		if (!schema || sqlite3_open(":memory:", &rows.db) != SQLITE_OK)
			abort();
		sqlite3_exec(rows.db, schema, NULL, NULL, NULL);
		snprintf(sql, sizeof(sql), "INSERT INTO t VALUES(%s)", cases[i].row);
		if (sqlite3_exec(rows.db, sql, NULL, NULL, NULL) == SQLITE_OK &&
		    rows_load(&rows, &table, (void **)&elements, &nr_elements) == cases[i].error)
			right++;
		else
			diag("%s", sql);
		for (uint32_t j = 0; j < nr_elements; j++)
			free(elements[j].text);
		free(elements);
		sqlite3_free(schema);
		sqlite3_close(rows.db);
	}
	ok(right == nr, "a row's values have the type and size they should: %u cases", nr);
}

/* Bytes that are no list, each of which must end without harm. */
static void test_packs(void)
{
	static const struct {
		const char *bytes;
		size_t len;
	} wrong[] = {
		{ "", 0 },	     { "\x01", 1 },	      { "\x00\x00", 2 },
		{ "\x80\x00", 2 },   { "\xff\xff\xff\xff\x7f", 5 }, { "\x80", 1 },
		{ "\x01\x80\x80", 3 }, { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 },
		{ "\x02\xff\xff\xff\xff\x0f\x01", 7 },
	};
	unsigned int refused = 0, nr = sizeof(wrong) / sizeof(wrong[0]);
	struct fixture random = { .state = 7 };
	struct samples_times times;
	bool ends = true;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t *numbers = NULL, length;

		refused += unpack_rising((const uint8_t *)wrong[i].bytes, wrong[i].len, &numbers,
					 &length) == -EBADMSG;
		free(numbers);
	}
	ok(refused == nr, "%u lists that are none", nr);
	for (int i = 0; i < 20000; i++) {
		struct samples_hit *hits = NULL;
		uint8_t bytes[40];
		uint32_t length;

		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)(fixture_number(&random, 3) ?
						     fixture_number(&random, 8) :
						     fixture_number(&random, 256));
		unpack_hits(bytes, fixture_number(&random, sizeof(bytes)), true, &hits, &length);
		free(hits);
		hits = NULL;
		unpack_hits(bytes, fixture_number(&random, sizeof(bytes)), false, &hits, &length);
		free(hits);
		unpack_times(bytes, sizeof(bytes), &times);
		ends &= times.nr_largest <= SAMPLES_NR_LARGEST;
	}
	ok(ends, "random bytes as lists");
}

/* Where a profile is saved, and what was there before. */
static void test_places(void)
{
	struct content content, loaded;
	char link[80], rest[80];
	struct stat stat_of;

	make(&content, 1);
	unlink(path);
	umask(022);
	ok(!save(&content) && !stat(path, &stat_of) && (stat_of.st_mode & 0777) == 0600,
	   "a new file is its owner's only");
	chmod(path, 0640);
	ok(!save(&content) && !stat(path, &stat_of) && (stat_of.st_mode & 0777) == 0640,
	   "one that was there keeps its own");

	snprintf(link, sizeof(link), "%s/link.pgp", directory);
	snprintf(rest, sizeof(rest), "%s.new", path);
	if (symlink(path, link))
		abort();
	content.training.created_s++;
	ok(!profile_save(link, &content.samples, &content.model, &content.training, why) &&
		   !lstat(link, &stat_of) && S_ISLNK(stat_of.st_mode) && !load(path, &loaded) &&
		   is_same(&content, &loaded),
	   "a link is followed");
	content_deinit(&loaded);
	unlink(link);

	/* A name that others might know before. */
	write_file(other, "somebody's", 10);
	if (symlink(other, rest))
		abort();
	ok(!save(&content) && !lstat(rest, &stat_of) && S_ISLNK(stat_of.st_mode) &&
		   !stat(other, &stat_of) && stat_of.st_size == 10,
	   "no name that can be known before is written through");
	unlink(rest);
	if (mkdir(rest, 0700))
		abort();
	ok(!save(&content) && !load(path, &loaded), "and none can be in the way");
	content_deinit(&loaded);
	rmdir(rest);
	ok(profile_save("/nonexistent/x.pgp", &content.samples, NULL, &training, why) == -ENOENT &&
		   strstr(why, "No such file"),
	   "a directory that is not there");
	ok(profile_save("/dev/null", &content.samples, NULL, &training, why) == -EINVAL &&
		   strstr(why, "not a regular file"),
	   "a device");
	ok(profile_save(directory, &content.samples, NULL, &training, why) == -EISDIR,
	   "a directory");
	ok(profile_save("", &content.samples, NULL, &training, why) == -ENOENT, "no name");
	content_deinit(&content);
}

static void test_identity(void)
{
	struct content content;
	char *id;

	make(&content, 1);
	id = content.samples.objects[0].build_id;
	ok(!profile_is_of(&content.samples, "/elsewhere", id, why), "the same build id is the program");
	ok(profile_is_of(&content.samples, "/usr/sbin/example", "abcd", why) == -ESTALE &&
		   strstr(why, id) && strstr(why, "abcd"),
	   "another is not, and both are named");
	ok(profile_is_of(&content.samples, "/usr/sbin/example", "", why) == -ESTALE &&
		   strstr(why, "(none)"),
	   "none is not either");
	id[0] = '\0';
	ok(!profile_is_of(&content.samples, "/usr/sbin/example", "", why) &&
		   profile_is_of(&content.samples, "/usr/bin/other", "", why) == -ESTALE,
	   "without any, the path decides");
	content_deinit(&content);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/x.pgp", directory);
	snprintf(other, sizeof(other), "%s/other.pgp", directory);
	plan(47);
	test_round_trip();
	test_other_contents();
	test_not_profiles();
	test_versions();
	test_truncation();
	test_flips();
	test_tables();
	test_indices();
	test_rows();
	test_packs();
	test_places();
	test_identity();
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command))
		diag("cannot remove %s", directory);
	return tap_status();
}
