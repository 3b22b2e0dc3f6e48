// SPDX-License-Identifier: GPL-2.0

#include "app/common/scope-options.h"

#include <assert.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/cgroup-search.h"
#include "app/common/command.h"
#include "base/log.h"

/* A name, or else a number: there are users without a name. */
int scope_set_user(struct armed_scope *scope, const char *name)
{
	const struct passwd *user = getpwnam(name);
	unsigned long uid;
	char *end;

	scope->has_uid = true;
	if (user) {
		scope->uid = user->pw_uid;
		return 0;
	}
	errno = 0;
	uid = strtoul(name, &end, 10);
	if (name[0] < '0' || name[0] > '9' || *end || errno || uid >= UINT32_MAX)
		return -ENOENT;
	scope->uid = (uint32_t)uid;
	return 0;
}

static int parse_user(const struct option_use *use, void *to)
{
	if (!scope_set_user(to, use->text))
		return 0;
	return cmd_usage(use->verb, "%s: there is no user '%s'", use->name, use->text);
}

static int parse_pid(const struct option_use *use, void *to)
{
	struct armed_scope *scope = to;

	scope->nr_pids = 1;
	return option_count(use, &scope->pids[0]);
}

bool scope_are_args(const char *text)
{
	size_t len = strlen(text);

	static_assert(ARMED_SCOPE_MAX_ARGS == 255, "as SCOPE_MAX_ARGS_TEXT has it");
	return len && len <= ARMED_SCOPE_MAX_ARGS;
}

static int parse_args(const struct option_use *use, void *to)
{
	if (!scope_are_args(use->text))
		return cmd_usage(use->verb, "%s wants from 1 to %s bytes", use->name,
				 SCOPE_MAX_ARGS_TEXT);
	return option_string(use, to);
}

#define AT(member) offsetof(struct armed_scope, member)

const struct option_spec scope_options[] = {
	{ 'p', NULL, "PID", parse_pid, 0, .is_once = true,
	  .help = "only the process PID, without what it forks" },
	{ 0, "unit", "NAME", option_string, AT(unit), .is_once = true,
	  .help = "only processes of this unit of systemd (NAME.service, or .scope or .slice)" },
	{ 0, "container", "ID", option_string, AT(container), .is_once = true,
	  .help = "only processes in this container of docker, podman, containerd, CRI-O, LXC or "
	  "systemd-nspawn: its id or name, or how that begins" },
	{ 0, "cgroup", "PATH", option_string, AT(cgroup), .is_once = true,
	  .help = "only processes in this cgroup (version 2) or below it: a directory, or a "
	  "path as /proc/PID/cgroup has it" },
	{ 0, "uid", "USER", parse_user, 0,
	  .help = "only processes of this user, by name or number" },
	{ 0, "args", "TEXT", parse_args, AT(args), .is_once = true,
	  .help = "only processes with TEXT in their command line, for an interpreter that runs many "
	  "programs" },
	{ 0 },
};

bool scope_is_any(const struct armed_scope *scope)
{
	return !scope->nr_pids && !scope->cgroup && !scope->unit && !scope->container &&
	       !scope->has_uid && !scope->args;
}

static int by_path(const char *path, struct found_cgroup *ret)
{
	int error = cgroup_by_path(path, ret);

	if (!error)
		return 0;
	log_error("there is no cgroup (version 2) '%s': %s; /proc/PID/cgroup has that of a process",
		  path, strerror(error));
	return error == EACCES || error == EPERM ? CMD_IMPOSSIBLE : CMD_FAILED;
}

int scope_find(struct armed_scope *scope)
{
	struct found_cgroup found = { 0 };
	int ret;

	if (!!scope->cgroup + !!scope->unit + !!scope->container > 1) {
		log_error("give one of --unit, --container and --cgroup: each is a cgroup");
		return CMD_USAGE;
	}
	if (scope->unit)
		ret = cgroup_by_unit(scope->unit, &found);
	else if (scope->container)
		ret = cgroup_by_container(scope->container, &found);
	else
		ret = scope->cgroup ? by_path(scope->cgroup, &found) : 0;
	scope->cgroup_path = found.path;
	scope->cgroup_id = found.id;
	return ret;
}

void scope_deinit(struct armed_scope *scope)
{
	free(scope->cgroup_path);
	scope->cgroup_path = NULL;
}
