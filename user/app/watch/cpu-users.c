// SPDX-License-Identifier: GPL-2.0

#include "app/watch/cpu-users.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/time.h"
#include "out/alert/alert.h"

/* Less than this is nobody worth a name. */
#define LEAST_SHARE 0.05

/* Whatever a name has in it, the last parenthesis ends it. */
static int parse_stat(char *line, struct cpu_user *ret)
{
	char *begin = strchr(line, '('), *end = strrchr(line, ')');
	uint64_t user, system;

	if (!begin || !end || end < begin ||
	    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
		   &user, &system) != 2)
		return -EINVAL;
	*end = '\0';
	snprintf(ret->comm, sizeof(ret->comm), "%s", begin + 1);
	ret->ticks = user + system;
	return 0;
}

/* One that is gone meanwhile is left out. */
static int read_user(const char *pid, struct cpu_user *ret)
{
	char path[64], line[1024];
	FILE *file;
	int error;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return -ENOENT;
	error = fgets(line, sizeof(line), file) ? parse_stat(line, ret) : -ENOENT;
	fclose(file);
	ret->pid = (uint32_t)strtoul(pid, NULL, 10);
	return error;
}

static int by_pid(const void *a, const void *b)
{
	const struct cpu_user *left = a, *right = b;

	return order_of(left->pid, right->pid);
}

int cpu_users_read(struct cpu_users *users)
{
	DIR *directory = opendir("/proc");
	const struct dirent *entry;
	size_t max = 0;
	int ret = 0;

	*users = (struct cpu_users){ .at_ns = time_now_ns() };
	while (directory && !ret && (entry = readdir(directory))) {
		struct cpu_user user;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    read_user(entry->d_name, &user))
			continue;
		ret = array_grow(users->users, users->nr, max);
		if (!ret)
			users->users[users->nr++] = user;
	}
	if (directory)
		closedir(directory);
	if (users->nr)
		qsort(users->users, users->nr, sizeof(*users->users), by_pid);
	return ret;
}

void cpu_users_deinit(struct cpu_users *users)
{
	free(users->users);
	*users = (struct cpu_users){ 0 };
}

static uint64_t ticks_before(const struct cpu_users *users, const struct cpu_user *user)
{
	const struct cpu_user *found = users->nr ? bsearch(user, users->users, users->nr,
							   sizeof(*user), by_pid) : NULL;

	return found && found->ticks <= user->ticks ? found->ticks : 0;
}

uint32_t cpu_users_most(const struct cpu_users *before, const struct cpu_users *after,
			struct alert_cpu_user *ret, uint32_t max)
{
	double seconds = (double)(after->at_ns - before->at_ns) / NSEC_PER_SEC;
	double ticks = seconds * (double)sysconf(_SC_CLK_TCK);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < after->nr && ticks > 0; i++) {
		const struct cpu_user *user = &after->users[i];
		double share = (double)(user->ticks - ticks_before(before, user)) / ticks;
		uint32_t at = nr;

		if (share < LEAST_SHARE)
			continue;
		while (at && ret[at - 1].share < share)
			at--;
		if (at == max)
			continue;
		if (nr < max)
			nr++;
		memmove(&ret[at + 1], &ret[at], (nr - at - 1) * sizeof(*ret));
		ret[at] = (struct alert_cpu_user){ user->pid, user->comm, share };
	}
	return nr;
}
