/* SPDX-License-Identifier: GPL-2.0 */
/* In which container something is, and what it is called there. */
#ifndef _USER_OUT_CONTAINER_TEXT_H
#define _USER_OUT_CONTAINER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "out/json.h"

/* As "container": the id that a cgroup's path has, null where it is of none or NULL. */
void container_json(struct json *json, const char *cgroup);

/*
 * "container 3f2a9c1b7d02, process 7 and thread 9 there": as far as it is so, and what is 0 is
 * left out.  Return: @text, "" where there is nothing to say.
 */
const char *container_text(const char *cgroup, uint32_t ns_pid, uint32_t ns_tid, char *text,
			   size_t size);

#endif /* _USER_OUT_CONTAINER_TEXT_H */
