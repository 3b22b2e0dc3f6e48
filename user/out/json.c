// SPDX-License-Identifier: GPL-2.0

#include "out/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

static void put(struct json *json, const char *text, size_t len)
{
	if (array_reserve(json->text, json->len + len, json->size)) {
		json->has_failed = true;
		return;
	}
	memcpy(json->text + json->len, text, len);
	json->len += len;
}

static void put_text(struct json *json, const char *text)
{
	put(json, text, strlen(text));
}

static void put_character(struct json *json, const char *bytes, size_t len, uint32_t c)
{
	char escape[8];

	if (c == UTF8_INVALID) {
		put_text(json, "\\ufffd");
	} else if (c == '"' || c == '\\') {
		put(json, "\\", 1);
		put(json, bytes, 1);
	} else if (utf8_is_plain(c)) {
		put(json, bytes, len);
	} else {
		/* All of these have four digits. */
		snprintf(escape, sizeof(escape), "\\u%04x", c & 0xffff);
		put(json, escape, 6);
	}
}

static void put_quoted(struct json *json, const char *value)
{
	size_t left = strlen(value), len;
	uint32_t c;

	put(json, "\"", 1);
	for (; left; value += len, left -= len) {
		len = utf8_decode(value, left, &c);
		put_character(json, value, len, c);
	}
	put(json, "\"", 1);
}

static void put_key(struct json *json, const char *key)
{
	if (json->needs_comma)
		put(json, ",", 1);
	json->needs_comma = true;
	if (!key)
		return;
	put_quoted(json, key);
	put(json, ":", 1);
}

static void begin(struct json *json, const char *key, const char *opener,
		  char closer)
{
	put_key(json, key);
	put_text(json, opener);
	json->needs_comma = false;
	if (json->depth < JSON_MAX_DEPTH)
		json->closers[json->depth] = closer;
	json->depth++;
}

void json_deinit(struct json *json)
{
	free(json->text);
	memset(json, 0, sizeof(*json));
}

void json_object(struct json *json, const char *key)
{
	begin(json, key, "{", '}');
}

void json_array(struct json *json, const char *key)
{
	begin(json, key, "[", ']');
}

void json_end(struct json *json)
{
	if (!json->depth)
		return;
	json->depth--;
	if (json->depth < JSON_MAX_DEPTH)
		put(json, &json->closers[json->depth], 1);
	json->needs_comma = true;
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	char text[24];

	put_key(json, key);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_text(json, text);
}

void json_u64_or_null(struct json *json, const char *key, uint64_t value, bool is_known)
{
	if (is_known)
		json_u64(json, key, value);
	else
		json_null(json, key);
}

void json_bool(struct json *json, const char *key, bool value)
{
	put_key(json, key);
	put_text(json, value ? "true" : "false");
}

static void __attribute__((format(printf, 3, 0)))
put_double(struct json *json, const char *key, const char *format, double value)
{
	char text[352]; /* the longest double has 309 digits */

	put_key(json, key);
	/* JSON has no infinity and no NaN. */
	if (value - value != 0) {
		put_text(json, "null");
		return;
	}
	snprintf(text, sizeof(text), format, value);
	put_text(json, text);
}

void json_double(struct json *json, const char *key, double value)
{
	put_double(json, key, "%.3f", value);
}

void json_real(struct json *json, const char *key, double value)
{
	put_double(json, key, "%.9g", value);
}

void json_string(struct json *json, const char *key, const char *value)
{
	put_key(json, key);
	if (value)
		put_quoted(json, value);
	else
		put_text(json, "null");
}

void json_null(struct json *json, const char *key)
{
	json_string(json, key, NULL);
}

int json_end_line(struct json *json, FILE *file)
{
	bool has_failed;

	put(json, "\n", 1);
	has_failed = json->has_failed;
	if (!has_failed)
		fwrite(json->text, 1, json->len, file);
	json->len = 0;
	json->depth = 0;
	json->needs_comma = false;
	json->has_failed = false;
	if (has_failed)
		return -ENOMEM;
	return fflush(file) || ferror(file) ? -EIO : 0;
}
