// SPDX-License-Identifier: GPL-2.0

#include "app/common/watched.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/holder.h"
#include "base/log.h"

static bool is_meant(const struct target *target, const struct watched_subject *subject,
		     uint32_t id)
{
	if (subject->is_held && !(target->flags & PERFGUARD_TARGET_FLAGS_OWNED))
		return false;
	if (subject->pid)
		return id ? target->id == id : target->pid == subject->pid;
	/* On some file systems the kernel's inode is not the one that is shown. */
	return !target->pid && ((target->dev == (uint32_t)subject->dev &&
				 target->inode == subject->inode) ||
				!strcmp(target->path, subject->path));
}

static void report(const struct target *target, const struct armed_profile *profile,
		   const struct watched_subject *subject, const char *what)
{
	struct holder holder;
	char name[160];

	if (profile)
		log_error("%s: %s is guarded by target %" PRIu32 ", with %s; 'pg-collect disarm %" PRIu32 "' first",
			  what, subject->path, target->id, profile->name, target->id);
	else if (holder_find(target->id, &holder))
		log_error("%s: %s is watched by %s; wait for its end, or 'pg-collect disarm %" PRIu32 "'",
			  what, subject->path, holder_text(&holder, name, sizeof(name)),
			  target->id);
	else
		log_error("%s: %s is watched by target %" PRIu32 "; 'pg-collect disarm %" PRIu32 "' first",
			  what, subject->path, target->id, target->id);
}

bool watched_report(struct link *link, const struct watched_subject *subject, const char *what)
{
	uint32_t id = subject->pid ? link_target_of(link, subject->pid) : 0, nr = 0, nr_profiles = 0;
	struct armed_profile *profiles = NULL;
	const struct target *found = NULL;
	struct target *targets = NULL;

	if (cmd_targets(link, &targets, &nr))
		return false;
	if (link_profiles(link, &profiles, &nr_profiles))
		nr_profiles = 0;
	for (uint32_t i = 0; i < nr && !found; i++)
		if (is_meant(&targets[i], subject, id))
			found = &targets[i];
	if (found) {
		const struct armed_profile *profile = NULL;

		/* That of a timing stage is only on trial. */
		for (uint32_t i = 0; i < nr_profiles; i++)
			if (profiles[i].target_id == found->id &&
			    !(found->flags & PERFGUARD_TARGET_FLAGS_OWNED))
				profile = &profiles[i];
		report(found, profile, subject, what);
	}
	link_profiles_free(profiles, nr_profiles);
	link_targets_free(targets, nr);
	return found;
}
