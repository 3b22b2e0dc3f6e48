// SPDX-License-Identifier: GPL-2.0
/*
 * The start of an audit: whatever can be wrong is reported before anything is
 * armed, and a command runs only when it is watched.
 */

#include "app/audit/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/holder.h"
#include "app/common/signals.h"
#include "app/common/watched.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/time.h"
#include "binary/stack/unwind.h"

static int arm(struct session *session)
{
	uint32_t flags = PERFGUARD_TARGET_FLAGS_DISCOVER | PERFGUARD_TARGET_FLAGS_OWNED |
			 session->target_flags;
	uint64_t threshold_ns = session->threshold_ns;
	uint32_t pid = session->selector.pid;
	int ret;

	if (session->has_account)
		flags |= PERFGUARD_TARGET_FLAGS_ACCOUNT;
	if (session->has_requests)
		flags |= PERFGUARD_TARGET_FLAGS_REQUESTS;
	if (session->child.pid) {
		flags |= PERFGUARD_TARGET_FLAGS_INHERIT;
		pid = (uint32_t)session->child.pid;
	}
	if (!threshold_ns)
		threshold_ns = session->auto_threshold_ns = AUTO_THRESHOLD_FIRST_NS;
	session->next_alert = session->stats_begin.next_alert;
	session->discovery.next_wait = session->stats_begin.next_wait;
	ret = link_target_new(session->link, session->selector.fd, pid, &session->selector.scope, flags,
			      threshold_ns, &session->target_id, &session->nr_processes);
	session->discovery.target_id = session->target_id;
	if (!ret)
		session->holder = holder_begin(session->target_id, session->verb);
	/* By a threshold that is found for units, requests would all be late. */
	if (!ret && session->has_requests && session->threshold_ns)
		ret = link_target_set_request_limit(session->link, session->target_id,
						    session->threshold_ns);
	return ret;
}

/* The process that is to run the command is still ours: no program to watch. */
static int ignore_self(struct session *session)
{
	struct process *processes;
	uint32_t nr;
	int ret;

	ret = link_processes(session->link, session->target_id, &processes, &nr);
	if (ret)
		return ret;
	for (uint32_t i = 0; !ret && i < nr; i++)
		ret = discovery_ignore(&session->discovery, processes[i].image_id);
	free(processes);
	return ret;
}

static int release_command(struct session *session)
{
	int ret = ignore_self(session);

	if (ret)
		return cmd_failed(session->link, ret, "cannot watch the command");
	ret = child_go(&session->child);
	if (!ret)
		return 0;
	log_error("cannot run %s: %s", session->selector.path, strerror(-ret));
	return CMD_FAILED;
}

/* What is watched already by whom, and else what the module says. */
static int failed(const struct session *session, int error)
{
	const struct selector *selector = &session->selector;
	struct watched_subject subject = { .pid = selector->pid, .path = selector->path };
	char what[32], why[512];
	struct stat st;

	snprintf(what, sizeof(what), "cannot %s", session->verb);
	if (selector->fd >= 0 && !fstat(selector->fd, &st)) {
		subject.dev = st.st_dev;
		subject.inode = st.st_ino;
	}
	if (error != -EEXIST)
		return cmd_failed(session->link, error, what);
	/* Further requests of the link have errors of their own. */
	snprintf(why, sizeof(why), "%s", link_error(session->link));
	if (!watched_report(session->link, &subject, what))
		log_error("%s: %s", what, why);
	return CMD_FAILED;
}

int session_begin(struct session *session)
{
	int ret;

	session->signals = -1;
	ret = cmd_open_link(&session->link);
	if (ret)
		return ret;
	ret = link_wakeup_open(session->link);
	if (!ret)
		ret = link_stats(session->link, &session->stats_begin);
	if (ret)
		return failed(session, ret);
	session->unwinder = unwinder_create();
	session->signals = signals_open();
	if (!session->unwinder || session->signals < 0)
		return cmd_no_memory();
	if (session->selector.command) {
		ret = child_fork(&session->child, session->selector.path, session->selector.command,
				 session->is_json);
		if (ret) {
			log_error("cannot start a process: %s", strerror(-ret));
			return CMD_FAILED;
		}
	}
	session->discovery.link = session->link;
	session->discovery.unwinder = session->unwinder;
	session->discovery.named = &session->named;
	session->slowest.nr_wanted = session->nr_slowest;
	auto_threshold_init(&session->auto_threshold);
	session->start_ns = time_now_ns();
	ret = arm(session);
	if (ret)
		return failed(session, ret);
	if (session->child.pid)
		return release_command(session);
	long_step_begin("looking at the program's threads");
	ret = session_look_at_processes(session);
	if (!ret)
		ret = session_decide(session);
	long_step_end();
	/* It comes again. */
	if (ret && ret != -EAGAIN)
		return failed(session, ret);
	if (!session->nr_processes)
		log_progress("no process runs %s yet; waiting for one", session->selector.path);
	return 0;
}
