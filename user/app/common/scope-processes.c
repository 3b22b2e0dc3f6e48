// SPDX-License-Identifier: GPL-2.0

#include "app/common/scope-processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>

#include "app/common/command.h"
#include "app/common/identity.h"
#include "base/array.h"
#include "base/deleted.h"
#include "base/log.h"
#include "out/text.h"

enum {
	MAX_ARGUMENTS = 64 * 1024, /* as much as the module looks at */
	MAX_SHOWN = 8,
};

/* The parent and the real user of a process; false if it is gone. */
static bool read_status(uint32_t pid, uint32_t *ret_parent, uint32_t *ret_uid)
{
	char path[48], line[256];
	int found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		found += sscanf(line, "PPid: %" SCNu32, ret_parent) == 1 ||
			 sscanf(line, "Uid: %" SCNu32, ret_uid) == 1;
	fclose(file);
	return found == 2;
}

static bool has_args(uint32_t pid, const char *args)
{
	static char text[MAX_ARGUMENTS];
	size_t len = 0;
	ssize_t nr;
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (len < sizeof(text) && (nr = read(fd, text + len, sizeof(text) - len)) > 0)
		len += (size_t)nr;
	close(fd);
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = ' ';
	return memmem(text, len, args, strlen(args)) != NULL;
}

static bool is_below(uint32_t pid, const char *cgroup)
{
	size_t len = strcmp(cgroup, "/") ? strlen(cgroup) : 0;
	char *path = identity_cgroup(pid);
	bool ret = path && !strncmp(path, cgroup, len) && (!path[len] || path[len] == '/');

	free(path);
	return ret;
}

static bool has_pid(const struct armed_scope *scope, uint32_t pid)
{
	for (uint32_t i = 0; i < scope->nr_pids; i++)
		if (scope->pids[i] == pid)
			return true;
	return !scope->nr_pids;
}

static bool is_in(const struct armed_scope *scope, uint32_t pid, uint32_t *ret_parent)
{
	uint32_t uid;

	return has_pid(scope, pid) && read_status(pid, ret_parent, &uid) &&
	       (!scope->has_uid || uid == scope->uid) &&
	       (!scope->cgroup_path || is_below(pid, scope->cgroup_path)) &&
	       (!scope->args || has_args(pid, scope->args));
}

/*
 * Which file it is.  Each container has an overlay of its image, with a device of its own, but the
 * inode of the image's file.
 */
bool scope_file_identify(int fd, dev_t *ret_dev, ino_t *ret_inode)
{
	struct statfs fs;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || fstatfs(fd, &fs))
		return false;
	*ret_dev = fs.f_type == OVERLAYFS_SUPER_MAGIC ? 0 : st.st_dev;
	*ret_inode = st.st_ino;
	return true;
}

/* What it executes; false for a kernel thread. */
static bool read_exe(struct scope_process *process)
{
	char link[48], path[PATH_MAX];
	bool is_found;
	ssize_t len;
	int fd;

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", process->pid);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return false;
	fd = open(link, O_PATH | O_CLOEXEC);
	is_found = scope_file_identify(fd, &process->dev, &process->inode);
	if (fd >= 0)
		close(fd);
	if (!is_found)
		return false;
	path[len] = '\0';
	path[deleted_stem(path)] = '\0';
	process->path = strdup(path);
	return process->path;
}

static int order(const void *a, const void *b)
{
	return order_of(((const struct scope_process *)a)->pid,
			((const struct scope_process *)b)->pid);
}

int scope_processes_get(const struct armed_scope *scope, struct scope_processes *ret)
{
	struct dirent *entry;
	size_t max = 0;
	DIR *dir;

	*ret = (struct scope_processes){ 0 };
	dir = opendir("/proc");
	while (dir && (entry = readdir(dir))) {
		struct scope_process *process;
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10), parent = 0;

		if (!pid || pid == (uint32_t)getpid() || !is_in(scope, pid, &parent))
			continue;
		if (array_grow(ret->of, ret->nr, max)) {
			closedir(dir);
			return -ENOMEM;
		}
		process = &ret->of[ret->nr];
		*process = (struct scope_process){ .pid = pid, .parent = parent };
		ret->nr += read_exe(process);
	}
	if (dir)
		closedir(dir);
	if (ret->nr)
		qsort(ret->of, ret->nr, sizeof(*ret->of), order);
	return 0;
}

void scope_processes_free(struct scope_processes *processes)
{
	for (uint32_t i = 0; i < processes->nr; i++)
		free(processes->of[i].path);
	free(processes->of);
	*processes = (struct scope_processes){ 0 };
}

static bool is_same(const struct scope_process *a, const struct scope_process *b)
{
	return a->dev == b->dev && a->inode == b->inode;
}

static bool is_called(const struct scope_process *process, const char *exe)
{
	if (!exe)
		return true;
	return !strcmp(strchr(exe, '/') ? process->path : text_basename(process->path), exe);
}

const struct scope_process *scope_processes_find(const struct scope_processes *processes,
						 const char *exe)
{
	for (uint32_t i = 0; i < processes->nr; i++)
		if (is_called(&processes->of[i], exe))
			return &processes->of[i];
	return NULL;
}

int scope_processes_none(const struct armed_scope *scope)
{
	if (scope->unit)
		log_error("there is no process in unit '%s'", scope->unit);
	else if (scope->container)
		log_error("there is no process in container '%s'", scope->container);
	else
		log_error("there is no such process");
	return CMD_FAILED;
}

/* Those that were met before it. */
static bool is_known(const struct scope_processes *processes, uint32_t at, const char *exe)
{
	for (uint32_t i = 0; i < at; i++)
		if (is_called(&processes->of[i], exe) &&
		    is_same(&processes->of[i], &processes->of[at]))
			return true;
	return false;
}

static void refuse_several(const struct scope_processes *processes, const char *exe)
{
	uint32_t shown = 0;

	log_error("there are several programs among these processes; choose one by -e EXE:");
	for (uint32_t i = 0; i < processes->nr && shown < MAX_SHOWN; i++) {
		const struct scope_process *process = &processes->of[i];

		if (!is_called(process, exe) || is_known(processes, i, exe))
			continue;
		shown++;
		log_error("  %s (process %" PRIu32 ")", process->path, process->pid);
	}
}

int scope_processes_open(const struct scope_processes *processes, const char *exe,
			 char path[PATH_MAX])
{
	const struct scope_process *found = NULL;
	char link[48];
	int fd;

	for (uint32_t i = 0; i < processes->nr; i++) {
		if (!is_called(&processes->of[i], exe))
			continue;
		if (found && !is_same(found, &processes->of[i])) {
			refuse_several(processes, exe);
			return -EINVAL;
		}
		found = found ? found : &processes->of[i];
	}
	if (!found)
		return -ENOENT;
	snprintf(path, PATH_MAX, "%s", found->path);
	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", found->pid);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	log_error("cannot open %s: %s", path, strerror(errno));
	return errno == EPERM ? -EACCES : -EINVAL;
}

/* Has it started another one of them? */
static bool is_parent(const struct scope_processes *processes, uint32_t pid)
{
	for (uint32_t i = 0; i < processes->nr; i++)
		if (processes->of[i].parent == pid)
			return true;
	return false;
}

/* A number below @nr. */
static uint32_t chance(uint32_t nr)
{
	return (uint32_t)(drand48() * nr);
}

/* Of @nr each is as likely to be among the first @wanted. */
static void shuffle(uint32_t *pids, uint32_t nr, uint32_t wanted)
{
	for (uint32_t i = 0; i < wanted; i++) {
		uint32_t other = i + chance(nr - i), pid = pids[i];

		pids[i] = pids[other];
		pids[other] = pid;
	}
	qsort(pids, wanted, sizeof(*pids), order_u32);
}

int scope_processes_choose(const struct scope_processes *processes, int fd, uint32_t nr,
			   struct armed_scope *scope)
{
	struct scope_processes same = { .of = calloc(processes->nr + 1, sizeof(*same.of)) };
	uint32_t *pids = calloc(processes->nr + 1, sizeof(*pids)), found = 0;
	int ret = same.of && pids && nr <= ARMED_SCOPE_MAX_PIDS ? 0 : -ENOMEM;
	dev_t dev;
	ino_t inode;

	if (!ret && !scope_file_identify(fd, &dev, &inode))
		ret = -ESRCH;
	for (uint32_t i = 0; i < processes->nr && !ret; i++)
		if (processes->of[i].dev == dev && processes->of[i].inode == inode)
			same.of[same.nr++] = processes->of[i];
	for (uint32_t i = 0; i < same.nr; i++)
		if (!is_parent(&same, same.of[i].pid))
			pids[found++] = same.of[i].pid;
	for (uint32_t i = 0; i < same.nr && found < nr; i++)
		if (is_parent(&same, same.of[i].pid))
			pids[found++] = same.of[i].pid;
	if (!ret && found < nr)
		ret = -ESRCH;
	if (!ret) {
		srand48(time(NULL) ^ getpid());
		shuffle(pids, found, nr);
		memcpy(scope->pids, pids, nr * sizeof(*pids));
		scope->nr_pids = nr;
	}
	free(same.of);
	free(pids);
	return ret;
}
