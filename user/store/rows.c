// SPDX-License-Identifier: GPL-2.0

#include "store/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data/samples.h"
#include "store/pack.h"

/* Fields with an integer, which is little endian. */
static const struct {
	size_t size;
	int64_t min;
	int64_t max;
} integers[] = {
	[COLUMN_BOOL] = { sizeof(bool), 0, 1 },
	[COLUMN_U8] = { sizeof(uint8_t), 0, UINT8_MAX },
	[COLUMN_U16] = { sizeof(uint16_t), 0, UINT16_MAX },
	[COLUMN_I16] = { sizeof(int16_t), INT16_MIN, INT16_MAX },
	[COLUMN_U32] = { sizeof(uint32_t), 0, UINT32_MAX },
	[COLUMN_U64] = { sizeof(uint64_t), INT64_MIN, INT64_MAX },
	[COLUMN_OPTIONAL] = { sizeof(uint32_t), 0, UINT32_MAX - 1 },
};

static const char *type_name(enum column_kind kind)
{
	switch (kind) {
	case COLUMN_REAL:
		return "REAL";
	case COLUMN_TEXT:
	case COLUMN_OPTIONAL_TEXT:
	case COLUMN_CHARS:
		return "TEXT";
	case COLUMN_RISING:
	case COLUMN_HITS:
	case COLUMN_PLACES:
	case COLUMN_TIMES:
		return "BLOB";
	default:
		return "INTEGER";
	}
}

char *rows_schema(const struct rows_table *table)
{
	sqlite3_str *text = sqlite3_str_new(NULL);

	sqlite3_str_appendf(text, "CREATE TABLE \"%w\"(id INTEGER PRIMARY KEY", table->name);
	for (uint32_t i = 0; i < table->nr_columns; i++)
		sqlite3_str_appendf(text, ", \"%w\" %s", table->columns[i].name,
				    type_name(table->columns[i].kind));
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

static int bind_number(struct rows *rows, sqlite3_stmt *statement, int at, uint64_t number)
{
	digest_word(rows, number);
	return sqlite3_bind_int64(statement, at, (sqlite3_int64)number);
}

static int bind_null(struct rows *rows, sqlite3_stmt *statement, int at)
{
	digest_word(rows, UINT64_MAX);
	return sqlite3_bind_null(statement, at);
}

static int bind_integer(struct rows *rows, sqlite3_stmt *statement, int at, enum column_kind kind,
			const void *field)
{
	uint64_t number = 0;

	memcpy(&number, field, integers[kind].size);
	if (kind == COLUMN_OPTIONAL && number == SAMPLES_NONE)
		return bind_null(rows, statement, at);
	if (kind == COLUMN_I16)
		number = (uint64_t)(int16_t)number;
	return bind_number(rows, statement, at, number);
}

static int bind_real(struct rows *rows, sqlite3_stmt *statement, int at, double number)
{
	uint64_t bits;

	number += 0.0; /* SQLite has no -0 */
	memcpy(&bits, &number, sizeof(bits));
	digest_word(rows, bits);
	return sqlite3_bind_double(statement, at, number);
}

static int bind_text(struct rows *rows, sqlite3_stmt *statement, int at, const char *text)
{
	if (!text)
		return bind_null(rows, statement, at);
	digest_bytes(rows, text, strlen(text));
	return sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static int bind_pack(struct rows *rows, sqlite3_stmt *statement, int at, struct pack *pack)
{
	if (pack->has_failed) {
		free(pack->bytes);
		return SQLITE_NOMEM;
	}
	digest_bytes(rows, pack->bytes, pack->len);
	return sqlite3_bind_blob64(statement, at, pack->bytes, pack->len, free);
}

static int bind_list(struct rows *rows, sqlite3_stmt *statement, int at,
		     const struct column *column, const uint8_t *element)
{
	const void *field = element + column->offset;
	struct pack pack = { 0 };
	const void *list;
	uint32_t nr;

	if (column->kind == COLUMN_TIMES) {
		pack_times(&pack, field);
		return bind_pack(rows, statement, at, &pack);
	}
	memcpy(&list, field, sizeof(list));
	memcpy(&nr, element + column->extra, sizeof(nr));
	if (column->kind == COLUMN_RISING)
		pack_rising(&pack, list, nr);
	else
		pack_hits(&pack, list, nr, column->kind == COLUMN_HITS);
	return bind_pack(rows, statement, at, &pack);
}

static int bind(struct rows *rows, sqlite3_stmt *statement, int at, const struct column *column,
		const uint8_t *element)
{
	const void *field = element + column->offset;

	if (column->kind <= COLUMN_OPTIONAL)
		return bind_integer(rows, statement, at, column->kind, field);
	switch (column->kind) {
	case COLUMN_REAL:
		return bind_real(rows, statement, at, *(const double *)field);
	case COLUMN_TEXT:
	case COLUMN_OPTIONAL_TEXT:
		return bind_text(rows, statement, at, *(char *const *)field);
	case COLUMN_CHARS:
		return bind_text(rows, statement, at, field);
	default:
		return bind_list(rows, statement, at, column, element);
	}
}

static int save_row(struct rows *rows, const struct rows_table *table, sqlite3_stmt *statement,
		    const uint8_t *element, uint32_t id)
{
	int ret = bind_number(rows, statement, 1, id);

	for (uint32_t i = 0; i < table->nr_columns && ret == SQLITE_OK; i++)
		ret = bind(rows, statement, (int)i + 2, &table->columns[i], element);
	if (ret == SQLITE_OK)
		ret = sqlite3_step(statement);
	sqlite3_reset(statement);
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
	sqlite3_stmt *statement = NULL;
	char *insert;
	int ret;

	sqlite3_str_appendf(text, "INSERT INTO \"%w\" VALUES(?", table->name);
	for (uint32_t i = 0; i < table->nr_columns; i++)
		sqlite3_str_appendall(text, ", ?");
	sqlite3_str_appendall(text, ")");
	insert = sqlite3_str_finish(text);
	if (!insert)
		return -ENOMEM;
	ret = sqlite3_prepare_v2(rows->db, insert, -1, &statement, NULL);
	for (uint32_t i = 0; i < nr && ret == SQLITE_OK; i++)
		ret = save_row(rows, table, statement, (const uint8_t *)elements + i * table->size,
			       i);
	sqlite3_finalize(statement);
	sqlite3_free(insert);
	digest_word(rows, nr);
	return error_of(ret);
}

/* Values on their way out of a row. */

static int get_number(struct rows *rows, sqlite3_stmt *statement, int at, int64_t min, int64_t max,
		      int64_t *ret)
{
	if (sqlite3_column_type(statement, at) != SQLITE_INTEGER)
		return -EBADMSG;
	*ret = sqlite3_column_int64(statement, at);
	digest_word(rows, (uint64_t)*ret);
	return *ret < min || *ret > max ? -EBADMSG : 0;
}

static int get_null(struct rows *rows)
{
	digest_word(rows, UINT64_MAX);
	return 0;
}

static int get_integer(struct rows *rows, sqlite3_stmt *statement, int at, enum column_kind kind,
		       void *field)
{
	int64_t number = SAMPLES_NONE;
	int error;

	if (kind == COLUMN_OPTIONAL && sqlite3_column_type(statement, at) == SQLITE_NULL)
		error = get_null(rows);
	else
		error = get_number(rows, statement, at, integers[kind].min, integers[kind].max,
				   &number);
	if (!error)
		memcpy(field, &number, integers[kind].size);
	return error;
}

static int get_real(struct rows *rows, sqlite3_stmt *statement, int at, double *ret)
{
	uint64_t bits;

	if (sqlite3_column_type(statement, at) != SQLITE_FLOAT)
		return -EBADMSG;
	*ret = sqlite3_column_double(statement, at);
	memcpy(&bits, ret, sizeof(bits));
	digest_word(rows, bits);
	return 0;
}

static int get_text(struct rows *rows, sqlite3_stmt *statement, int at, size_t max,
		    const char **ret)
{
	size_t len;

	if (sqlite3_column_type(statement, at) != SQLITE_TEXT)
		return -EBADMSG;
	*ret = (const char *)sqlite3_column_text(statement, at);
	if (!*ret)
		return -ENOMEM;
	len = (size_t)sqlite3_column_bytes(statement, at);
	if (len > max || strlen(*ret) != len)
		return -EBADMSG;
	digest_bytes(rows, *ret, len);
	return 0;
}

static int get_string(struct rows *rows, sqlite3_stmt *statement, int at,
		      const struct column *column, char **ret)
{
	const char *text;
	int error;

	if (column->kind == COLUMN_OPTIONAL_TEXT &&
	    sqlite3_column_type(statement, at) == SQLITE_NULL)
		return get_null(rows);
	error = get_text(rows, statement, at, column->extra, &text);
	if (error)
		return error;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int get_chars(struct rows *rows, sqlite3_stmt *statement, int at, char *ret, size_t size)
{
	const char *text;
	int error = get_text(rows, statement, at, size - 1, &text);

	if (!error)
		strcpy(ret, text);
	return error;
}

static int get_list(struct rows *rows, sqlite3_stmt *statement, int at, const struct column *column,
		    uint8_t *element)
{
	void *field = element + column->offset;
	uint32_t *nr = (uint32_t *)(element + column->extra);
	const void *bytes;
	size_t len;

	if (sqlite3_column_type(statement, at) != SQLITE_BLOB)
		return -EBADMSG;
	bytes = sqlite3_column_blob(statement, at);
	len = (size_t)sqlite3_column_bytes(statement, at);
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

static int get(struct rows *rows, sqlite3_stmt *statement, int at, const struct column *column,
	       uint8_t *element)
{
	void *field = element + column->offset;

	if (column->kind <= COLUMN_OPTIONAL)
		return get_integer(rows, statement, at, column->kind, field);
	switch (column->kind) {
	case COLUMN_REAL:
		return get_real(rows, statement, at, field);
	case COLUMN_TEXT:
	case COLUMN_OPTIONAL_TEXT:
		return get_string(rows, statement, at, column, field);
	case COLUMN_CHARS:
		return get_chars(rows, statement, at, field, column->extra);
	default:
		return get_list(rows, statement, at, column, element);
	}
}

/* Memory for one more element, cleared; the others may move. */
static uint8_t *grow(const struct rows_table *table, void **elements, uint32_t nr, uint32_t *size)
{
	uint8_t *grown = *elements;

	if (nr == *size) {
		*size = *size ? 2 * *size : 64;
		if (*size > table->max_rows)
			*size = table->max_rows;
		grown = realloc(grown, *size * table->size);
		if (!grown)
			return NULL;
		*elements = grown;
	}
	return memset(grown + nr * table->size, 0, table->size);
}

static int load_row(struct rows *rows, const struct rows_table *table, sqlite3_stmt *statement,
		    uint8_t *element, uint32_t id)
{
	int64_t number;
	int ret = get_number(rows, statement, 0, id, id, &number);

	for (uint32_t i = 0; i < table->nr_columns && !ret; i++)
		ret = get(rows, statement, (int)i + 1, &table->columns[i], element);
	return ret;
}

int rows_load(struct rows *rows, const struct rows_table *table, void **elements, uint32_t *nr)
{
	sqlite3_stmt *statement = NULL;
	uint32_t size = *nr;
	char *select;
	int step = SQLITE_DONE, ret = 0;

	select = sqlite3_mprintf("SELECT * FROM \"%w\" ORDER BY id", table->name);
	if (!select)
		return -ENOMEM;
	if (sqlite3_prepare_v2(rows->db, select, -1, &statement, NULL) != SQLITE_OK)
		ret = -EBADMSG;
	while (!ret && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		uint8_t *element = NULL;

		if (*nr == table->max_rows)
			ret = -EBADMSG;
		else if (!(element = grow(table, elements, *nr, &size)))
			ret = -ENOMEM;
		else
			ret = load_row(rows, table, statement, element, (*nr)++);
	}
	if (!ret && step != SQLITE_DONE)
		ret = step == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
	sqlite3_finalize(statement);
	sqlite3_free(select);
	digest_word(rows, *nr);
	return ret;
}
