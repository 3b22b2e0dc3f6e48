// SPDX-License-Identifier: GPL-2.0

#include "app/arm/scope-options.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "app/common/command.h"
#include "base/log.h"

/* Where the unified hierarchy is mounted. */
#define CGROUP_ROOT "/sys/fs/cgroup"

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

const struct option_spec scope_options[] = {
	{ 0, "cgroup", "PATH", option_string, offsetof(struct armed_scope, cgroup),
	  .help = "guard only processes in this cgroup (version 2) or below it: a directory, or a "
	  "path as /proc/PID/cgroup has it" },
	{ 0, "uid", "USER", parse_user, 0,
	  .help = "guard only processes of this user, by name or number" },
	{ 0 },
};

/* The id of the cgroup with this directory.  Returns 0 or an errno. */
static int cgroup_of(const char *path, uint64_t *ret)
{
	struct statfs fs;
	struct stat st;

	if (statfs(path, &fs) || stat(path, &st))
		return errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		return ENOENT;
	*ret = st.st_ino;
	return 0;
}

int scope_find(struct armed_scope *scope)
{
	char path[PATH_MAX];
	int error;

	if (!scope->cgroup)
		return 0;
	error = cgroup_of(scope->cgroup, &scope->cgroup_id);
	if (error == ENOENT &&
	    snprintf(path, sizeof(path), CGROUP_ROOT "/%s", scope->cgroup) < (int)sizeof(path))
		error = cgroup_of(path, &scope->cgroup_id);
	if (!error)
		return 0;
	log_error("there is no cgroup (version 2) '%s': %s", scope->cgroup, strerror(error));
	return error == EACCES || error == EPERM ? CMD_IMPOSSIBLE : CMD_FAILED;
}
