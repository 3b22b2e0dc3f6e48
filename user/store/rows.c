// SPDX-License-Identifier: GPL-2.0

#include "store/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "data/samples.h"
#include "store/pack.h"

static const struct {
	const char *type; /* of SQLite */
	/* Of an integer, which is little endian: */
	size_t size;
	int64_t min;
	int64_t max;
} kinds[] = {
	[COLUMN_BOOL] = { "INTEGER", sizeof(bool), 0, 1 },
	[COLUMN_U8] = { "INTEGER", sizeof(uint8_t), 0, UINT8_MAX },
	[COLUMN_I16] = { "INTEGER", sizeof(int16_t), INT16_MIN, INT16_MAX },
	[COLUMN_U32] = { "INTEGER", sizeof(uint32_t), 0, UINT32_MAX },
	[COLUMN_U64] = { "INTEGER", sizeof(uint64_t), INT64_MIN, INT64_MAX },
	[COLUMN_OPTIONAL] = { "INTEGER", sizeof(uint32_t), 0, UINT32_MAX - 1 },
	[COLUMN_REAL] = { .type = "REAL" },
	[COLUMN_TEXT] = { .type = "TEXT" },
	[COLUMN_OPTIONAL_TEXT] = { .type = "TEXT" },
	[COLUMN_CHARS] = { .type = "TEXT" },
	[COLUMN_RISING] = { .type = "BLOB" },
	[COLUMN_HITS] = { .type = "BLOB" },
	[COLUMN_PLACES] = { .type = "BLOB" },
	[COLUMN_TIMES] = { .type = "BLOB" },
	[COLUMN_BYTES] = { .type = "BLOB" },
};

char *rows_schema(const struct rows_table *table)
{
	sqlite3_str *text = sqlite3_str_new(NULL);

	sqlite3_str_appendf(text, "CREATE TABLE \"%w\"(id INTEGER PRIMARY KEY", table->name);
	for (uint32_t i = 0; i < table->nr_columns; i++)
		sqlite3_str_appendf(text, ", \"%w\" %s", table->columns[i].name,
				    kinds[table->columns[i].kind].type);
	sqlite3_str_appendall(text, ")");
	return sqlite3_str_finish(text);
}

static void digest_word(struct rows *rows, uint64_t word)
{
	uint64_t value = (rows->digest ^ word) + UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ value >> 32) * UINT64_C(0xff51afd7ed558ccd);
	rows->digest = value ^ value >> 29;
}

static void digest_bytes(struct rows *rows, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t word;

	digest_word(rows, len);
	for (; len; at += sizeof(word), len -= sizeof(word)) {
		word = 0;
		memcpy(&word, at, len < sizeof(word) ? len : sizeof(word));
		digest_word(rows, word);
		if (len < sizeof(word))
			break;
	}
}

/* Values on their way into a row. */

static int bind_number(struct rows *rows, int at, uint64_t number)
{
	digest_word(rows, number);
	return sqlite3_bind_int64(rows->statement, at, (sqlite3_int64)number);
}

static int bind_null(struct rows *rows, int at)
{
	digest_word(rows, UINT64_MAX);
	return sqlite3_bind_null(rows->statement, at);
}

static int bind_integer(struct rows *rows, int at, enum column_kind kind, const void *field)
{
	uint64_t number = 0;

	memcpy(&number, field, kinds[kind].size);
	if (kind == COLUMN_OPTIONAL && number == SAMPLES_NONE)
		return bind_null(rows, at);
	if (kind == COLUMN_I16)
		number = (uint64_t)(int16_t)number;
	return bind_number(rows, at, number);
}

static int bind_real(struct rows *rows, int at, double number)
{
	uint64_t bits;

	number += 0.0; /* SQLite has no -0 */
	memcpy(&bits, &number, sizeof(bits));
	digest_word(rows, bits);
	return sqlite3_bind_double(rows->statement, at, number);
}

static int bind_text(struct rows *rows, int at, const char *text)
{
	if (!text)
		return bind_null(rows, at);
	digest_bytes(rows, text, strlen(text));
	return sqlite3_bind_text(rows->statement, at, text, -1, SQLITE_STATIC);
}

static int bind_pack(struct rows *rows, int at, struct pack *pack)
{
	if (pack->has_failed) {
		free(pack->bytes);
		return SQLITE_NOMEM;
	}
	digest_bytes(rows, pack->bytes, pack->len);
	return sqlite3_bind_blob64(rows->statement, at, pack->bytes, pack->len, free);
}

static int bind_list(struct rows *rows, int at, const struct column *column, const uint8_t *element)
{
	const void *field = element + column->offset;
	struct pack pack = { 0 };
	const void *list;
	uint32_t nr;

	if (column->kind == COLUMN_TIMES) {
		pack_times(&pack, field);
		return bind_pack(rows, at, &pack);
	}
	memcpy(&list, field, sizeof(list));
	memcpy(&nr, element + column->extra, sizeof(nr));
	if (column->kind == COLUMN_RISING)
		pack_rising(&pack, list, nr);
	else
		pack_hits(&pack, list, nr, column->kind == COLUMN_HITS);
	return bind_pack(rows, at, &pack);
}

static int bind_bytes(struct rows *rows, int at, const struct column *column, const uint8_t *element)
{
	const uint8_t *bytes;
	uint32_t nr;

	memcpy(&bytes, element + column->offset, sizeof(bytes));
	memcpy(&nr, element + column->extra, sizeof(nr));
	if (!bytes)
		return bind_null(rows, at);
	digest_bytes(rows, bytes, nr);
	return sqlite3_bind_blob64(rows->statement, at, bytes, nr, SQLITE_STATIC);
}

static int bind(struct rows *rows, int at, const struct column *column, const uint8_t *element)
{
	const void *field = element + column->offset;

	if (column->kind <= COLUMN_OPTIONAL)
		return bind_integer(rows, at, column->kind, field);
	switch (column->kind) {
	case COLUMN_REAL:
		return bind_real(rows, at, *(const double *)field);
	case COLUMN_TEXT:
	case COLUMN_OPTIONAL_TEXT:
		return bind_text(rows, at, *(char *const *)field);
	case COLUMN_CHARS:
		return bind_text(rows, at, field);
	case COLUMN_BYTES:
		return bind_bytes(rows, at, column, element);
	default:
		return bind_list(rows, at, column, element);
	}
}

static int save_row(struct rows *rows, const struct rows_table *table, const uint8_t *element,
		    uint32_t id)
{
	int ret = bind_number(rows, 1, id);

	for (uint32_t i = 0; i < table->nr_columns && ret == SQLITE_OK; i++)
		ret = bind(rows, (int)i + 2, &table->columns[i], element);
	if (ret == SQLITE_OK)
		ret = sqlite3_step(rows->statement);
	sqlite3_reset(rows->statement);
	return ret == SQLITE_DONE ? SQLITE_OK : ret;
}

static int error_of(int sqlite)
{
	switch (sqlite) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	}
	return -EIO;
}

int rows_save(struct rows *rows, const struct rows_table *table, const void *elements, uint32_t nr)
{
	sqlite3_str *text = sqlite3_str_new(rows->db);
	char *insert;
	int ret;

	sqlite3_str_appendf(text, "INSERT INTO \"%w\" VALUES(?", table->name);
	for (uint32_t i = 0; i < table->nr_columns; i++)
		sqlite3_str_appendall(text, ", ?");
	sqlite3_str_appendall(text, ")");
	insert = sqlite3_str_finish(text);
	if (!insert)
		return -ENOMEM;
	ret = sqlite3_prepare_v2(rows->db, insert, -1, &rows->statement, NULL);
	for (uint32_t i = 0; i < nr && ret == SQLITE_OK; i++)
		ret = save_row(rows, table, (const uint8_t *)elements + i * table->size, i);
	sqlite3_finalize(rows->statement);
	sqlite3_free(insert);
	digest_word(rows, nr);
	return error_of(ret);
}

/* Values on their way out of a row. */

static int get_number(struct rows *rows, int at, int64_t min, int64_t max, int64_t *ret)
{
	if (sqlite3_column_type(rows->statement, at) != SQLITE_INTEGER)
		return -EBADMSG;
	*ret = sqlite3_column_int64(rows->statement, at);
	digest_word(rows, (uint64_t)*ret);
	return *ret < min || *ret > max ? -EBADMSG : 0;
}

static int get_null(struct rows *rows)
{
	digest_word(rows, UINT64_MAX);
	return 0;
}

static int get_integer(struct rows *rows, int at, enum column_kind kind, void *field)
{
	int64_t number = SAMPLES_NONE;
	int error;

	if (kind == COLUMN_OPTIONAL && sqlite3_column_type(rows->statement, at) == SQLITE_NULL)
		error = get_null(rows);
	else
		error = get_number(rows, at, kinds[kind].min, kinds[kind].max, &number);
	if (!error)
		memcpy(field, &number, kinds[kind].size);
	return error;
}

static int get_real(struct rows *rows, int at, double *ret)
{
	uint64_t bits;

	if (sqlite3_column_type(rows->statement, at) != SQLITE_FLOAT)
		return -EBADMSG;
	*ret = sqlite3_column_double(rows->statement, at);
	memcpy(&bits, ret, sizeof(bits));
	digest_word(rows, bits);
	return 0;
}

static int get_text(struct rows *rows, int at, size_t max, const char **ret)
{
	size_t len;

	if (sqlite3_column_type(rows->statement, at) != SQLITE_TEXT)
		return -EBADMSG;
	*ret = (const char *)sqlite3_column_text(rows->statement, at);
	if (!*ret)
		return -ENOMEM;
	len = (size_t)sqlite3_column_bytes(rows->statement, at);
	if (len > max || strlen(*ret) != len)
		return -EBADMSG;
	digest_bytes(rows, *ret, len);
	return 0;
}

static int get_string(struct rows *rows, int at, const struct column *column, char **ret)
{
	const char *text;
	int error;

	if (column->kind == COLUMN_OPTIONAL_TEXT &&
	    sqlite3_column_type(rows->statement, at) == SQLITE_NULL)
		return get_null(rows);
	error = get_text(rows, at, column->extra, &text);
	if (error)
		return error;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int get_chars(struct rows *rows, int at, char *ret, size_t size)
{
	const char *text;
	int error = get_text(rows, at, size - 1, &text);

	if (!error)
		strcpy(ret, text);
	return error;
}

static int get_list(struct rows *rows, int at, const struct column *column, uint8_t *element)
{
	void *field = element + column->offset;
	uint32_t *nr = (uint32_t *)(element + column->extra);
	const void *bytes;
	size_t len;

	if (sqlite3_column_type(rows->statement, at) != SQLITE_BLOB)
		return -EBADMSG;
	bytes = sqlite3_column_blob(rows->statement, at);
	len = (size_t)sqlite3_column_bytes(rows->statement, at);
	if (!bytes)
		return len ? -ENOMEM : -EBADMSG;
	digest_bytes(rows, bytes, len);
	switch (column->kind) {
	case COLUMN_RISING:
		return unpack_rising(bytes, len, field, nr);
	case COLUMN_HITS:
	case COLUMN_PLACES:
		return unpack_hits(bytes, len, column->kind == COLUMN_HITS, field, nr);
	default:
		return unpack_times(bytes, len, field);
	}
}

static int get_bytes(struct rows *rows, int at, const struct column *column, uint8_t *element)
{
	size_t len = (size_t)sqlite3_column_bytes(rows->statement, at);
	const void *bytes = sqlite3_column_blob(rows->statement, at);
	uint32_t nr = (uint32_t)len;
	uint8_t *copy;

	if (sqlite3_column_type(rows->statement, at) == SQLITE_NULL)
		return get_null(rows);
	if (sqlite3_column_type(rows->statement, at) != SQLITE_BLOB || !len || nr != len)
		return -EBADMSG;
	copy = bytes ? malloc(len) : NULL;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, len);
	digest_bytes(rows, copy, len);
	memcpy(element + column->offset, &copy, sizeof(copy));
	memcpy(element + column->extra, &nr, sizeof(nr));
	return 0;
}

static int get(struct rows *rows, int at, const struct column *column, uint8_t *element)
{
	void *field = element + column->offset;

	if (column->kind <= COLUMN_OPTIONAL)
		return get_integer(rows, at, column->kind, field);
	switch (column->kind) {
	case COLUMN_REAL:
		return get_real(rows, at, field);
	case COLUMN_TEXT:
	case COLUMN_OPTIONAL_TEXT:
		return get_string(rows, at, column, field);
	case COLUMN_CHARS:
		return get_chars(rows, at, field, column->extra);
	case COLUMN_BYTES:
		return get_bytes(rows, at, column, element);
	default:
		return get_list(rows, at, column, element);
	}
}

static int load_row(struct rows *rows, const struct rows_table *table, uint8_t *element,
		    uint32_t id)
{
	int64_t number;
	int ret = get_number(rows, 0, id, id, &number);

	for (uint32_t i = 0; i < table->nr_columns && !ret; i++)
		ret = get(rows, (int)i + 1, &table->columns[i], element);
	return ret;
}

int rows_load(struct rows *rows, const struct rows_table *table, void **elements, uint32_t *nr)
{
	size_t max = *nr;
	char *select;
	int step = SQLITE_DONE, ret = 0;

	select = sqlite3_mprintf("SELECT * FROM \"%w\" ORDER BY id", table->name);
	if (!select)
		return -ENOMEM;
	if (sqlite3_prepare_v2(rows->db, select, -1, &rows->statement, NULL) != SQLITE_OK)
		ret = -EBADMSG;
	while (!ret && (step = sqlite3_step(rows->statement)) == SQLITE_ROW) {
		uint8_t *element;

		if (*nr == table->max_rows)
			ret = -EBADMSG;
		else if (*nr == max)
			ret = array_double(elements, *nr + 1UL, &max, table->size);
		if (ret)
			break;
		element = (uint8_t *)*elements + *nr * table->size;
		memset(element, 0, table->size);
		ret = load_row(rows, table, element, (*nr)++);
	}
	if (!ret && step != SQLITE_DONE)
		ret = step == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
	sqlite3_finalize(rows->statement);
	sqlite3_free(select);
	digest_word(rows, *nr);
	return ret;
}
