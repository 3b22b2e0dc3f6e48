// SPDX-License-Identifier: GPL-2.0

#include "app/serve/silence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/watch/alert-sink.h"
#include "base/base-name.h"
#include "base/time.h"

int silence_parse(const char *text, struct silence *ret)
{
	char until[64], program[1024], rest;
	uint32_t type = 0;
	int nr;

	nr = sscanf(text, "%63s %1023s %u %c", until, program, &type, &rest);
	if (nr < 2 || nr > 3 || (nr == 3 && !type) || time_parse(until, &ret->until_ns))
		return -EINVAL;
	/* What is behind the program is a number, or nothing. */
	if (nr == 2 && sscanf(text, "%*s %*s %c", &rest) == 1)
		return -EINVAL;
	ret->type = type;
	ret->program = strdup(program);
	return ret->program ? 0 : -ENOMEM;
}

void silence_clear(struct silence *silence)
{
	free(silence->program);
	silence->program = NULL;
}

static bool is_program(const char *program, const char *exe)
{
	if (!strcmp(program, "*"))
		return true;
	return exe && (!strcmp(program, exe) || !strcmp(program, base_name(exe)));
}

bool silence_covers(const struct silence *silence, const struct sunk_alert *alert, uint64_t now_ns)
{
	return now_ns < silence->until_ns && is_program(silence->program, alert->exe) &&
	       (!silence->type || silence->type == alert->type);
}
