// SPDX-License-Identifier: GPL-2.0

#include "app/top/top-containers.h"

#include <stdlib.h>
#include <string.h>

#include "app/common/identity.h"
#include "base/duration.h"

/* The one with this id, made if there is room; or NULL. */
static struct top_container *find(struct top_program *program, const char *id)
{
	struct top_container *container = program->containers;

	for (uint32_t i = 0; i < program->nr_containers; i++, container++)
		if (!strcmp(container->id, id))
			return container;
	if (program->nr_containers == TOP_MAX_CONTAINERS)
		return NULL;
	program->nr_containers++;
	memcpy(container->id, id, CONTAINER_ID_MAX);
	return container;
}

static void add(struct top_program *program, const struct process *process)
{
	char *cgroup = identity_cgroup(process->pid), id[CONTAINER_ID_MAX];
	struct top_container *container = NULL;

	if (cgroup && container_id(cgroup, id)[0])
		container = find(program, id);
	free(cgroup);
	if (!container)
		return;
	container->processes++;
	container->units += process->units;
}

/* Processes that have gone have taken their units along. */
static void rate(struct top_program *program, const struct top_program *before, uint64_t span_ns)
{
	for (uint32_t i = 0; i < program->nr_containers; i++) {
		struct top_container *now = &program->containers[i];

		for (uint32_t j = 0; j < before->nr_containers; j++) {
			const struct top_container *then = &before->containers[j];

			if (!strcmp(then->id, now->id) && now->units >= then->units)
				now->rate = (double)(now->units - then->units) * NSEC_PER_SEC /
					    (double)span_ns;
		}
	}
}

int top_containers_read(struct link *link, struct top_program *program,
			const struct top_program *before, uint64_t span_ns)
{
	struct process *processes;
	uint32_t nr;
	int error = link_processes(link, program->target_id, &processes, &nr);

	if (error)
		return error;
	for (uint32_t i = 0; i < nr; i++)
		add(program, &processes[i]);
	free(processes);
	if (before && span_ns)
		rate(program, before, span_ns);
	return 0;
}
