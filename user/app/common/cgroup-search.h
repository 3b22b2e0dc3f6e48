/* SPDX-License-Identifier: GPL-2.0 */
/* Cgroups (version 2) by their path, by the unit of systemd, or by the container they are of. */
#ifndef _USER_APP_COMMON_CGROUP_SEARCH_H
#define _USER_APP_COMMON_CGROUP_SEARCH_H

#include <stdint.h>

struct found_cgroup {
	char *path; /* in its hierarchy */
	uint64_t id;
};

/* By path: a directory, or as /proc/PID/cgroup has it.  Returns 0 or an errno. */
int cgroup_by_path(const char *path, struct found_cgroup *ret);

/* The cgroup of a unit; without a suffix of a service.  Returns 0 or an exit code, reported. */
int cgroup_by_unit(const char *unit, struct found_cgroup *ret);

/* That of a container, by its id or name, or how that begins.  Returns as above. */
int cgroup_by_container(const char *id, struct found_cgroup *ret);

#endif /* _USER_APP_COMMON_CGROUP_SEARCH_H */
