// SPDX-License-Identifier: GPL-2.0
/*
 * A loop around poll(): the bell of the alerts and the signals wake it; from
 * time to time it hears of waits in unknown places, and once a second it looks
 * at processes and sums.
 */

#include "app/audit/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/holder.h"
#include "app/common/signals.h"
#include "app/common/stacks.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/time.h"
#include "binary/stack/unwind.h"
#include "data/histogram.h"
#include "out/alert/alert-request.h"
#include "out/alert/alert.h"
#include "out/line.h"
#include "out/text.h"

/* How often we hear of waits: often at first, when everything is new. */
#define FIRST_HEAR_NS (20 * NSEC_PER_MSEC)
#define HEAR_NS (100 * NSEC_PER_MSEC)
#define LOOK_NS NSEC_PER_SEC
/* What a command did since we read its sums last is lost when it ends. */
#define COMMAND_SUMS_NS (200 * NSEC_PER_MSEC)
/* A restarted service gets a moment to come back. */
#define GONE_NS (2 * NSEC_PER_SEC)
/* A command that was interrupted gets a moment to end. */
#define STOP_NS (5 * NSEC_PER_SEC)

/*
 * Snapshots are costly in a process of many threads, which has many mappings to
 * be read, and there may be many processes.  The threads left out are heard of
 * when they wake.
 */
#define SNAPSHOTS_NS (500 * NSEC_PER_MSEC)

enum { RESULT_TRIES = 20 };

static int compare_processes(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return order_of(a->pid, b->pid);
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

static struct loop *loop_get(struct session *session, const struct loop *like)
{
	for (uint32_t i = 0; i < session->nr_loops; i++)
		if (session->loops[i].image_id == like->image_id &&
		    session->loops[i].id == like->id)
			return &session->loops[i];
	if (array_resize(session->loops, session->nr_loops + 1UL))
		return NULL;
	return memset(&session->loops[session->nr_loops++], 0, sizeof(*session->loops));
}

/*
 * Keep the latest sums of each loop: with the last process of an image, the
 * module forgets them.
 */
static int look_at_loops(struct session *session)
{
	struct loop *loops, *known;
	int ret = 0, error;
	uint32_t nr;

	error = link_loops(session->link, 0, &loops, &nr);
	if (error)
		return error;
	for (uint32_t i = 0; i < nr && !ret; i++) {
		if (!discovery_number(&session->discovery, loops[i].image_id, loops[i].id))
			continue;
		known = loop_get(session, &loops[i]);
		if (!known) {
			ret = -ENOMEM;
			break;
		}
		loop_clear(known);
		*known = loops[i];
		loops[i].contexts = NULL;
	}
	link_loops_free(loops, nr);
	return ret;
}

/* Keep the latest sums of requests. */
static int look_at_requests(struct session *session)
{
	int ret = session->has_requests ?
			  link_requests(session->link, session->target_id, &session->requests) : 0;

	/* With its last process the target may go. */
	return ret == -ENOENT ? 0 : ret;
}

/* The same of loops and requests. */
static int look_at_sums(struct session *session)
{
	return look_at_loops(session) ?: look_at_requests(session);
}

static int adapt_threshold(struct session *session, uint64_t since_ns)
{
	uint64_t hist[PERFGUARD_HIST_BUCKETS] = { 0 };
	uint64_t max_ns = 0, late = 0, threshold_ns;
	int ret;

	for (uint32_t i = 0; i < session->nr_loops; i++) {
		const struct loop *loop = &session->loops[i];

		histogram_add(hist, loop->hist);
		late += loop->late;
		if (loop->max_ns > max_ns)
			max_ns = loop->max_ns;
	}
	threshold_ns = auto_threshold_next(&session->auto_threshold, hist, max_ns, late, since_ns);
	if (threshold_ns == session->auto_threshold_ns)
		return 0;
	ret = link_target_set_threshold(session->link, session->target_id, threshold_ns);
	if (!ret)
		session->auto_threshold_ns = threshold_ns;
	/* Then it is set at the next update. */
	return ret == -ENOBUFS ? 0 : ret;
}

/* There are stacks, and all lie in a wait that is known to be a loop's own. */
static bool are_waits(const struct discovery *discovery, uint32_t image_id,
		      const struct alert_stack *stacks, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!discovery_is_loop_wait(discovery, image_id, &stacks[i]))
			return false;
	return nr;
}

/*
 * A unit that lasts for a loop's wait is none: it began before that was known to be one.  Of any
 * other the last stack may have been taken when the thread waits already, and the first not at all.
 */
static bool is_slow_wait(const struct slow_unit *unit, void *arg)
{
	const struct session *session = arg;

	return !unit->has_bare && are_waits(&session->discovery, unit->record.image_id,
					    unit->stacks, unit->nr_stacks);
}

/* The same, with what an alert adds. */
static bool is_wait(struct session *session, const struct alert *alert)
{
	const struct record *record = alert->record;
	const struct slow_unit *unit = slowest_find(&session->slowest, record);

	if (unit && !is_slow_wait(unit, session))
		return false;
	if (!alert->nr_stacks)
		return unit;
	return are_waits(&session->discovery, record->image_id, alert->stacks, alert->nr_stacks);
}

static int take_alert(struct session *session, const struct record *record)
{
	struct discovery *discovery = &session->discovery;
	struct alert alert = { .record = record };
	const struct identity *identity;
	char *cgroup;
	int ret;

	identity = identity_get(&discovery->identities, record->image_id, record->pid);
	if (!identity)
		return -ENOMEM;
	ret = stacks_unwind(session->unwinder, record, &alert.stacks, &alert.nr_stacks);
	if (ret)
		return ret;
	cgroup = identity_cgroup(record->pid);
	alert.exe = identity->exe;
	alert.build_id = identity->build_id;
	alert.cgroup = cgroup;
	alert.loop = discovery_number(discovery, record->image_id, record->loop_id);
	/* It is kept all the same: what comes next of the unit may have no such stack. */
	if (session->lines && !is_wait(session, &alert))
		ret = alert_json(&session->json, session->lines, &alert, alert_kind_name(record->kind));
	if (ret) {
		stacks_free(alert.stacks, alert.nr_stacks);
		free(cgroup);
		return ret;
	}
	return slowest_add(&session->slowest, record, alert.stacks, alert.nr_stacks, cgroup);
}

/* In the text the slowest stand at the end. */
static int take_request(struct session *session, const struct record *record)
{
	const struct identity *identity =
		identity_get(&session->discovery.identities, record->image_id, record->pid);
	struct alert where = { .record = record };
	struct alert_request alert = { .record = record, .where = &where };
	int ret;

	if (!identity)
		return -ENOMEM;
	ret = stacks_unwind(session->unwinder, record, &where.stacks, &where.nr_stacks);
	if (ret)
		return ret;
	alert.exe = identity->exe;
	ret = alert_request_json(&session->json, session->lines, &alert);
	stacks_free(where.stacks, where.nr_stacks);
	return ret;
}

static int on_alert(struct record *record, void *arg)
{
	struct session *session = arg;

	if (record->seq >= session->next_alert)
		session->next_alert = record->seq + 1;
	switch (record->kind) {
	case PERFGUARD_RECORD_KIND_LOST:
		session->lost_alerts += record->lost;
		return 0;
	case PERFGUARD_RECORD_KIND_LATE:
	case PERFGUARD_RECORD_KIND_ENDED:
		if (record->target_id == session->target_id)
			return take_alert(session, record);
		break;
	case PERFGUARD_RECORD_KIND_REQUEST:
		if (record->target_id == session->target_id && session->lines)
			return take_request(session, record);
		break;
	}
	return 0;
}

static int hear_alerts(struct session *session)
{
	link_wakeup_clear(session->link);
	return link_alerts(session->link, session->next_alert, on_alert, session);
}

static void report_ready(struct session *session)
{
	struct json *json = &session->json;
	uint32_t loops, threads;

	discovery_count(&session->discovery, &loops, &threads);
	session->ready_ns = time_now_ns();
	log_progress("watching %" PRIu32 " thread%s of %s in %" PRIu32 " event loop%s", threads,
		     text_plural(threads), text_basename(session->selector.path), loops,
		     text_plural(loops));
	if (!session->lines)
		return;
	line_begin(json, "ready", 0);
	json_string(json, "exe", session->selector.path);
	json_u64(json, "processes", session->nr_processes);
	json_u64(json, "threads", threads);
	json_u64(json, "loops", loops);
	line_end(json, session->lines);
}

int session_decide(struct session *session)
{
	bool is_changed;
	int ret;

	ret = discovery_decide(&session->discovery, &is_changed);
	if (!ret && is_changed && !session->ready_ns)
		report_ready(session);
	return ret;
}

int session_take_target(struct session *session, bool *ret_is_there)
{
	struct target *targets;
	uint32_t nr;
	int ret;

	*ret_is_there = false;
	ret = link_targets(session->link, &targets, &nr);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < nr; i++) {
		if (targets[i].id != session->target_id)
			continue;
		*ret_is_there = true;
		free(session->target.path);
		session->target = targets[i];
		targets[i].path = NULL;
	}
	link_targets_free(targets, nr);
	return 0;
}

static bool has_process(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return !access(path, F_OK);
}

/* Without a process: whether it has ended, or somebody has removed the target. */
static int look_for_target(struct session *session)
{
	bool is_there;
	int ret;

	if (session->nr_processes)
		return 0;
	ret = session_take_target(session, &is_there);
	if (!ret && !is_there)
		session->is_disarmed = session->selector.fd >= 0 || has_process(session->selector.pid);
	return ret;
}

static int look(struct session *session, uint64_t since_ns)
{
	int ret = session_look_at_processes(session) ?: look_for_target(session);

	if (!ret && session->is_disarmed)
		return 0;
	if (!ret)
		ret = look_at_sums(session);
	if (!ret && !session->threshold_ns && session->ready_ns)
		ret = adapt_threshold(session, since_ns);
	return ret;
}

static enum session_end hear_signals(struct session *session)
{
	int signal;

	while ((signal = signals_next(session->signals)) != 0) {
		if (signal == SIGCHLD)
			continue;
		/* A command at our terminal got it, too, and may clean up. */
		if (signal == SIGINT && session->child.pid && !session->stop_ns) {
			session->stop_ns = time_now_ns() + STOP_NS;
			continue;
		}
		return SESSION_SIGNAL;
	}
	return SESSION_RUNS;
}

static enum session_end find_end(struct session *session)
{
	enum session_end end = hear_signals(session);
	uint64_t now_ns = time_now_ns();

	if (end)
		return end;
	if (session->is_done)
		return SESSION_DONE;
	if (session->child.pid && child_has_ended(&session->child))
		return SESSION_COMMAND;
	if (session->stop_ns && now_ns >= session->stop_ns)
		return SESSION_SIGNAL;
	if (session->duration_ns && now_ns - session->start_ns >= session->duration_ns)
		return SESSION_DURATION;
	if (session->is_disarmed)
		return SESSION_DISARMED;
	/* A file may be executed again, a process not. */
	if (session->gone_ns && session->nr_seen && !session->child.pid &&
	    (session->selector.pid || session->selector.scope.nr_pids || now_ns - session->gone_ns > GONE_NS))
		return SESSION_GONE;
	return SESSION_RUNS;
}

static void sleep_until(struct session *session, uint64_t until_ns)
{
	struct pollfd fds[] = {
		{ .fd = link_wakeup_fd(session->link), .events = POLLIN },
		{ .fd = session->signals, .events = POLLIN },
		{ .fd = session->turn ? session->turn_fd : -1, .events = POLLIN },
	};
	uint64_t end_ns = session->start_ns + session->duration_ns;
	uint64_t now_ns = time_now_ns();

	if (session->duration_ns && end_ns < until_ns)
		until_ns = end_ns;
	if (until_ns > now_ns)
		poll(fds, 3, (int)((until_ns - now_ns) / NSEC_PER_MSEC) + 1);
}

int session_run(struct session *session)
{
	uint64_t last_look_ns = time_now_ns(), last_hear_ns = 0;
	uint64_t last_sums_ns = last_look_ns;
	uint64_t now_ns, hear_ns;
	int ret = 0;

	while (!ret) {
		now_ns = time_now_ns();
		hear_ns = now_ns - session->start_ns < LOOK_NS ? FIRST_HEAR_NS : HEAR_NS;
		if (now_ns - last_hear_ns >= hear_ns) {
			last_hear_ns = now_ns;
			ret = discovery_hear(&session->discovery);
			if (!ret && !session->keeps_loops)
				ret = session_decide(session);
		}
		if (!ret)
			ret = hear_alerts(session);
		if (!ret && now_ns - last_look_ns >= LOOK_NS) {
			ret = look(session, now_ns - last_look_ns);
			if (!ret)
				last_look_ns = now_ns;
		}
		if (!ret && session->child.pid && now_ns - last_sums_ns >= COMMAND_SUMS_NS) {
			ret = look_at_sums(session);
			last_sums_ns = now_ns;
		}
		if (!ret && session->turn) {
			session->turn_failed = session->turn(session, session->turn_arg);
			if (session->turn_failed)
				break;
		}
		if (ret == -EAGAIN) {
			cmd_put_off(session->link, &session->put_off_ns);
			ret = 0;
		}
		session->ended_by = find_end(session);
		if (session->ended_by)
			break;
		sleep_until(session, last_hear_ns + hear_ns);
	}
	session->end_ns = time_now_ns();
	if (!ret)
		return session->turn_failed;
	/* One error is reported: there is no result to be read any more. */
	session->ended_by = SESSION_RUNS;
	if (ferror(stdout))
		return CMD_FAILED; /* pg-collect.c reports it */
	return cmd_failed(session->link, ret, "the audit broke off");
}

int session_take_sums(struct session *session)
{
	bool is_there;

	return look_at_sums(session) ?: session_take_target(session, &is_there);
}

static int read_result(struct session *session)
{
	return session_take_sums(session) ?: hear_alerts(session) ?:
	       link_stats(session->link, &session->stats_end);
}

/*
 * What a command started and left behind when it ended, as a daemon that puts
 * itself into the background: it is not ours to end, and who looks for it finds it here.
 */
static void report_left(const struct session *session)
{
	enum { MAX_PIDS = 5 };

	char pids[MAX_PIDS * 12 + 1] = "";
	struct process *processes;
	uint32_t nr, shown = 0;
	size_t used = 0;

	if (!session->child.has_ended ||
	    link_processes(session->link, session->target_id, &processes, &nr))
		return;
	for (; shown < nr && shown < MAX_PIDS; shown++)
		used += (size_t)snprintf(pids + used, sizeof(pids) - used, " %" PRIu32,
					 processes[shown].pid);
	free(processes);
	if (nr)
		log_warning("%s has ended and left %" PRIu32 " process%s running:%s%s; 'pg-collect audit -p PID' measures one",
			    text_basename(session->selector.path), nr, nr == 1 ? "" : "es", pids,
			    nr > shown ? " ..." : "");
}

static int finish(struct session *session)
{
	int ret = 0;

	report_left(session);
	if (session->ended_by) {
		discovery_look(&session->discovery);
		/* All that was seen hangs on it. */
		for (int i = 0; !i || (ret == -EAGAIN && i < RESULT_TRIES); i++)
			ret = read_result(session);
		slowest_drop(&session->slowest, is_slow_wait, session);
		slowest_finish(&session->slowest, time_wall_ns());
	}
	if (ret)
		ret = cmd_failed(session->link, ret, "cannot read the result");
	/* Of a training nothing is to be seen. */
	if (session->ended_by == SESSION_DISARMED &&
	    !(session->target_flags & PERFGUARD_TARGET_FLAGS_RECORD))
		log_warning("somebody disarmed %s; this is what was seen before",
			    session->selector.path);
	/* The module may have removed it with its last process. */
	link_target_del(session->link, session->target_id);
	holder_end(session->holder, session->target_id);
	session->target_id = 0;
	return ret;
}

int session_finish(struct session *session)
{
	int ret;

	if (!session->target_id)
		return 0;
	long_step_begin("reading what was measured, and taking the hooks off");
	ret = finish(session);
	long_step_end();
	return ret;
}

void session_deinit(struct session *session)
{
	/* Closing the link disarms whatever is left. */
	child_stop(&session->child);
	slowest_deinit(&session->slowest);
	discovery_deinit(&session->discovery);
	if (session->unwinder)
		unwinder_destroy(session->unwinder);
	if (session->signals >= 0)
		close(session->signals);
	for (uint32_t i = 0; i < session->nr_loops; i++)
		loop_clear(&session->loops[i]);
	free(session->loops);
	free(session->processes);
	free(session->target.path);
	link_stats_clear(&session->stats_begin);
	link_stats_clear(&session->stats_end);
	link_close(session->link);
	json_deinit(&session->json);
	selector_deinit(&session->selector);
}
