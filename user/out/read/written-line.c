// SPDX-License-Identifier: GPL-2.0

#include "out/read/written-line.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "out/read/json-value.h"

enum { DIGITS = 9 }; /* as json_real() */

char *written_line_brief(const char *line)
{
	static const char *const left_out[] = { "stacks", "functions", "contexts" };
	json_t *object = json_loads(line, 0, NULL);
	char *ret = NULL;

	if (json_is_object(object)) {
		for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
			json_object_del(object, left_out[i]);
		ret = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
	}
	json_decref(object);
	return ret;
}

void written_line_host(const char *line, char *ret, size_t size)
{
	json_t *object = value_parse(line, strlen(line));

	snprintf(ret, size, "%s", value_text(object, "host") ?: "");
	json_decref(object);
}
