// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-arming.h"

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
#include "app/common/scope-processes.h"
#include "app/serve/service-disarming.h"
#include "app/serve/service-messages.h"
#include "base/back-off.h"
#include "base/base-name.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/pending.h"
#include "base/time.h"
#include "link/link.h"
#include "out/text.h"

/* Between two passes of learning limits lies as much again, up to a day. */
#define MAX_SPAN_NS (24 * 3600 * NSEC_PER_SEC)

/* Between two looks at whom a profile means, while nobody is there, and else. */
#define FIRST_LOOK_NS NSEC_PER_SEC
#define LAST_LOOK_NS (16 * NSEC_PER_SEC)
#define LOOK_NS (10 * NSEC_PER_SEC)

static void forget(struct service_profiles *profiles)
{
	for (uint32_t i = 0; i < profiles->nr; i++) {
		child_stop(&profiles->of[i].learner);
		free(profiles->of[i].path);
		free(profiles->of[i].program);
		free(profiles->of[i].waits_for);
		service_sighting_clear(&profiles->of[i].sighting);
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
		profile->due_ns = UINT64_MAX;
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
		.is_inline = settings->is_inline,
		.follows_requests = settings->follows_requests,
		.request_limit_ns = settings->request_limit_ns,
	};
	arm->prices.budget_ppm = settings->budget_ppm;
	return service_scope_find(&settings->scope, &arm->scope);
}

/* Whether no two targets of a file may be for these: one is for all, or they are the same. */
static bool excludes(const struct service_scope *scope, const struct service_scope *other)
{
	return service_scope_is_any(scope) || service_scope_is_any(other) ||
	       service_scope_is_same(scope, other);
}

/* Another one, before it, of the same program and the same processes; or NULL. */
static const struct service_profile *find_same(const struct service_profiles *profiles,
					       const struct service_profile *profile)
{
	for (uint32_t i = 0; i < profiles->nr && &profiles->of[i] != profile; i++)
		if (profiles->of[i].is_armed && profiles->of[i].dev == profile->dev &&
		    profiles->of[i].inode == profile->inode &&
		    excludes(&profiles->of[i].settings->scope, &profile->settings->scope))
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

	profile->dev = arming->dev;
	profile->inode = arming->inode;
	same = find_same(profiles, profile);
	if (same) {
		log_error("%s and %s are both of %s, for the same processes; the first is armed",
			  same->path, profile->path, arming->samples.objects[0].path);
		return CMD_FAILED;
	}
	ret = arm_file(arm, arming, link);
	if (ret)
		return ret;
	profile->target_id = arming->target_id;
	/* Whoever runs it later, it is what was armed. */
	scope_file_identify(arming->fds[0], &profile->sighting.dev, &profile->sighting.inode);
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

static int load(struct service_profile *profile, const struct arm_files *arm, struct arming *arming)
{
	int ret = arm_file_load(arm, profile->path, arming);

	if (arming->samples.nr_objects) {
		free(profile->program);
		profile->program = strdup(arming->samples.objects[0].path);
	}
	return ret;
}

static void arm_now(struct service_profiles *profiles, struct service_profile *profile,
		    struct link *link)
{
	struct arming arming = { 0 };
	struct arm_files arm;
	int ret;

	service_messages_arming(profile->path);
	ret = set_wanted(profile->settings, &profiles->prices, &arm) ?:
	      load(profile, &arm, &arming) ?:
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

/* It is said when it begins, and when the reason is another one. */
static void wait_for(struct service_profile *profile, const char *why)
{
	if (profile->waits_for && !strcmp(profile->waits_for, why))
		return;
	free(profile->waits_for);
	profile->waits_for = strdup(why);
	service_say(SERVICE_WAITING, profile->path, "%s is not armed yet, but tried again: %s",
		    profile->path, why);
}

/*
 * Look whom it means.  Returns true if it is to be armed: somebody may be there, and it waited, or
 * they run another file than before, or it @is_wanted anyway.  What was armed and has nobody now
 * stays: the module takes who comes back.
 */
static bool look(struct service_profile *profile, uint64_t now_ns, bool is_wanted)
{
	struct service_sighting now;
	char why[1024];
	int ret;

	service_messages_hold(why, sizeof(why));
	ret = service_sighting_take(&profile->settings->scope, profile->program, &now);
	service_messages_let_go();
	if (ret && !profile->is_armed)
		wait_for(profile, why);
	profile->wait_ns = ret ? back_off_next(profile->wait_ns, FIRST_LOOK_NS, LAST_LOOK_NS) : 0;
	profile->due_ns = now_ns + (profile->wait_ns ?: LOOK_NS);
	if (ret && is_wanted)
		service_sighting_clear(&profile->sighting); /* once they are back */
	is_wanted |= profile->waits_for || !service_sighting_has_same(&profile->sighting, &now);
	if (ret || !is_wanted) {
		service_sighting_clear(&now);
		return false;
	}
	free(profile->waits_for);
	profile->waits_for = NULL;
	service_sighting_clear(&profile->sighting);
	profile->sighting = now;
	return true;
}

/* Once those are there whom it means. */
static void arm_one(struct service_profiles *profiles, struct service_profile *profile,
		    struct link *link)
{
	if (service_scope_is_any(&profile->settings->scope) || look(profile, time_now_ns(), true))
		arm_now(profiles, profile, link);
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
	service_disarm_former(profiles, link, true);
	return service_disarm_others(profiles, config, link);
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

void service_arm_scopes(struct service_profiles *profiles, struct link *link, uint64_t now_ns)
{
	bool is_any = false;

	for (uint32_t i = 0; i < profiles->nr; i++) {
		struct service_profile *profile = &profiles->of[i];

		if (profile->due_ns > now_ns || !look(profile, now_ns, false))
			continue;
		is_any = true;
		child_stop(&profile->learner);
		arm_now(profiles, profile, link);
		begin_learning(profile);
	}
	if (is_any)
		service_disarm_former(profiles, link, false);
}

uint64_t service_arm_due(const struct service_profiles *profiles)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t i = 0; i < profiles->nr; i++)
		if (profiles->of[i].due_ns < due_ns)
			due_ns = profiles->of[i].due_ns;
	return due_ns;
}

uint32_t service_arm_waiting(const struct service_profiles *profiles)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < profiles->nr; i++)
		nr += profiles->of[i].waits_for != NULL;
	return nr;
}

void service_arm_describe(const struct service_profiles *profiles, char *text, size_t size)
{
	for (uint32_t i = 0; i < profiles->nr; i++) {
		const struct service_profile *profile = &profiles->of[i];

		if (profile->waits_for)
			text_append(text, size, "; not armed yet: %s (%.*s)", base_name(profile->path),
				    (int)strcspn(profile->waits_for, "\n"), profile->waits_for);
	}
}

void service_disarm(struct service_profiles *profiles, struct link *link, bool is_kept)
{
	if (!is_kept)
		service_disarm_all(profiles, link);
	forget(profiles);
}
