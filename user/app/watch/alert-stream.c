// SPDX-License-Identifier: GPL-2.0
/*
 * The multicast message only wakes: the alerts themselves, with stacks, are
 * requested by sequence number.  So no alert is missed when a message is.
 */

#include "app/watch/alert-stream.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/signals.h"
#include "app/watch/preparation.h"
#include "base/background.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "binary/stack/unwind.h"
#include "link/link.h"

/* What is waited for. */
enum { BELL, SIGNALS, OWNER, NR_FDS };

/* Return: true if the signal is to end the stream. */
static bool is_end(const struct alert_stream *stream, int signal)
{
	if (stream->owner)
		return stream->owner->signal(signal, stream->owner->arg);
	return signal != SIGCHLD;
}

static bool is_satisfied(const struct alert_stream *stream)
{
	return stream->nr_wanted && stream->watching.nr_late >= stream->nr_wanted;
}

/* It is asked for each record: they may come faster than they can be printed. */
static bool has_ended(struct alert_stream *stream)
{
	int signal;

	while ((signal = signals_next(stream->signals)) != 0)
		if (is_end(stream, signal))
			stream->is_interrupted = true;
	return stream->is_interrupted || is_satisfied(stream);
}

/* Printing them needs the link, which is busy reading them; so they are queued. */
static int on_record(struct record *record, void *arg)
{
	struct alert_stream *stream = arg;

	if (stream->nr_queued == ALERT_STREAM_MAX_QUEUED)
		return -ECANCELED;
	if (record->seq >= stream->next)
		stream->next = record->seq + 1;
	stream->queue[stream->nr_queued++] = *record;
	memset(record, 0, sizeof(*record));
	return 0;
}

static int failed(struct alert_stream *stream, int error, const char *what)
{
	if (ferror(stdout))
		return CMD_FAILED; /* pg-collect.c reports it */
	return cmd_failed(stream->link, error, what);
}

/* That no alert came so far is nothing to be explained. */
static void forget_silence(const struct alert_stream *stream)
{
	if (!stream->is_waited_for)
		log_forget_silence();
}

static int print_queued(struct alert_stream *stream)
{
	int ret = 0;

	for (uint32_t i = 0; i < stream->nr_queued; i++) {
		forget_silence(stream);
		if (!ret && !has_ended(stream))
			ret = watching_take(&stream->watching, &stream->queue[i]);
		record_clear(&stream->queue[i]);
	}
	stream->nr_queued = 0;
	return ret;
}

static int print_new(struct alert_stream *stream)
{
	int error, ret;

	forget_silence(stream);
	error = link_alerts(stream->link, stream->next, on_record, stream);
	ret = print_queued(stream);

	stream->has_more = error == -ECANCELED;
	stream->is_put_off = error == -EAGAIN;
	if (stream->is_put_off)
		cmd_put_off(stream->link, &stream->watching.put_off_ns);
	else if (error && !stream->has_more)
		return failed(stream, error, "cannot read the alerts");
	if (ret)
		return failed(stream, ret, "cannot print an alert");
	ret = watching_tick(&stream->watching);
	return ret ? failed(stream, ret, "cannot ask for the armed profiles") : 0;
}

/* Wait for the bell, a signal or the end; returns what poll() does. */
static int wait_bell(struct alert_stream *stream, struct pollfd fds[NR_FDS],
		     uint64_t end_ns, uint64_t most_ns)
{
	uint64_t now_ns = time_now_ns();
	/* Ask without a bell, too: it may be lost. */
	uint64_t wait_ns = stream->has_more ? 0 : watching_wait_ns(&stream->watching);

	if (stream->duration_ns && now_ns >= end_ns)
		return 0;
	if (wait_ns > most_ns)
		wait_ns = most_ns;
	if (stream->is_put_off && wait_ns > NSEC_PER_SEC)
		wait_ns = NSEC_PER_SEC;
	if (stream->duration_ns && end_ns - now_ns < wait_ns)
		wait_ns = end_ns - now_ns;
	fds[OWNER].fd = stream->owner ? stream->owner_fd : -1;
	poll(fds, NR_FDS, (int)((wait_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
	return 1;
}

static int run(struct alert_stream *stream)
{
	struct pollfd fds[NR_FDS] = {
		[BELL] = { .fd = link_wakeup_fd(stream->link), .events = POLLIN },
		[SIGNALS] = { .fd = stream->signals, .events = POLLIN },
		[OWNER] = { .events = POLLIN },
	};
	uint64_t end_ns = time_now_ns() + stream->duration_ns, most_ns = UINT64_MAX;
	const struct alert_stream_owner *owner = stream->owner;
	int ret;

	for (;;) {
		link_wakeup_clear(stream->link);
		ret = print_new(stream);
		if (ret || has_ended(stream))
			return ret;
		if (owner)
			most_ns = owner->turn(stream, owner->arg);
		if (!wait_bell(stream, fds, end_ns, most_ns))
			return stream->nr_wanted ? CMD_TIMEOUT : CMD_OK;
		if (has_ended(stream))
			return CMD_OK;
	}
}

static int finish(struct alert_stream *stream, int ret)
{
	int error = ret == CMD_FAILED ? 0 : watching_finish(&stream->watching);

	return error ? failed(stream, error, "cannot print the last alerts") : ret;
}

static int begin(struct alert_stream *stream)
{
	struct stats stats;
	int error;

	error = link_wakeup_open(stream->link);
	if (error)
		return cmd_link_failed(stream->link, error, "cannot watch");
	error = link_stats(stream->link, &stats);
	if (error)
		return cmd_link_failed(stream->link, error, "cannot watch");
	if (!stream->has_since)
		stream->next = stats.next_alert;
	if (!stats.targets && !stream->owner)
		log_warning("nothing is watched yet: 'pg-collect arm FILE' guards a program, and its alerts come then");
	if (!stats.is_alive)
		log_warning("the hooks no longer reach the module; the kernel's log (dmesg) says why");
	link_stats_clear(&stats);
	return 0;
}

/* From here on others come first, but what is needed at once is there. */
static int make_way(struct alert_stream *stream)
{
	int ret = stream->is_waited_for ? 0 : preparation_make(&stream->watching);

	if (ret)
		return failed(stream, ret, "cannot ask for the armed profiles");
	if (stream->is_waited_for)
		return 0;
	unwinder_enter_background(stream->watching.unwinder);
	background_enter();
	return 0;
}

int alert_stream_run(struct alert_stream *stream)
{
	int ret = cmd_open_link(&stream->link);

	if (ret)
		return ret;
	stream->signals = signals_open();
	if (watching_init(&stream->watching, stream->link, stream->window_ns, stream->is_json) ||
	    stream->signals < 0)
		ret = cmd_no_memory();
	stream->watching.is_brief = stream->is_brief;
	if (!ret)
		ret = begin(stream);
	if (!ret && stream->owner)
		ret = stream->owner->begin(stream, stream->owner->arg);
	if (!ret)
		ret = make_way(stream);
	if (!ret)
		ret = finish(stream, run(stream));
	if (stream->owner)
		stream->owner->end(stream, stream->owner->arg);
	if (stream->signals >= 0)
		close(stream->signals);
	watching_deinit(&stream->watching);
	link_close(stream->link);
	return ret;
}
