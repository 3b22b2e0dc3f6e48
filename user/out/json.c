// SPDX-License-Identifier: GPL-2.0

#include "out/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put(struct json *json, const char *text, size_t len)
{
	if (json->size - json->len < len) {
		size_t size = 2 * (json->len + len) + 256;
		char *grown = realloc(json->text, size);

		if (!grown) {
			json->has_failed = true;
			return;
		}
		json->text = grown;
		json->size = size;
	}
	memcpy(json->text + json->len, text, len);
	json->len += len;
}

static void put_text(struct json *json, const char *text)
{
	put(json, text, strlen(text));
}

/*
 * Length of the UTF-8 sequence at @s, 0 if it is none: no overlong forms, no
 * surrogates, nothing above U+10FFFF (Unicode 15, table 3-7).
 */
static size_t utf8_length(const unsigned char *s)
{
	unsigned char min = 0x80, max = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;

	if (s[0] == 0xe0)
		min = 0xa0;
	else if (s[0] == 0xed)
		max = 0x9f;
	else if (s[0] == 0xf0)
		min = 0x90;
	else if (s[0] == 0xf4)
		max = 0x8f;
	if (s[1] < min || s[1] > max)
		return 0;
	/* The terminating NUL is no continuation, so this stops in time. */
	for (size_t i = 2; i < len; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return len;
}

static void put_quoted(struct json *json, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	char escape[8];
	size_t len;

	put(json, "\"", 1);
	while (*s) {
		len = utf8_length(s);
		if (*s == '"' || *s == '\\') {
			escape[0] = '\\';
			escape[1] = (char)*s;
			put(json, escape, 2);
		} else if (*s < 0x20 || *s == 0x7f) {
			snprintf(escape, sizeof(escape), "\\u%04x", *s);
			put(json, escape, 6);
		} else if (len) {
			put(json, (const char *)s, len);
		} else {
			put_text(json, "\\ufffd");
		}
		s += len ? len : 1;
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
