// SPDX-License-Identifier: GPL-2.0

#include "app/arm/stale-targets.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/common/replaced.h"
#include "base/deleted.h"
#include "link/link.h"
#include "out/text.h"

/* Or both NULL. */
static bool is_same_text(const char *a, const char *b)
{
	return !a == !b && (!a || !strcmp(a, b));
}

static bool is_same_scope(const struct target *a, const struct target *b)
{
	return a->has_uid == b->has_uid && a->uid == b->uid && is_same_text(a->cgroup, b->cgroup) &&
	       is_same_text(a->scope_args, b->scope_args) && a->nr_scope_pids == b->nr_scope_pids &&
	       !memcmp(a->scope_pids, b->scope_pids, sizeof(a->scope_pids));
}

static bool is_former(const struct target *target, const struct target *now)
{
	size_t len = strlen(now->path);

	return target->id != now->id && replaced_is_stale(target) &&
	       !(target->flags & PERFGUARD_TARGET_FLAGS_OWNED) &&
	       deleted_stem(target->path) == len && !strncmp(target->path, now->path, len) &&
	       is_same_scope(target, now);
}

static void replace(struct link *link, const struct target *target)
{
	if (!target->processes && link_target_del(link, target->id))
		return;
	text_heading(stdout, target->processes ? "beside" : "replaced");
	printf("target %" PRIu32 ", of the file that was there before\n", target->id);
	if (!target->processes)
		return;
	text_heading(stdout, "");
	printf("guards %" PRIu32 " of its processes on, until 'pg-collect disarm %" PRIu32 "'\n",
	       target->processes, target->id);
}

void stale_targets_replace(struct link *link, uint32_t target_id)
{
	const struct target *now = NULL;
	struct target *targets;
	uint32_t nr;

	if (link_targets(link, &targets, &nr))
		return;
	for (uint32_t i = 0; i < nr; i++)
		if (targets[i].id == target_id)
			now = &targets[i];
	for (uint32_t i = 0; now && i < nr; i++)
		if (is_former(&targets[i], now))
			replace(link, &targets[i]);
	link_targets_free(targets, nr);
}
