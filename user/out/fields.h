/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An object's fields as a table: how each is called in JSON and how it reads in
 * a line of text.  A new field is one entry of it.
 *
 *	#define AT(member, name, ...) FIELD(struct target, member, name, ##__VA_ARGS__)
 *	static const struct field fields[] = {
 *		AT(units, "units"),
 *		AT(pid, "pid", .empty = FIELD_SKIP),
 *		AT(lost, "lost", .text = "Lost: %s alert%s.\n"),
 *		{ 0 },
 *	};
 */
#ifndef _USER_OUT_FIELDS_H
#define _USER_OUT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "out/json.h"

enum field_kind {
	FIELD_END, /* of an inner object, or of the table if it has no name */
	FIELD_OBJECT, /* an inner object begins */
	FIELD_BOOL,
	FIELD_U8,
	FIELD_S16,
	FIELD_U32,
	FIELD_U64,
	FIELD_REAL, /* double, nine significant digits */
	FIELD_WHOLE, /* double, as a whole number */
	FIELD_PPM, /* uint32_t, as a share */
	FIELD_NUMBER, /* uint32_t index, shown from 1 */
	FIELD_STRING, /* char *; NULL is null */
	FIELD_CHARS, /* char [] */
	FIELD_HEX, /* uint64_t as text: it does not survive every reader of JSON */
	FIELD_TIME, /* uint64_t ns of CLOCK_REALTIME */
	FIELD_PUT, /* by a function of its own */
};

struct field {
	const char *name;
	enum field_kind kind;
	size_t at;
	/* How 0, "" and negative numbers, which mean that it is not known, appear in JSON. */
	enum { FIELD_PLAIN, FIELD_NULL, FIELD_SKIP } empty;
	/* The line, with %s for the value and a second %s for a plural's s; NULL: none. */
	const char *text;
	bool has_empty_text; /* a line also if it is empty */
	const char *const *names; /* of an enum's values in JSON, null where there is none */
	uint32_t nr_names;
	void (*put)(struct json *json, const char *name, const void *object);
};

#define FIELD_KIND(value) \
	_Generic((value), bool : FIELD_BOOL, uint8_t : FIELD_U8, int16_t : FIELD_S16, \
		 uint32_t : FIELD_U32, uint64_t : FIELD_U64, double : FIELD_REAL, \
		 const char * : FIELD_STRING, \
		 char * : sizeof(value) == sizeof(char *) ? FIELD_STRING : FIELD_CHARS)

#define FIELD(type, member, key, ...) \
	{ .name = (key), .kind = FIELD_KIND(((type *)0)->member), .at = offsetof(type, member), \
	  ##__VA_ARGS__ }
#define FIELD_AS(as, type, member, key, ...) \
	{ .name = (key), .kind = (as), .at = offsetof(type, member), ##__VA_ARGS__ }
#define FIELD_BY(function, key) { .name = (key), .kind = FIELD_PUT, .put = (function) }
#define FIELD_NAMED(table, type, member, key, ...) \
	FIELD(type, member, key, .names = (table), .nr_names = sizeof(table) / sizeof((table)[0]), \
	      ##__VA_ARGS__)
#define FIELD_INNER(key) { .name = (key), .kind = FIELD_OBJECT }
#define FIELD_INNER_END { .name = "", .kind = FIELD_END }

/* Put the fields into the object that is open. */
void fields_json(struct json *json, const struct field *fields, const void *object);

/* A line with an object of this kind; returns what json_end_line() does. */
int fields_json_line(struct json *json, FILE *file, const char *kind, const struct field *fields,
		     const void *object);

/* Print the lines of text. */
void fields_text(FILE *file, const struct field *fields, const void *object);

#endif /* _USER_OUT_FIELDS_H */
