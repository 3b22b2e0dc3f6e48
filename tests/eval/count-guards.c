// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of the module for the armed profile of a process, as JSON, an
 * object a line: the profile, its types, its guards.
 *
 * usage: count-guards PID
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "link/link.h"
#include "out/json.h"

static int fail(const char *what, const char *why)
{
	log_error("%s: %s", what, why);
	return 1;
}

static int print_profile(struct json *json, const struct armed_profile *profile)
{
	json_object(json, NULL);
	json_string(json, "kind", "profile");
	json_string(json, "name", profile->name);
	json_u64(json, "guards", profile->nr_guards);
	json_u64(json, "shed", profile->nr_shed);
	json_u64(json, "units", profile->units);
	json_u64(json, "novel", profile->novel);
	json_u64(json, "unknown_hits", profile->unknown_hits);
	json_u64(json, "stray_hits", profile->stray_hits);
	json_end(json);
	return json_end_line(json, stdout);
}

static int print_types(struct json *json, struct link *link, uint32_t id)
{
	struct armed_type *types;
	uint32_t nr;
	int error = link_types(link, id, &types, &nr);

	for (uint32_t i = 0; i < nr && !error; i++) {
		json_object(json, NULL);
		json_string(json, "kind", "type");
		json_u64(json, "loop", types[i].loop_id);
		json_u64(json, "id", types[i].id);
		json_u64(json, "threshold_ns", types[i].own_limit_ns);
		json_u64(json, "units", types[i].units);
		json_u64(json, "late", types[i].late);
		json_u64(json, "novel", types[i].novel);
		json_u64(json, "elapsed_ns", types[i].elapsed_ns);
		json_end(json);
		error = json_end_line(json, stdout);
	}
	if (!error)
		free(types);
	return error;
}

static int print_guards(struct json *json, struct link *link, uint32_t id)
{
	struct armed_guard *guards;
	uint32_t nr;
	int error = link_guards(link, id, &guards, &nr);

	for (uint32_t i = 0; i < nr && !error; i++) {
		json_object(json, NULL);
		json_string(json, "kind", "guard");
		json_u64(json, "index", guards[i].index);
		json_u64(json, "state", guards[i].state);
		json_u64(json, "way", guards[i].step_mode);
		json_u64(json, "hits", guards[i].hits);
		json_u64(json, "stepped", guards[i].stepped);
		json_u64(json, "sheds", guards[i].sheds);
		json_end(json);
		error = json_end_line(json, stdout);
	}
	if (!error)
		free(guards);
	return error;
}

int main(int argc, char **argv)
{
	struct armed_profile *profiles;
	uint32_t target, nr;
	struct json json = { 0 };
	struct link *link;
	int error;

	if (argc != 2) {
		fputs("usage: count-guards PID\n", stderr);
		return 2;
	}
	if (link_open(&link))
		return fail("module", link_error(link));
	target = link_target_of(link, (uint32_t)atoi(argv[1]));
	if (!target)
		return fail("the process", "is not guarded");
	error = link_profiles(link, &profiles, &nr);
	if (error)
		return fail("profiles", link_error(link));
	for (uint32_t i = 0; i < nr && !error; i++) {
		if (profiles[i].target_id != target)
			continue;
		error = print_profile(&json, &profiles[i]);
		if (!error)
			error = print_types(&json, link, profiles[i].id);
		if (!error)
			error = print_guards(&json, link, profiles[i].id);
	}
	link_profiles_free(profiles, nr);
	json_deinit(&json);
	link_close(link);
	return error ? fail("counters", strerror(-error)) : 0;
}
