/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arrays of structs as tables of SQLite: a row is an element, its number ("id")
 * the index.  One description serves to create a table, to fill and to read it.
 * Rows are not trusted: type and range of every value are checked.
 */
#ifndef _USER_STORE_ROWS_H
#define _USER_STORE_ROWS_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

enum column_kind {
	/* integers */
	COLUMN_BOOL,
	COLUMN_U8,
	COLUMN_I16,
	COLUMN_U32, /* enums, too */
	COLUMN_U64, /* a value above the signed range is stored as negative */
	COLUMN_OPTIONAL, /* uint32_t; UINT32_MAX is NULL */
	/* others */
	COLUMN_REAL,
	COLUMN_TEXT, /* char *; at most @extra bytes */
	COLUMN_OPTIONAL_TEXT, /* the same, or NULL */
	COLUMN_CHARS, /* char[@extra] */
	/* As in pack.h; the field is the pointer, @extra the offset of its length. */
	COLUMN_RISING,
	COLUMN_HITS,
	COLUMN_PLACES,
	COLUMN_TIMES,
	COLUMN_BYTES, /* uint8_t *, or NULL; @extra is the offset of their number */
};

struct column {
	const char *name;
	enum column_kind kind;
	size_t offset; /* of the field in the element */
	size_t extra;
};

struct rows_table {
	const char *name;
	const struct column *columns;
	uint32_t nr_columns;
	size_t size; /* of an element */
	uint32_t max_rows;
};

struct rows {
	sqlite3 *db;
	sqlite3_stmt *statement; /* private: of the row at hand */
	uint64_t digest; /* of all values that went through, in order */
};

/* The statement that creates the table: sqlite3_free(); NULL without memory. */
char *rows_schema(const struct rows_table *table);

/* Returns 0, -ENOMEM, or -EIO for other errors of SQLite. */
int rows_save(struct rows *rows, const struct rows_table *table, const void *elements, uint32_t nr);

/*
 * Append the rows of the table; *nr counts an element as soon as it owns
 * memory, so that the owner's deinit frees all of it after a failure, too.
 * Returns 0, -EBADMSG or -ENOMEM.
 */
int rows_load(struct rows *rows, const struct rows_table *table, void **elements, uint32_t *nr);

#endif /* _USER_STORE_ROWS_H */
