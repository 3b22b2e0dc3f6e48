// SPDX-License-Identifier: GPL-2.0
/* The JSON writer: structure, and strings of any bytes. */

#include <math.h>
#include <string.h>

#include "out/json.h"
#include "tap.h"

static char *line; /* what the last json_end_line() wrote */

static bool is_line(struct json *json, const char *expected)
{
	size_t size = 0;
	FILE *file;
	bool is_same;

	free(line);
	line = NULL;
	file = open_memstream(&line, &size);
	if (!file || json_end_line(json, file))
		return false;
	fclose(file);
	is_same = strlen(line) == strlen(expected) + 1 &&
		  !strncmp(line, expected, strlen(expected)) &&
		  line[size - 1] == '\n';
	if (!is_same)
		diag("got %s", line);
	return is_same;
}

static bool is_string(struct json *json, const char *value,
		      const char *expected)
{
	json_string(json, NULL, value);
	return is_line(json, expected);
}

static void test_hostile(struct json *json)
{
	ok(is_string(json, "\302\233\342\200\256\342\201\246", "\"\\u009b\\u202e\\u2066\""),
	   "C1 controls and changes of direction are escaped");
}

static void test_structure(struct json *json)
{
	json_object(json, NULL);
	json_end(json);
	ok(is_line(json, "{}"), "an empty object");

	json_object(json, NULL);
	json_string(json, "a", "x");
	json_u64(json, "b", UINT64_MAX);
	json_bool(json, "c", true);
	json_null(json, "d");
	json_array(json, "e");
	json_u64(json, NULL, 1);
	json_object(json, NULL);
	json_end(json);
	json_array(json, NULL);
	json_end(json);
	json_end(json);
	json_double(json, "f", 1.5);
	json_double(json, "g", INFINITY);
	json_end(json);
	ok(is_line(json,
		   "{\"a\":\"x\",\"b\":18446744073709551615,\"c\":true,\"d\":null,\"e\":[1,{},[]],\"f\":1.500,\"g\":null}"),
	   "every kind of value, nested");

	json_object(json, NULL);
	json_u64(json, "n", 1);
	json_end(json);
	ok(is_line(json, "{\"n\":1}"), "the next line begins again");

	json_end(json);
	json_object(json, NULL);
	json_end(json);
	json_end(json);
	ok(is_line(json, "{}"), "an end too many does no harm");
}

static void test_strings(struct json *json)
{
	ok(is_string(json, NULL, "null"), "no string is null");
	ok(is_string(json, "a\"b\\c/", "\"a\\\"b\\\\c/\""), "quotes, backslashes");
	ok(is_string(json, "\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""),
	   "control characters");
	ok(is_string(json, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
		     "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""),
	   "UTF-8 of two to four bytes");
	ok(is_string(json, "a\xff" "b", "\"a\\ufffdb\""), "a byte that is never UTF-8");
	ok(is_string(json, "\xc3", "\"\\ufffd\""), "a sequence cut off at the end");
	ok(is_string(json, "\xe2\x82z", "\"\\ufffd\\ufffdz\""), "and in the middle");
	ok(is_string(json, "\xc0\xaf", "\"\\ufffd\\ufffd\""), "an overlong form");
	ok(is_string(json, "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""), "a surrogate");
	ok(is_string(json, "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""),
	   "beyond U+10FFFF");
}

static void test_long(struct json *json)
{
	char *text = malloc(100001);

	memset(text, 'x', 100000);
	text[100000] = '\0';
	json_string(json, NULL, text);
	free(line);
	line = NULL;
	ok(json->len == 100002, "a long string");
	free(text);
	json_end_line(json, stderr);
}

int main(void)
{
	struct json json = { 0 };

	plan(16);
	test_structure(&json);
	test_strings(&json);
	test_hostile(&json);
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	test_long(&json);
	json_deinit(&json);
	free(line);
	return tap_status();
}
