/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON, one object a line.  The text gathers in memory and goes out in one
 * write with json_end_line(), so that lines of several writers do not mix and
 * a reader sees whole lines.
 *
 *	json_object(json, NULL);
 *	json_string(json, "kind", "late");
 *	json_end(json);
 *	json_end_line(json, stdout);
 *
 * Keys are NULL inside of arrays and for the outermost value.
 */
#ifndef _USER_OUT_JSON_H
#define _USER_OUT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 16

struct json {
	char *text;
	size_t len;
	size_t size;
	unsigned int depth;
	char closers[JSON_MAX_DEPTH];
	bool needs_comma;
	bool has_failed; /* out of memory */
};

void json_deinit(struct json *json);

void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
/* End the innermost object or array. */
void json_end(struct json *json);

void json_u64(struct json *json, const char *key, uint64_t value);
void json_u64_or_null(struct json *json, const char *key, uint64_t value, bool is_known);
void json_bool(struct json *json, const char *key, bool value);
/* Three decimals. */
void json_double(struct json *json, const char *key, double value);
/* Nine significant digits. */
void json_real(struct json *json, const char *key, double value);
/*
 * @value NULL is null.  What is not UTF-8 becomes U+FFFD, and what a terminal
 * would not just show is escaped (utf8_is_plain()): paths and thread names may
 * hold any bytes.
 */
void json_string(struct json *json, const char *key, const char *value);
void json_null(struct json *json, const char *key);

/* Write the line and begin the next.  Returns 0, -ENOMEM or -EIO. */
int json_end_line(struct json *json, FILE *file);

#endif /* _USER_OUT_JSON_H */
