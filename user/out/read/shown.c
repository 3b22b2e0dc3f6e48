// SPDX-License-Identifier: GPL-2.0

#include "out/read/shown.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "out/read/json-value.h"
#include "out/text.h"

static void parse_lines(struct shown *shown, const struct incidents *incidents)
{
	for (uint32_t i = shown->incident->last_line;
	     i != HASH_INDEX_NONE && shown->nr_lines < SHOWN_MAX_LINES;
	     i = incidents->lines[i].before) {
		json_t *object = value_parse(incidents->lines[i].text, incidents->lines[i].len);

		if (object)
			shown->lines[shown->nr_lines++] = object;
	}
}

/* Where an audit lists its slowest requests, it says least of them. */
static const json_t *best_line(const struct shown *shown)
{
	for (uint32_t i = 0; i < shown->nr_lines; i++)
		if (strcmp(value_text(shown->lines[i], "kind"), "slow-request") != 0)
			return shown->lines[i];
	return shown->nr_lines ? shown->lines[0] : NULL;
}

/* The path of a watched unit is of all its stacks; else they are merged here. */
static int find_path(struct shown *shown)
{
	int ret = read_path(shown->object, &shown->hotpath);

	if (ret || shown->hotpath.nr_steps)
		return ret;
	hotpath_deinit(&shown->hotpath);
	return read_stacks_merge(&shown->stacks, shown->incident->elapsed_ns, &shown->hotpath);
}

static void name_place(struct shown *shown)
{
	const char *cause = value_text(shown->object, "cause");
	const char *reason = value_text(json_object_get(shown->object, "reason"), "text");
	char *place = shown->place;

	hotpath_name(&shown->hotpath, place, SHOWN_MAX_PLACE);
	if (incident_is_request(shown->incident->kind) && cause) {
		if (!place[0] || strcmp(cause, INCIDENT_IN_UNITS) != 0)
			snprintf(place, SHOWN_MAX_PLACE, "%s", cause);
	} else if (shown->incident->kind == INCIDENT_STOPPED) {
		strcpy(place, "stopped");
	} else if (!place[0]) {
		snprintf(place, SHOWN_MAX_PLACE, "%s", reason ?: "no stack was taken");
	}
}

int shown_init(struct shown *shown, const struct incidents *incidents, uint32_t index)
{
	int ret = 0;

	*shown = (struct shown){ .incident = &incidents->of[index], .place = "-" };
	parse_lines(shown, incidents);
	shown->object = best_line(shown);
	if (!shown->object)
		return 0;
	for (uint32_t i = 0; i < shown->nr_lines && !ret; i++)
		ret = read_stacks_add(&shown->stacks, shown->lines[i]);
	if (!ret)
		ret = find_path(shown);
	if (!ret)
		name_place(shown);
	return ret;
}

void shown_deinit(struct shown *shown)
{
	hotpath_deinit(&shown->hotpath);
	read_stacks_deinit(&shown->stacks);
	for (uint32_t i = 0; i < shown->nr_lines; i++)
		json_decref(shown->lines[i]);
	shown->nr_lines = 0;
}
