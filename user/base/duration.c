// SPDX-License-Identifier: GPL-2.0

#include "base/duration.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct duration_unit {
	const char *name;
	double ns;
} units[] = {
	{ "ns", 1 },
	{ "us", 1e3 },
	{ "ms", 1e6 },
	{ "s", 1e9 },
	{ "m", 60e9 },
	{ "min", 60e9 },
	{ "h", 3600e9 },
	{ "", 1e9 },
};

int duration_parse(const char *text, uint64_t *ret_ns)
{
	double value;
	char *end;

	/* strtod() also takes "inf", "nan", signs and hex, which are not durations. */
	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return -EINVAL;
	value = strtod(text, &end);
	if (end == text)
		return -EINVAL;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		value *= units[i].ns;
		if (!(value < 9223372036854775807.0))
			return -EINVAL;
		*ret_ns = (uint64_t)(value + 0.5);
		return 0;
	}
	return -EINVAL;
}

char *duration_format(uint64_t ns, char text[DURATION_TEXT_MAX])
{
	static const char *const names[] = { "ns", "us", "ms", "s" };
	double value = (double)ns;
	unsigned int unit = 0;
	int decimals;

	/* 999.5 would print as 1000 with three digits. */
	while (value >= 999.5 && unit < 3) {
		value /= 1000;
		unit++;
	}
	if (unit == 0 || value >= 99.95)
		decimals = 0;
	else if (value >= 9.995)
		decimals = 1;
	else
		decimals = 2;
	snprintf(text, DURATION_TEXT_MAX, "%.*f %s", decimals, value,
		 names[unit]);
	return text;
}
