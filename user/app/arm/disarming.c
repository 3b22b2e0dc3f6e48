// SPDX-License-Identifier: GPL-2.0

#include "app/arm/arming.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/holder.h"
#include "base/deleted.h"
#include "base/log.h"
#include "link/link.h"
#include "out/text.h"

/* The number that @text is, or 0. */
static uint32_t number_of(const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* All that is armed. */
struct state {
	struct target *targets;
	struct process *processes;
	struct armed_profile *profiles;
	uint32_t nr_targets;
	uint32_t nr_processes;
	uint32_t nr_profiles;
};

/* The target that watches the process, or 0. */
static uint32_t target_of_process(const struct state *state, uint32_t pid)
{
	for (uint32_t i = 0; pid && i < state->nr_processes; i++)
		if (state->processes[i].pid == pid)
			return state->processes[i].target_id;
	return 0;
}

static bool is_file(const char *path, const char *name)
{
	return !strcmp(path, name) || !strcmp(text_basename(path), name);
}

/* A file that was replaced meanwhile has the name that it had. */
static bool is_program(const struct target *target, const char *name)
{
	char path[PATH_MAX];

	if (is_file(target->path, name))
		return true;
	snprintf(path, sizeof(path), "%.*s", (int)deleted_stem(target->path), target->path);
	return is_file(path, name);
}

/* Return: true if the program, or the profile that guards it, has this name. */
static bool is_named(const struct state *state, const struct target *target, const char *name)
{
	if (is_program(target, name))
		return true;
	for (uint32_t i = 0; i < state->nr_profiles; i++)
		if (state->profiles[i].target_id == target->id &&
		    is_file(state->profiles[i].name, name))
			return true;
	return false;
}

/* @holder: who had it until now; NULL: nobody, it was armed. */
static void print_disarmed(const struct target *target, const struct holder *holder)
{
	char name[160];

	if (holder)
		printf("ended %s%s%s\n", holder_text(holder, name, sizeof(name)),
		       holder->stage[0] ? ", in the stage of " : "", holder->stage);
	printf("disarmed target %" PRIu32 ": ", target->id);
	text_safe(stdout, target->path);
	if (target->pid)
		printf(" (process %" PRIu32 ")", target->pid);
	printf(", %" PRIu64 " units, %" PRIu64 " late\n", target->units, target->late);
}

static int disarm_one(struct link *link, const struct target *target)
{
	struct holder holder;
	bool is_held = holder_find(target->id, &holder);
	int error = link_target_del(link, target->id);

	/* It went by itself meanwhile: its owner has ended. */
	if (error == -ENOENT)
		return 0;
	if (error)
		return cmd_link_failed(link, error, "cannot disarm");
	print_disarmed(target, is_held ? &holder : NULL);
	return 0;
}

/* The target that @name means as a number, or 0. */
static uint32_t find_number(const struct state *state, const char *name)
{
	uint32_t number = number_of(name);

	for (uint32_t i = 0; number && i < state->nr_targets; i++)
		if (state->targets[i].id == number)
			return number;
	for (uint32_t i = 0; number && i < state->nr_targets; i++)
		if (state->targets[i].pid == number)
			return state->targets[i].id;
	return target_of_process(state, number);
}

/* Disarm what @name means; returns how many, or minus an exit code. */
static int disarm_named(struct link *link, const struct state *state, const char *name)
{
	uint32_t id = find_number(state, name);
	int found = 0, ret;

	for (uint32_t i = 0; i < state->nr_targets; i++) {
		const struct target *target = &state->targets[i];

		if (id ? target->id != id : !is_named(state, target, name))
			continue;
		ret = disarm_one(link, target);
		if (ret)
			return -ret;
		found++;
	}
	return found;
}

/* All at once: the module then also takes off every hook. */
static int disarm_all(struct link *link, const struct state *state)
{
	struct holder *holders = calloc(state->nr_targets + 1, sizeof(*holders));
	int error;

	if (!holders)
		return cmd_no_memory();
	for (uint32_t i = 0; i < state->nr_targets; i++)
		holder_find(state->targets[i].id, &holders[i]);
	error = link_target_del(link, 0);
	error = error == -ENOENT ? 0 : error;
	if (!error && !state->nr_targets)
		puts("nothing was armed");
	for (uint32_t i = 0; !error && i < state->nr_targets; i++)
		print_disarmed(&state->targets[i], holders[i].pid ? &holders[i] : NULL);
	free(holders);
	return error ? cmd_link_failed(link, error, "cannot disarm") : CMD_OK;
}

static int disarm_targets(struct link *link, const struct state *state, const char *name)
{
	int ret;

	if (!name)
		return disarm_all(link, state);
	ret = disarm_named(link, state, name);
	if (ret < 0)
		return -ret;
	if (ret > 0)
		return CMD_OK;
	log_error("'%s' is not armed; 'pg-collect status' shows what is", name);
	return CMD_FAILED;
}

static int read_state(struct link *link, struct state *state)
{
	int error = cmd_targets(link, &state->targets, &state->nr_targets);

	if (error)
		return cmd_link_failed(link, error, "cannot list the targets");
	/* Without these, ids and the names of programs still work. */
	if (link_processes(link, 0, &state->processes, &state->nr_processes))
		state->nr_processes = 0;
	if (link_profiles(link, &state->profiles, &state->nr_profiles))
		state->nr_profiles = 0;
	return 0;
}

static void clear_state(struct state *state)
{
	free(state->processes);
	link_profiles_free(state->profiles, state->nr_profiles);
	link_targets_free(state->targets, state->nr_targets);
}

int disarm(const char *name)
{
	struct state state = { 0 };
	struct link *link;
	int ret;

	ret = cmd_open_link(&link);
	if (ret)
		return ret;
	ret = read_state(link, &state);
	if (!ret)
		ret = disarm_targets(link, &state, name);
	clear_state(&state);
	link_close(link);
	return ret;
}
