// SPDX-License-Identifier: GPL-2.0

#include "app/watch/preparation.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/long-step.h"
#include "base/pending.h"
#include "base/time.h"
#include "binary/stack/unwind.h"
#include "link/link.h"

/* For all files: it is done at the priority of a verb that somebody waits for. */
#define FILES_NS (5 * NSEC_PER_SEC)

static bool is_first_of_image(const struct process *processes, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (processes[i].image_id == processes[at].image_id)
			return false;
	return true;
}

/* One process of each program stands for all; without an answer there is nothing to prepare. */
static void read_files(struct watching *watching)
{
	uint64_t end_ns = time_now_ns() + FILES_NS;
	struct process *processes;
	uint32_t nr;

	if (link_processes(watching->link, 0, &processes, &nr))
		return;
	for (uint32_t i = 0; i < nr && time_now_ns() < end_ns && !pending_end(); i++)
		if (is_first_of_image(processes, i))
			unwinder_prepare(watching->unwinder, processes[i].pid, end_ns);
	free(processes);
}

int preparation_make(struct watching *watching)
{
	int ret;

	long_step_begin("reading the programs that are watched, and their profiles");
	ret = watching_tick(watching);
	if (!ret)
		read_files(watching);
	long_step_end();
	return ret;
}
