// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-arming.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/arm/arm-files.h"
#include "app/arm/arming.h"
#include "app/arm/cost-estimate.h"
#include "app/common/scope-options.h"
#include "app/arm/stale-targets.h"
#include "app/common/command.h"
#include "app/serve/service-messages.h"
#include "base/base-name.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/pending.h"
#include "link/link.h"

/* Between two passes of learning limits lies as much again, up to a day. */
#define MAX_SPAN_NS (24 * 3600 * NSEC_PER_SEC)

static void forget(struct service_profiles *profiles)
{
	for (uint32_t i = 0; i < profiles->nr; i++) {
		child_stop(&profiles->of[i].learner);
		free(profiles->of[i].path);
		free(profiles->of[i].program);
	}
	free(profiles->of);
	profiles->of = NULL;
	profiles->nr = profiles->nr_armed = 0;
}

/* The files of the directory, in the order of their names.  Returns 0 or an exit code. */
static int find(struct service_profiles *profiles, const struct service_config *config)
{
	char *pattern;
	glob_t found;
	int ret;

	if (asprintf(&pattern, "%s/*.pgp", config->profiles) < 0)
		return cmd_no_memory();
	ret = glob(pattern, 0, NULL, &found);
	free(pattern);
	if (ret == GLOB_NOMATCH)
		return 0;
	profiles->of = ret ? NULL : calloc(found.gl_pathc, sizeof(*profiles->of));
	for (size_t i = 0; profiles->of && i < found.gl_pathc; i++) {
		struct service_profile *profile = &profiles->of[profiles->nr];
		const char *name = base_name(found.gl_pathv[i]);

		profile->settings = service_config_find(config, name);
		profile->span_ns = profile->settings->adapt_ns;
		profile->path = profile->settings->is_armed ? strdup(found.gl_pathv[i]) : NULL;
		profiles->nr += profile->path != NULL;
	}
	globfree(&found);
	return profiles->of ? 0 : cmd_no_memory();
}

/* A section without a file may be a mistake. */
static void report_unused(const struct service_config *config)
{
	for (uint32_t i = 0; i < config->nr_sections; i++) {
		char path[PATH_MAX];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", config->profiles, config->sections[i].name);
		if (stat(path, &st))
			log_warning("[profile %s] in line %" PRIu32 " of the configuration: there is no %s",
				    config->sections[i].name, config->sections[i].line, path);
	}
}

/* What guarding costs here, once it matters.  Returns 0 or an exit code. */
static int measure(struct service_profiles *profiles)
{
	bool is_needed = false;
	int ret;

	for (uint32_t i = 0; i < profiles->nr; i++)
		is_needed |= profiles->of[i].settings->budget_ppm != 0;
	if (!is_needed || profiles->has_prices)
		return 0;
	ret = price_measure(&profiles->prices);
	profiles->has_prices = !ret && !profiles->prices.assumed;
	return ret;
}

/* What the operator wants of it, as arm has it.  Returns 0 or an exit code. */
static int set_wanted(const struct service_settings *settings, const struct armed_prices *prices,
		      struct arm_files *arm)
{
	*arm = (struct arm_files){
		.prices = *prices,
		.limits = settings->limits,
		.follows_requests = settings->follows_requests,
		.request_limit_ns = settings->request_limit_ns,
		.scope.cgroup = settings->cgroup,
	};
	arm->prices.budget_ppm = settings->budget_ppm;
	if (settings->user && scope_set_user(&arm->scope, settings->user)) {
		log_error("there is no user '%s'", settings->user);
		return CMD_FAILED;
	}
	return scope_find(&arm->scope);
}

/* Another one, before it, of the same program; or NULL. */
static const struct service_profile *find_same(const struct service_profiles *profiles,
					       const struct service_profile *profile)
{
	for (uint32_t i = 0; i < profiles->nr && &profiles->of[i] != profile; i++)
		if (profiles->of[i].is_armed && profiles->of[i].dev == profile->dev &&
		    profiles->of[i].inode == profile->inode)
			return &profiles->of[i];
	return NULL;
}

static void say_armed(const struct service_profile *profile, const struct arming *arming)
{
	char budget[48] = "no budget";

	if (profile->settings->budget_ppm)
		snprintf(budget, sizeof(budget), "a budget of %g %%",
			 profile->settings->budget_ppm / 1e4);
	service_say(SERVICE_ARMED, profile->path,
		    "guarding %s by %s: target %" PRIu32 ", %" PRIu32 " processes now, %" PRIu32
		    " guards, %s", arming->samples.objects[0].path, profile->path,
		    arming->target_id, arming->processes, arming->loading.nr_guards, budget);
}

static int arm_loaded(struct service_profiles *profiles, struct service_profile *profile,
		      const struct arm_files *arm, struct arming *arming, struct link *link)
{
	const struct service_profile *same;
	int ret;

	free(profile->program);
	profile->program = strdup(arming->samples.objects[0].path);
	profile->dev = arming->dev;
	profile->inode = arming->inode;
	same = find_same(profiles, profile);
	if (same) {
		log_error("%s and %s are both of %s; the first is armed", same->path, profile->path,
			  arming->samples.objects[0].path);
		return CMD_FAILED;
	}
	ret = arm_file(arm, arming, link);
	if (ret)
		return ret;
	stale_targets_replace(link, arming->target_id);
	fflush(stdout);
	return 0;
}

static void begin_learning(struct service_profile *profile)
{
	char span[40];
	char *argv[] = { "pg-collect", "learn", "--live", "--duration", span, "-o", profile->path,
			 NULL };
	int error;

	profile->learner = (struct child){ .pid = 0 };
	if (!profile->span_ns || !profile->is_armed)
		return;
	snprintf(span, sizeof(span), "%" PRIu64 "ns", profile->span_ns);
	error = child_fork(&profile->learner, "/proc/self/exe", argv, true) ?:
		child_go(&profile->learner);
	if (error)
		log_error("cannot learn the limits of %s: %s", profile->path, strerror(-error));
}

static void arm_one(struct service_profiles *profiles, struct service_profile *profile,
		    struct link *link)
{
	struct arming arming = { 0 };
	struct arm_files arm;
	int ret;

	service_messages_arming(profile->path);
	ret = set_wanted(profile->settings, &profiles->prices, &arm) ?:
	      arm_file_load(&arm, profile->path, &arming) ?:
	      arm_loaded(profiles, profile, &arm, &arming, link);
	service_messages_arming(NULL);
	profiles->nr_armed += !ret && !profile->is_armed;
	profiles->nr_armed -= ret && profile->is_armed;
	profile->is_armed = !ret;
	if (ret)
		service_say(SERVICE_NOT_ARMED, profile->path,
			    "%s is not armed: its program is not guarded by it", profile->path);
	else
		say_armed(profile, &arming);
	scope_deinit(&arm.scope);
	arming_deinit(&arming);
}

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

static int disarm_others(const struct service_profiles *profiles,
			 const struct service_config *config, struct link *link)
{
	char *directory = realpath(config->profiles, NULL);
	int ret = directory ? disarm_some(profiles, directory, link) : 0;

	free(directory);
	return ret;
}

int service_arm(struct service_profiles *profiles, const struct service_config *config,
		struct link *link, void (*alive)(void))
{
	int ret;

	forget(profiles);
	ret = find(profiles, config) ?: measure(profiles);
	if (ret)
		return ret;
	if (!profiles->nr)
		log_warning("no profile is to be armed from %s: nothing is guarded", config->profiles);
	report_unused(config);
	for (uint32_t i = 0; i < profiles->nr && !pending_end(); i++) {
		arm_one(profiles, &profiles->of[i], link);
		begin_learning(&profiles->of[i]);
		alive();
	}
	return disarm_others(profiles, config, link);
}

void service_arm_learnt(struct service_profiles *profiles, struct link *link)
{
	for (uint32_t i = 0; i < profiles->nr; i++) {
		struct service_profile *profile = &profiles->of[i];

		if (!profile->learner.pid || !child_has_ended(&profile->learner))
			continue;
		if (profile->learner.status) {
			log_error("learning the limits of %s failed; 'arm' or a reload begins it again",
				  profile->path);
			profile->learner = (struct child){ .pid = 0 };
			continue;
		}
		arm_one(profiles, profile, link);
		profile->span_ns = profile->span_ns < MAX_SPAN_NS / 2 ? 2 * profile->span_ns :
									MAX_SPAN_NS;
		begin_learning(profile);
	}
}

void service_arm_program(struct service_profiles *profiles, const char *program, struct link *link)
{
	for (uint32_t i = 0; i < profiles->nr; i++) {
		struct service_profile *profile = &profiles->of[i];

		if (!profile->program || strcmp(profile->program, program))
			continue;
		child_stop(&profile->learner);
		arm_one(profiles, profile, link);
		begin_learning(profile);
	}
}

void service_disarm(struct service_profiles *profiles, struct link *link, bool is_kept)
{
	if (!is_kept)
		disarm_some(profiles, NULL, link);
	forget(profiles);
}
