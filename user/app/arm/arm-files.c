// SPDX-License-Identifier: GPL-2.0

#include "app/arm/arm-files.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/arm/arming.h"
#include "app/arm/cost-estimate.h"
#include "app/arm/stale-targets.h"
#include "app/common/command.h"
#include "app/common/program-traits.h"
#include "app/common/scope-options.h"
#include "app/common/scope-processes.h"
#include "base/log.h"
#include "base/open-in-root.h"
#include "link/link.h"

/* A profile of the command line; those that were refused stay out. */
struct checked_file {
	struct arming arming;
	bool is_loaded;
};

int arm_parse_budget(const char *text, uint32_t *ret_ppm)
{
	enum { PPM_PER_PERCENT = 10000 };
	double percent;
	char rest;

	*ret_ppm = 0;
	if (!strcmp(text, "none"))
		return 0;
	if (sscanf(text, "%lf%c", &percent, &rest) != 1 || !(percent * PPM_PER_PERCENT >= 1) ||
	    percent > 100)
		return -EINVAL;
	*ret_ppm = (uint32_t)(percent * PPM_PER_PERCENT + 0.5);
	return 0;
}

/*
 * The root of the process with whose eyes the program's path is meant, if that is not ours: the
 * first one in the scope that runs it.  Of a unit or container it is any, if none runs it.
 */
static int take_root(const struct armed_scope *scope, const struct scope_processes *processes,
		     struct arming *arming)
{
	const char *program = arming->samples.objects[0].path;
	const struct scope_process *found = scope_processes_find(processes, program);
	bool is_named = scope->nr_pids || scope->unit || scope->container;
	char path[PATH_MAX + 48];

	if (!found && is_named && !processes->nr)
		return scope_processes_none(scope);
	if (!found && is_named)
		found = &processes->of[0];
	if (found && path_in_root(found->pid, program, path, sizeof(path)) != program)
		snprintf(arming->root, sizeof(arming->root), "/proc/%" PRIu32 "/root", found->pid);
	return 0;
}

/* Processes that are meant by what they are may be in a container: then the files are theirs. */
static int find_root(const struct arm_files *arm, struct arming *arming)
{
	struct scope_processes processes;
	int ret;

	snprintf(arming->root, sizeof(arming->root), "%s", arm->root);
	if (arm->root[0] || scope_is_any(&arm->scope))
		return 0;
	ret = scope_processes_get(&arm->scope, &processes) ? cmd_no_memory() :
	      take_root(&arm->scope, &processes, arming);
	scope_processes_free(&processes);
	return ret;
}

int arm_file_load(const struct arm_files *arm, const char *path, struct arming *arming)
{
	int ret = arming_read(arming, path, arm->is_paper);

	arming->is_inline = arm->is_inline;
	return ret ?: find_root(arm, arming) ?: arming_open(arming) ?: arming_judge_inline(arming) ?:
	       arming_limit(arming, &arm->limits);
}

static bool follows_requests(const struct arm_files *arm)
{
	return arm->follows_requests || arm->request_limit_ns;
}

int arm_file(const struct arm_files *arm, struct arming *arming, struct link *link)
{
	if (!arm->follows_requests)
		loading_forget_requests(&arming->loading);
	return arming_arm(arming, link, &arm->prices, &arm->scope) ?:
	       arming_follow_requests(arming, link, follows_requests(arm), arm->request_limit_ns);
}

/* The most serious of both. */
static int worse(int a, int b)
{
	return a > b ? a : b;
}

/* Sets *@ret_any if any is loaded. */
static int load_files(const struct arm_files *arm, struct checked_file *files, bool *ret_any)
{
	int worst = 0;

	for (uint32_t i = 0; i < arm->nr; i++) {
		int ret = arm_file_load(arm, arm->paths[i], &files[i].arming);

		files[i].is_loaded = !ret;
		if (!ret)
			program_traits_note_file(files[i].arming.fds[0],
						 files[i].arming.samples.objects[0].path);
		*ret_any |= !ret;
		worst = worse(worst, ret);
	}
	return worst;
}

/* Of two profiles of a program, which one is meant cannot be known. */
static int refuse_same(const struct checked_file *files, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct arming *a = &files[i].arming;

		for (uint32_t j = 0; j < i; j++) {
			const struct arming *b = &files[j].arming;

			if (!files[i].is_loaded || !files[j].is_loaded || a->dev != b->dev ||
			    a->inode != b->inode)
				continue;
			log_error("%s and %s are both of %s; give one of them", b->asked, a->asked,
				  a->samples.objects[0].path);
			return CMD_FAILED;
		}
	}
	return 0;
}

static int arm_loaded(struct arm_files *arm, struct checked_file *files, struct link *link)
{
	struct armed_before before = { 0 };
	bool is_first = true;
	int worst = 0, error;

	error = link_profiles(link, &before.profiles, &before.nr);
	if (error)
		return cmd_link_failed(link, error, "cannot ask the module");
	for (uint32_t i = 0; i < arm->nr; i++) {
		int ret;

		if (!files[i].is_loaded)
			continue;
		ret = arm_file(arm, &files[i].arming, link);
		worst = worse(worst, ret);
		if (ret)
			continue;
		if (!is_first)
			putchar('\n');
		is_first = false;
		armed_text(&files[i].arming, &before, &arm->prices, &arm->scope, link);
		stale_targets_replace(link, files[i].arming.target_id);
		fflush(stdout);
	}
	if (!is_first)
		printf("\nLate units%s are reported by 'pg-collect watch', counters by "
		       "'pg-collect status'.\n", follows_requests(arm) ? " and requests" : "");
	link_profiles_free(before.profiles, before.nr);
	return worst;
}

static int run(struct arm_files *arm, struct checked_file *files)
{
	bool is_any = false;
	int ret = load_files(arm, files, &is_any), armed;
	struct link *link;

	if (!is_any)
		return ret;
	armed = refuse_same(files, arm->nr);
	if (armed)
		return armed;
	armed = arm->prices.budget_ppm ? price_measure(&arm->prices) : 0;
	if (!armed)
		armed = cmd_open_link(&link);
	if (armed)
		return worse(ret, armed);
	armed = arm_loaded(arm, files, link);
	link_close(link);
	return worse(ret, armed);
}

int arm_files(struct arm_files *arm)
{
	struct checked_file *files = calloc(arm->nr, sizeof(*files));
	int ret;

	if (!files)
		return cmd_no_memory();
	ret = scope_find(&arm->scope) ?: run(arm, files);
	scope_deinit(&arm->scope);
	for (uint32_t i = 0; i < arm->nr; i++)
		arming_deinit(&files[i].arming);
	free(files);
	return ret;
}
