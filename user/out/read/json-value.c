// SPDX-License-Identifier: GPL-2.0

#include "out/read/json-value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"

json_t *value_parse(const char *text, size_t len)
{
	json_t *ret = json_loadb(text, len, JSON_DECODE_INT_AS_REAL, NULL);

	if (ret && !json_is_object(ret)) {
		json_decref(ret);
		return NULL;
	}
	return ret;
}

bool value_is_number(const json_t *object, const char *key)
{
	return json_is_number(json_object_get(object, key));
}

double value_real(const json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return value > 0 && isfinite(value) ? value : 0;
}

uint64_t value_u64(const json_t *object, const char *key)
{
	double value = value_real(object, key);

	return value < 0x1p63 ? (uint64_t)value : UINT64_MAX;
}

uint32_t value_u32(const json_t *object, const char *key)
{
	uint64_t value = value_u64(object, key);

	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

const char *value_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

bool value_is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* The digits behind the point, as ns; *@text is behind them afterwards. */
static uint64_t read_fraction(const char **text)
{
	uint64_t ns = 0, unit = NSEC_PER_SEC / 10;

	for (; **text >= '0' && **text <= '9'; (*text)++, unit /= 10)
		ns += unit * (uint64_t)(**text - '0');
	return ns;
}

uint64_t value_time(const json_t *object, const char *key)
{
	const char *text = value_text(object, key), *end;
	uint64_t ns = 0;
	struct tm tm = { 0 };
	time_t seconds;

	/* Before the digits of its year there might be anything that strptime() skips. */
	if (!text || text[0] < '0' || text[0] > '9')
		return 0;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || tm.tm_year < 70 || tm.tm_year > 350)
		return 0;
	if (*end == '.') {
		end++;
		ns = read_fraction(&end);
	}
	seconds = timegm(&tm);
	if (strcmp(end, "Z") != 0 || seconds < 0)
		return 0;
	return (uint64_t)seconds * NSEC_PER_SEC + ns;
}

char *value_type(const json_t *object, char *ret, size_t size)
{
	const char *name = value_text(object, "type_name");

	ret[0] = '\0';
	if (value_is_number(object, "type"))
		snprintf(ret, size, "type %" PRIu32 "%s%s%s", value_u32(object, "type"),
			 name ? " (" : "", name ? name : "", name ? ")" : "");
	return ret;
}
