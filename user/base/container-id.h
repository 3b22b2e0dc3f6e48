/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The container whose processes are in a cgroup: docker, podman, containerd, CRI-O, LXC and
 * systemd-nspawn have its id or its name in the cgroup's path.
 */
#ifndef _USER_BASE_CONTAINER_ID_H
#define _USER_BASE_CONTAINER_ID_H

#include <stdbool.h>

enum {
	CONTAINER_ID_MAX = 128,
	CONTAINER_ID_SHOWN = 12, /* of 64 digits, as the tools print it */
};

/*
 * The innermost container of a cgroup's @path, "" where it is of none.
 * Return: @id.
 */
const char *container_id(const char *path, char id[CONTAINER_ID_MAX]);

/* Return: true if the last part of @path is what is named by a container's id. */
bool container_is_own(const char *path);

/* Cut an id of 64 digits to those that are shown; a name stays.  Return: @id. */
const char *container_id_cut(char id[CONTAINER_ID_MAX]);

#endif /* _USER_BASE_CONTAINER_ID_H */
