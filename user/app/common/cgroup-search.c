// SPDX-License-Identifier: GPL-2.0

#include "app/common/cgroup-search.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "app/common/command.h"
#include "base/container-id.h"
#include "base/log.h"
#include "out/text.h"

/* Where the unified hierarchy is mounted; below it where there is another one, too. */
#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_HYBRID CGROUP_ROOT "/unified"

enum {
	MAX_FOUND = 16,
	MAX_OPEN = 32, /* directories */
};

/* What is looked for; nftw() has no argument for its caller. */
static struct search {
	const char *unit; /* or else a container */
	const char *container;
	size_t root_len;
	struct found_cgroup found[MAX_FOUND];
	unsigned int nr;
	int error;
} search;

static const char *root(void)
{
	struct stat st;

	return stat(CGROUP_HYBRID, &st) ? CGROUP_ROOT : CGROUP_HYBRID;
}

/* The cgroup with this directory.  Returns 0 or an errno. */
static int by_directory(const char *path, struct found_cgroup *ret)
{
	size_t len = strlen(root());
	struct statfs fs;
	struct stat st;

	if (statfs(path, &fs) || stat(path, &st))
		return errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		return ENOENT;
	ret->path = strdup(strncmp(path, root(), len) ? path : path[len] ? path + len : "/");
	ret->id = st.st_ino;
	return ret->path ? 0 : ENOMEM;
}

int cgroup_by_path(const char *path, struct found_cgroup *ret)
{
	char below[PATH_MAX];
	int error = by_directory(path, ret);

	if (error == ENOENT &&
	    snprintf(below, sizeof(below), "%s/%s", root(), path + strspn(path, "/")) <
		    (int)sizeof(below))
		error = by_directory(below, ret);
	return error;
}

static bool is_wanted(const char *path)
{
	char id[CONTAINER_ID_MAX];

	if (search.unit)
		return !strcmp(strrchr(path, '/') + 1, search.unit);
	return container_is_own(path) &&
	       !strncmp(container_id(path, id), search.container, strlen(search.container));
}

static int look(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct found_cgroup *found = &search.found[search.nr];

	(void)at;
	if (type != FTW_D || !path[search.root_len] || !is_wanted(path + search.root_len))
		return FTW_CONTINUE;
	found->id = st->st_ino;
	found->path = strdup(path + search.root_len);
	if (!found->path) {
		search.error = ENOMEM;
		return FTW_STOP;
	}
	/* What it has below it is its own. */
	return ++search.nr < MAX_FOUND ? FTW_SKIP_SUBTREE : FTW_STOP;
}

/* One is chosen if it is the only one, or if only its name is whole. */
static int choose(void)
{
	int whole = -1;
	char id[CONTAINER_ID_MAX];

	for (unsigned int i = 0; i < search.nr && search.container; i++)
		if (!strcmp(container_id(search.found[i].path, id), search.container))
			whole = whole == -1 ? (int)i : -2;
	return search.nr == 1 ? 0 : whole;
}

static void clear_found(int kept)
{
	for (int i = 0; i < (int)search.nr; i++)
		if (i != kept)
			free(search.found[i].path);
}

static int refuse_several(const char *what, const char *name)
{
	log_error("%s '%s' is not clear: there are %u%s; give %s", what, name, search.nr,
		  search.nr == MAX_FOUND ? " or more" : "",
		  search.container ? "more of its id" : "the path of one by --cgroup");
	for (unsigned int i = 0; i < search.nr; i++) {
		char id[CONTAINER_ID_MAX];

		container_id(search.found[i].path, id);
		log_error("  %s%s%s", search.container ? id : "", search.container ? "  " : "",
			  search.found[i].path);
	}
	clear_found(-1);
	return CMD_FAILED;
}

/* How to name what is looked for. */
static const char *hint(void)
{
	return search.unit ? "'systemctl status PID' has the unit of a process" :
			     "its id is as its engine lists it, or in /proc/PID/cgroup of a process";
}

/* Find the one.  Returns 0 or an exit code, reported. */
static int find(const char *what, const char *name, struct found_cgroup *ret)
{
	int at;

	search.root_len = strlen(root());
	if (nftw(root(), look, MAX_OPEN, FTW_PHYS | FTW_ACTIONRETVAL) < 0)
		search.error = errno;
	if (search.error) {
		log_error("cannot read the cgroups in %s: %s", root(), strerror(search.error));
		clear_found(-1);
		return search.error == EACCES ? CMD_IMPOSSIBLE : CMD_FAILED;
	}
	if (!search.nr) {
		log_error("there is no %s '%s' that has processes; %s", what, name, hint());
		return CMD_FAILED;
	}
	at = choose();
	if (at < 0)
		return refuse_several(what, name);
	*ret = search.found[at];
	clear_found(at);
	return 0;
}

int cgroup_by_unit(const char *unit, struct found_cgroup *ret)
{
	static const char *const types[] = { ".service", ".scope", ".slice" };
	char name[NAME_MAX + 1];
	size_t len = strlen(unit);
	bool has_type = false;

	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t type = strlen(types[i]);

		has_type |= len > type && !strcmp(unit + len - type, types[i]);
	}
	snprintf(name, sizeof(name), "%s%s", unit, has_type ? "" : types[0]);
	search = (struct search){ .unit = name };
	return find("unit", name, ret);
}

int cgroup_by_container(const char *id, struct found_cgroup *ret)
{
	search = (struct search){ .container = id };
	return find("container", id, ret);
}
