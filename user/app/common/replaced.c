// SPDX-License-Identifier: GPL-2.0

#include "app/common/replaced.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/deleted.h"
#include "base/open-in-root.h"
#include "binary/file/elf.h"

bool replaced_is_stale(const struct target *target)
{
	return !target->pid && target->path[deleted_stem(target->path)];
}

/* By whether it is the build that was armed. */
static enum replaced_by judge(int fd, const char *build_id)
{
	struct elf_identity identity;
	const char *why;

	if (!build_id || elf_identify(fd, &identity, &why))
		return REPLACED_BY_UNKNOWN;
	return strcmp(identity.build_id, build_id) ? REPLACED_BY_OTHER_BUILD :
						     REPLACED_BY_SAME_BUILD;
}

/* A process of the target shows by its root, a container's perhaps, where the path begins. */
static int open_path(const char *path, const struct target *target,
		     const struct process *processes, uint32_t nr)
{
	char root[32] = "/";

	for (uint32_t i = 0; i < nr; i++)
		if (processes[i].target_id == target->id)
			snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", processes[i].pid);
	return open_in_root(root, path, O_RDONLY | O_NONBLOCK);
}

static bool is_watched(uint32_t pid, const struct process *processes, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (processes[i].pid == pid)
			return true;
	return false;
}

static bool runs(uint32_t pid, const char *path)
{
	char link[32], exe[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", pid);
	len = readlink(link, exe, sizeof(exe) - 1);
	exe[len > 0 ? len : 0] = '\0';
	return len > 0 && !strcmp(exe, path);
}

static void find_processes(struct replaced *replaced, const struct process *processes, uint32_t nr)
{
	DIR *all = opendir("/proc");
	const struct dirent *entry;

	while (all && (entry = readdir(all))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!pid || !runs(pid, replaced->path) || is_watched(pid, processes, nr))
			continue;
		if (replaced->nr_pids < REPLACED_MAX_PIDS)
			replaced->pids[replaced->nr_pids] = pid;
		replaced->nr_pids++;
	}
	if (all)
		closedir(all);
}

void replaced_find(const struct target *target, const struct process *processes, uint32_t nr,
		   const char *build_id, struct replaced *ret)
{
	char exe[32];
	int fd = -1;

	*ret = (struct replaced){ 0 };
	if (!replaced_is_stale(target))
		return;
	snprintf(ret->path, sizeof(ret->path), "%.*s", (int)deleted_stem(target->path),
		 target->path);
	find_processes(ret, processes, nr);
	if (ret->nr_pids) {
		snprintf(exe, sizeof(exe), "/proc/%" PRIu32 "/exe", ret->pids[0]);
		fd = open(exe, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		fd = open_path(ret->path, target, processes, nr);
	ret->by = fd < 0 ? REPLACED_BY_NOTHING : judge(fd, build_id);
	if (fd >= 0)
		close(fd);
}

static const char *list_pids(const struct replaced *replaced, char text[128])
{
	int len = 0;

	text[0] = '\0';
	if (!replaced->nr_pids)
		return text;
	len = snprintf(text, 128, " (now %" PRIu32 ":", replaced->nr_pids);
	for (uint32_t i = 0; i < replaced->nr_pids && i < REPLACED_MAX_PIDS; i++)
		len += snprintf(text + len, 128 - (size_t)len, " %" PRIu32, replaced->pids[i]);
	snprintf(text + len, 128 - (size_t)len, "%s)",
		 replaced->nr_pids > REPLACED_MAX_PIDS ? " ..." : "");
	return text;
}

const char *replaced_text(const struct replaced *replaced, const char *profile,
			  char text[REPLACED_TEXT_MAX])
{
	const char *path = replaced->path;
	char pids[128];
	int len;

	if (replaced->by == REPLACED_BY_NOTHING) {
		snprintf(text, REPLACED_TEXT_MAX,
			 "%s was removed since it was armed: what is put there later is not guarded",
			 path);
		return text;
	}
	len = snprintf(text, REPLACED_TEXT_MAX,
		       "%s was replaced since it was armed: processes started since then are not guarded%s; ",
		       path, list_pids(replaced, pids));
	if (replaced->by == REPLACED_BY_OTHER_BUILD)
		snprintf(text + len, REPLACED_TEXT_MAX - (size_t)len,
			 "it is another build: take the profile over to it, 'pg-collect learn --carry %s -o NEW', or train, 'pg-collect train -o NEW -e %s', and arm NEW",
			 profile ? profile : "FILE", path);
	else
		snprintf(text + len, REPLACED_TEXT_MAX - (size_t)len, "arm again: 'pg-collect arm %s'",
			 profile ? profile : "FILE");
	return text;
}

const char *replaced_name(const struct replaced *replaced)
{
	static const char *const names[] = { NULL, "nothing", "same", "other", "unknown" };

	return names[replaced->by];
}
