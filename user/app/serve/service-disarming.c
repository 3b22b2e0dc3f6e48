// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-disarming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/replaced.h"
#include "app/serve/service-arming.h"
#include "app/serve/service-messages.h"
#include "link/link.h"

/* Whether the profile at @path is one of them. */
static bool is_here(const struct service_profiles *profiles, const char *path)
{
	for (uint32_t i = 0; i < profiles->nr; i++) {
		char *real = realpath(profiles->of[i].path, NULL);
		bool is_same = !strcmp(profiles->of[i].path, path) || (real && !strcmp(real, path));

		free(real);
		if (is_same)
			return true;
	}
	return false;
}

static void disarm_target(struct link *link, uint32_t target_id, const char *path)
{
	int error = link_target_del(link, target_id);

	if (error && error != -ENOENT)
		cmd_link_failed(link, error, "cannot disarm");
	else
		service_say(SERVICE_DISARMED, path, "%s is disarmed", path);
}

static bool is_in(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strncmp(path, directory, len) && path[len] == '/' && !strchr(path + len + 1, '/');
}

/*
 * What is armed from the @directory, by us or by those before us, and is not there any more; if it
 * is NULL, what is armed of those that are there.
 */
static int disarm_some(const struct service_profiles *profiles, const char *directory,
		       struct link *link)
{
	struct armed_profile *armed;
	uint32_t nr;
	int error = link_profiles(link, &armed, &nr);

	if (error)
		return cmd_link_failed(link, error, "cannot ask the module");
	for (uint32_t i = 0; i < nr; i++)
		if (armed[i].target_id && is_here(profiles, armed[i].name) == !directory &&
		    (!directory || is_in(armed[i].name, directory)))
			disarm_target(link, armed[i].target_id, armed[i].name);
	link_profiles_free(armed, nr);
	return 0;
}

int service_disarm_others(const struct service_profiles *profiles,
			  const struct service_config *config, struct link *link)
{
	char *directory = realpath(config->profiles, NULL);
	int ret = directory ? disarm_some(profiles, directory, link) : 0;

	free(directory);
	return ret;
}

static bool is_ours(const struct service_profiles *profiles, uint32_t target_id)
{
	for (uint32_t i = 0; i < profiles->nr; i++)
		if (profiles->of[i].is_armed && profiles->of[i].target_id == target_id)
			return true;
	return false;
}

/* The profile at @path if it is armed, or waits: what it guarded before is not wanted any more. */
static bool is_settled(const struct service_profiles *profiles, const char *path)
{
	for (uint32_t i = 0; i < profiles->nr; i++) {
		const struct service_profile *profile = &profiles->of[i];
		char *real = realpath(profile->path, NULL);
		bool is_same = real && !strcmp(real, path);

		free(real);
		if (is_same)
			return profile->is_armed || profile->waits_for;
	}
	return false;
}

static const struct target *find_target(const struct target *targets, uint32_t nr, uint32_t id)
{
	for (uint32_t i = 0; i < nr; i++)
		if (targets[i].id == id)
			return &targets[i];
	return NULL;
}

void service_disarm_former(const struct service_profiles *profiles, struct link *link,
			   bool has_changed)
{
	struct armed_profile *armed;
	struct target *targets;
	uint32_t nr, nr_targets;

	if (link_profiles(link, &armed, &nr))
		return;
	if (link_targets(link, &targets, &nr_targets)) {
		link_profiles_free(armed, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++) {
		const struct target *target = find_target(targets, nr_targets, armed[i].target_id);

		if (!target || is_ours(profiles, target->id) || !is_settled(profiles, armed[i].name) ||
		    (target->processes && (!has_changed || replaced_is_stale(target))))
			continue;
		disarm_target(link, target->id, armed[i].name);
	}
	link_targets_free(targets, nr_targets);
	link_profiles_free(armed, nr);
}

void service_disarm_all(const struct service_profiles *profiles, struct link *link)
{
	disarm_some(profiles, NULL, link);
}
