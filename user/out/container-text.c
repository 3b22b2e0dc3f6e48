// SPDX-License-Identifier: GPL-2.0

#include "out/container-text.h"

#include <inttypes.h>

#include "base/container-id.h"
#include "out/text.h"

void container_json(struct json *json, const char *cgroup)
{
	char id[CONTAINER_ID_MAX] = "";

	if (cgroup)
		container_id(cgroup, id);
	json_string(json, "container", id[0] ? id : NULL);
}

const char *container_text(const char *cgroup, uint32_t ns_pid, uint32_t ns_tid, char *text,
			   size_t size)
{
	char id[CONTAINER_ID_MAX] = "";

	text[0] = '\0';
	if (cgroup && container_id(cgroup, id)[0])
		text_append(text, size, "container %s", container_id_cut(id));
	if (!ns_pid)
		return text;
	text_append(text, size, "%sprocess %" PRIu32, text[0] ? ", " : "", ns_pid);
	if (ns_tid && ns_tid != ns_pid)
		text_append(text, size, " and thread %" PRIu32, ns_tid);
	text_append(text, size, id[0] ? " there" : " in its pid namespace");
	return text;
}
