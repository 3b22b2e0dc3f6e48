// SPDX-License-Identifier: GPL-2.0

#include "app/watch/replacements.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/replaced.h"
#include "app/watch/watching.h"
#include "base/array.h"
#include "base/time.h"
#include "link/link.h"
#include "out/alert/alert-head.h"
#include "out/line.h"
#include "out/text.h"

static bool was_reported(const struct replacements *replacements, uint32_t id)
{
	for (uint32_t i = 0; i < replacements->nr; i++)
		if (replacements->ids[i] == id)
			return true;
	return false;
}

static int print_json(struct json *json, FILE *file, const struct target *target,
		      const struct replaced *replaced, const char *text)
{
	char incident[ALERT_INCIDENT_MAX];
	const struct alert_head head = {
		.kind = "replaced",
		.time_ns = time_wall_ns(),
		.incident = incident,
		.group = alert_group("replaced", replaced->path, NULL, 0, 0),
	};

	snprintf(incident, sizeof(incident), "replaced/%" PRIu32, target->id);
	alert_head_json(json, &head);
	json_u64(json, "target", target->id);
	json_string(json, "exe", replaced->path);
	json_string(json, "build", replaced_name(replaced));
	json_u64(json, "unguarded", replaced->nr_pids);
	json_array(json, "pids");
	for (uint32_t i = 0; i < replaced->nr_pids && i < REPLACED_MAX_PIDS; i++)
		json_u64(json, NULL, replaced->pids[i]);
	json_end(json);
	json_string(json, "text", text);
	return line_end(json, file);
}

static int print(struct watching *watching, const struct target *target,
		 const struct replaced *replaced, const char *profile)
{
	const struct sunk_alert sunk = { .kind = "replaced", .exe = replaced->path };
	char text[REPLACED_TEXT_MAX], time[TIME_TEXT_MAX];
	FILE *file = watching_text(watching);
	int ret = 0;

	replaced_text(replaced, profile, text);
	if (watching_json(watching))
		ret = print_json(&watching->json, watching_json(watching), target, replaced, text);
	if (file) {
		fprintf(file, "%s %sREPLACED%s ", time_format_local(time_wall_ns(), time),
			text_red(file), text_plain(file));
		text_safe(file, text);
		fputc('\n', file);
	}
	return ret ?: watching_end_alert(watching, &sunk);
}

static const struct cached_profile *profile_of(const struct profile_cache *cache, uint32_t target_id)
{
	for (uint32_t i = 0; i < cache->nr; i++)
		if (cache->profiles[i].target_id == target_id)
			return &cache->profiles[i];
	return NULL;
}

/* Where nothing has come to the place yet there is nothing to be done. */
static int look_at(struct watching *watching, const struct target *target)
{
	const struct cached_profile *profile = profile_of(&watching->cache, target->id);
	struct replacements *replacements = &watching->replacements;
	struct process *processes;
	struct replaced replaced;
	uint32_t nr;
	int error = link_processes(watching->link, 0, &processes, &nr);

	if (error)
		return error;
	replaced_find(target, processes, nr, profile ? profile->build_id : NULL, &replaced);
	free(processes);
	if (replaced.by == REPLACED_NOT || replaced.by == REPLACED_BY_NOTHING)
		return 0;
	if (array_resize(replacements->ids, replacements->nr + 1UL))
		return -ENOMEM;
	replacements->ids[replacements->nr++] = target->id;
	return print(watching, target, &replaced, profile ? profile->path : NULL);
}

int replacements_look(struct watching *watching)
{
	struct target *targets;
	uint32_t nr;
	int ret = link_targets(watching->link, &targets, &nr);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < nr && !ret; i++)
		if (replaced_is_stale(&targets[i]) &&
		    !was_reported(&watching->replacements, targets[i].id))
			ret = look_at(watching, &targets[i]);
	link_targets_free(targets, nr);
	return ret;
}

void replacements_deinit(struct replacements *replacements)
{
	free(replacements->ids);
	*replacements = (struct replacements){ 0 };
}
