// SPDX-License-Identifier: GPL-2.0
/*
 * The target's processes, as they come and go.  Only those that there are now
 * are kept in mind: an audit of hours may see a million.
 */

#include "app/audit/session.h"

#include <stdlib.h>

#include "base/duration.h"
#include "base/time.h"

/*
 * Snapshots are costly in a process of many threads, which has many mappings to
 * be read, and there may be many processes.  The threads left out are heard of
 * when they wake.
 */
#define SNAPSHOTS_NS (500 * NSEC_PER_MSEC)

static int compare_processes(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Look at a process that is new to us, or runs another program now. */
static int meet(struct session *session, const struct process *process, uint64_t end_ns)
{
	const struct process *known = NULL;

	if (session->nr_known)
		known = bsearch(process, session->processes, session->nr_known, sizeof(*process),
				compare_processes);
	session->nr_seen += !known;
	if (known && known->image_id == process->image_id)
		return 0;
	return discovery_add_process(&session->discovery, process, end_ns);
}

int session_look_at_processes(struct session *session)
{
	uint64_t end_ns = time_now_ns() + SNAPSHOTS_NS;
	struct process *processes;
	uint32_t nr;
	int ret;

	ret = link_processes(session->link, session->target_id, &processes, &nr);
	if (ret)
		return ret;
	if (nr)
		qsort(processes, nr, sizeof(*processes), compare_processes);
	for (uint32_t i = 0; !ret && i < nr; i++)
		ret = meet(session, &processes[i], end_ns);
	discovery_forget(&session->discovery, processes, nr);
	free(session->processes);
	session->processes = processes;
	session->nr_known = nr;
	session->nr_processes = nr;
	if (nr)
		session->gone_ns = 0;
	else if (!session->gone_ns)
		session->gone_ns = time_now_ns();
	return ret;
}
