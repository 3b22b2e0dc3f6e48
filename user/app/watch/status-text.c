// SPDX-License-Identifier: GPL-2.0

#include "app/watch/status-query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/holder.h"
#include "app/common/identity.h"
#include "app/common/inline-refusal.h"
#include "app/common/replaced.h"
#include "app/common/trial-text.h"
#include "base/duration.h"
#include "base/time.h"
#include "out/container-text.h"
#include "out/text.h"

/* Who holds it; of an owned one that left no note only that somebody does. */
static void text_holder(const struct target *target)
{
	uint64_t now_ns = time_wall_ns();
	char time[TIME_TEXT_MAX], since[DURATION_TEXT_MAX], name[160];
	struct holder holder;

	if (!(target->flags & PERFGUARD_TARGET_FLAGS_OWNED))
		return;
	if (!holder_find(target->id, &holder)) {
		puts("  held by a program that audits it, or trains on it");
		return;
	}
	printf("  held by %s", holder_text(&holder, name, sizeof(name)));
	if (holder.stage[0])
		printf(",\n  in the stage of %s", holder.stage);
	printf(" since %.19sZ", time_format(holder.since_ns, time));
	if (now_ns >= holder.since_ns)
		printf(", for %s", duration_format(now_ns - holder.since_ns, since));
	putchar('\n');
}

static void text_replaced(const struct status *status, const struct target *target,
			  const struct status_profile *profile)
{
	char text[REPLACED_TEXT_MAX];
	struct replaced replaced;

	status_replaced(status, target, &replaced);
	if (!replaced.by)
		return;
	printf("  %sREPLACED%s: ", text_red(stdout), text_plain(stdout));
	text_safe(stdout, replaced_text(&replaced, profile ? profile->armed->name : NULL, text));
	putchar('\n');
}

static void text_scope(const struct target *target)
{
	const char *only = ", only";

	if (target->nr_scope_pids) {
		printf("%s process%s", only, target->nr_scope_pids == 1 ? "" : "es");
		for (uint32_t i = 0; i < target->nr_scope_pids; i++)
			printf("%s %" PRIu32, i ? "," : "", target->scope_pids[i]);
		only = "";
	}
	if (target->has_uid) {
		printf("%s of user %" PRIu32, only, target->uid);
		only = "";
	}
	if (target->cgroup) {
		printf("%s in cgroup ", only);
		text_safe(stdout, target->cgroup);
		only = "";
	}
	if (target->scope_args) {
		printf("%s with arguments ", only);
		text_safe(stdout, target->scope_args);
	}
}

static void text_process(const struct process *process)
{
	char *cgroup = identity_cgroup(process->pid), where[256];

	printf("    process %-8" PRIu32 " ", process->pid);
	text_safe(stdout, process->comm);
	container_text(cgroup, process->ns_pid, 0, where, sizeof(where));
	if (where[0])
		fputs(", ", stdout);
	text_safe(stdout, where);
	if (process->jumps)
		printf(", %" PRIu32 " of its guards jump", process->jumps);
	putchar('\n');
	free(cgroup);
}

static void text_target(const struct status *status, const struct target *target)
{
	char threshold[DURATION_TEXT_MAX];
	const struct status_profile *profile = status_profile_of(status, target);
	char units[TEXT_MAX], late[TEXT_MAX], waits[TEXT_MAX];

	printf("%sTarget %" PRIu32 "%s: ", text_bold(stdout), target->id, text_plain(stdout));
	text_safe(stdout, target->path);
	if (target->pid)
		printf(", process %" PRIu32 " alone", target->pid);
	text_scope(target);
	putchar('\n');
	text_holder(target);
	text_replaced(status, target, profile);
	printf("  %" PRIu32 " process%s, %" PRIu32 " thread%s seen; ", target->processes,
	       target->processes == 1 ? "" : "es", target->threads,
	       text_plural(target->threads));
	if (target->threshold_ns >= LINK_NEVER_LATE_NS)
		puts("nothing is late");
	else if (target->threshold_ns)
		printf("late after %s\n", duration_format(target->threshold_ns, threshold));
	else if (profile)
		puts("late by type");
	else
		puts("no threshold");
	printf("  %s units, %s late, in %s wait calls\n", text_count(target->units, units),
	       text_count(target->late, late), text_count(target->waits, waits));
	if (target->request_limit_ns)
		printf("  requests are late after %s; %s were\n",
		       duration_format(target->request_limit_ns, threshold),
		       text_count(target->late_requests, late));
	else if (profile && target->flags & PERFGUARD_TARGET_FLAGS_REQUESTS)
		printf("  requests are late by the type of unit that reads them; %s were\n",
		       text_count(target->late_requests, late));
	fields_text(stdout, status_target_fields, target);
	for (uint32_t i = 0; i < status->nr_processes; i++) {
		const struct process *process = &status->processes[i];

		if (process->target_id != target->id)
			continue;
		text_process(process);
	}
	if (target->inline_refusal)
		printf("  guards of process %" PRIu32 " stay breakpoints: %s\n",
		       target->inline_refused_pid, inline_refusal_text(target->inline_refusal));
	if (profile)
		status_profile_text(profile, target, status->max_types);
}

/* Profiles that somebody is about to arm. */
static void text_loading(const struct status *status)
{
	for (uint32_t i = 0; i < status->nr_armed; i++) {
		if (status->armed[i].target_id)
			continue;
		fputs("Profile ", stdout);
		text_safe(stdout, status->armed[i].name);
		puts(" is being loaded");
	}
}

/* The names of the hooks of one kind, wrapped. */
static void text_hooks(const struct stats *stats, bool is_direct)
{
	int column = 0;

	for (uint32_t i = 0; i < stats->nr_hooks; i++) {
		const struct hook *hook = &stats->hooks[i];

		if (hook->is_direct != is_direct)
			continue;
		if (!column)
			printf("  hooked %s:\n   ",
			       is_direct ? "directly" : "by kretprobe (slower)");
		else if (column > 56)
			column = printf("\n   ");
		column += printf(" %s", hook->name);
		if (hook->missed)
			column += printf(" (%" PRIu64 " waits missed)", hook->missed);
	}
	if (column)
		putchar('\n');
}

static void text_module(const struct stats *stats)
{
	char trial[160];

	printf("Module: %" PRIu32 " target%s, %" PRIu32 " thread%s, %" PRIu32 " KiB of records\n",
	       stats->targets, text_plural(stats->targets), stats->threads,
	       text_plural(stats->threads), stats->ring_bytes / 1024);
	printf("  lost: %" PRIu64 " out of memory, %" PRIu64 " overwritten, %" PRIu64
	       " torn stacks, %" PRIu64 " without room, %" PRIu64 " words unread\n",
	       stats->lost_memory, stats->lost_overwritten, stats->torn_stacks,
	       stats->crowded_stacks, stats->stream_unread);
	if (!trial_text(stats, trial, sizeof(trial)))
		printf("  %s\n", trial);
	if (!stats->nr_hooks)
		puts("  no wait call is hooked");
	text_hooks(stats, true);
	text_hooks(stats, false);
}

void status_text(const struct status *status)
{
	if (!status->nr_targets)
		puts("Nothing is watched.");
	for (uint32_t i = 0; i < status->nr_targets; i++)
		text_target(status, &status->targets[i]);
	text_loading(status);
	text_module(&status->stats);
}
