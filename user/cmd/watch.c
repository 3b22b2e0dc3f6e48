// SPDX-License-Identifier: GPL-2.0
/*
 * The multicast message is only a bell: the alerts themselves, with stacks, are
 * asked for by sequence number.  So none is missed when the bell is.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/signals.h"
#include "app/watch/watching.h"
#include "base/background.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "link/link.h"

#define DEFAULT_WINDOW_NS (10 * NSEC_PER_SEC)
#define NO_WINDOW UINT64_MAX /* none was given */

enum {
	/* Records that are read before they are told: each may have 640 KiB. */
	MAX_QUEUED = 64,
};

static const char help[] =
	"usage: pg-collect watch [--json] [--duration TIME] [-n N] [--window TIME]\n"
	"                        [--since SEQ | --all]\n"
	"\n"
	"Print alerts as they come: units beyond their threshold, with where their time\n"
	"went and why, while they run (late) and when they end (ended).\n"
	"\n"
	"  --json           one JSON object a line\n"
	"  --duration TIME  end after this time: 10, 500ms, 2m (default: never)\n"
	"  -n N             end after N late units\n"
	"  --window TIME    fold equal alerts within this time into one, and those of a\n"
	"                   type that is slow as a whole (default: 10 seconds, with\n"
	"                   --since and --all 0: fold nothing)\n"
	"  --since SEQ      begin with the alert of this sequence number\n"
	"  --all            begin with the oldest alert the module still has\n"
	"  --help           print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not possible on this machine,\n"
	"4 the duration ended before N units were late.\n";

struct watch {
	bool is_json;
	bool has_since;
	uint64_t duration_ns; /* 0: without end */
	uint64_t window_ns;
	uint64_t next; /* sequence number */
	bool is_put_off; /* the module could not tell just now */
	uint32_t nr_wanted; /* 0: any number */
	struct link *link;
	struct watching watching;
	struct record queue[MAX_QUEUED];
	uint32_t nr_queued;
};

static int parse_seq(const char *verb, const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno)
		return cmd_usage(verb, "--since '%s' is no sequence number",
				 text);
	return 0;
}

/* As --duration, but none is a length, too. */
static int parse_window(const char *verb, const char *text, uint64_t *ret_ns)
{
	if (!strcmp(text, "0")) {
		*ret_ns = 0;
		return 0;
	}
	return cmd_parse_duration(verb, "--window", text, ret_ns);
}

static int parse(int argc, char **argv, struct watch *watch)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "duration", required_argument, NULL, 'd' },
		{ "window", required_argument, NULL, 'w' },
		{ "since", required_argument, NULL, 's' },
		{ "all", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, ret = 0;

	opterr = 0;
	while (!ret &&
	       (option = getopt_long(argc, argv, ":n:h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			watch->is_json = true;
			break;
		case 'd':
			ret = cmd_parse_duration(argv[0], "--duration", optarg,
						 &watch->duration_ns);
			break;
		case 'n':
			ret = cmd_parse_count(argv[0], "-n", optarg,
					      &watch->nr_wanted);
			break;
		case 'w':
			ret = parse_window(argv[0], optarg, &watch->window_ns);
			break;
		case 's':
			ret = parse_seq(argv[0], optarg, &watch->next);
			watch->has_since = true;
			break;
		case 'a':
			watch->next = 0;
			watch->has_since = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(CMD_OK);
		default:
			return cmd_bad_option(argv, option);
		}
	}
	/* What is read late comes all at once: that says nothing of windows. */
	if (watch->window_ns == NO_WINDOW)
		watch->window_ns = watch->has_since ? 0 : DEFAULT_WINDOW_NS;
	return ret ? ret : cmd_no_argument(argc, argv);
}

static bool is_satisfied(const struct watch *watch)
{
	return watch->nr_wanted && watch->watching.nr_late >= watch->nr_wanted;
}

/* What they need to be told is asked of the link, which reads them just now. */
static int on_record(struct record *record, void *arg)
{
	struct watch *watch = arg;

	if (watch->nr_queued == MAX_QUEUED)
		return -ECANCELED;
	if (record->seq >= watch->next)
		watch->next = record->seq + 1;
	watch->queue[watch->nr_queued++] = *record;
	memset(record, 0, sizeof(*record));
	return 0;
}

static int failed(struct watch *watch, int error, const char *what)
{
	if (ferror(stdout))
		return CMD_FAILED; /* pg-collect.c tells */
	if (error != -ENOMEM)
		return cmd_link_failed(watch->link, error, what);
	log_error("out of memory");
	return CMD_FAILED;
}

static int tell_queued(struct watch *watch)
{
	int ret = 0;

	for (uint32_t i = 0; i < watch->nr_queued; i++) {
		if (!ret && !is_satisfied(watch))
			ret = watching_take(&watch->watching, &watch->queue[i]);
		record_clear(&watch->queue[i]);
	}
	watch->nr_queued = 0;
	return ret;
}

static int print_new(struct watch *watch)
{
	int error, ret;

	do {
		error = link_alerts(watch->link, watch->next, on_record, watch);
		watch->is_put_off = error == -EAGAIN;
		if (watch->is_put_off)
			cmd_put_off(watch->link, &watch->watching.put_off_ns);
		ret = tell_queued(watch);
		if (error && error != -ECANCELED && error != -EAGAIN)
			return failed(watch, error, "cannot read the alerts");
		if (ret)
			return failed(watch, ret, "cannot tell an alert");
	} while (error == -ECANCELED && !is_satisfied(watch));
	ret = watching_tick(&watch->watching);
	return ret ? failed(watch, ret, "cannot ask for the armed profiles") : 0;
}

/* Wait for the bell, a signal or the end; returns what poll() does. */
static int wait_bell(struct watch *watch, struct pollfd fds[2],
		     uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns();
	/* Ask without a bell, too: it may be lost. */
	uint64_t wait_ns = watching_wait_ns(&watch->watching);

	if (watch->duration_ns && now_ns >= end_ns)
		return 0;
	if (watch->is_put_off && wait_ns > NSEC_PER_SEC)
		wait_ns = NSEC_PER_SEC;
	if (watch->duration_ns && end_ns - now_ns < wait_ns)
		wait_ns = end_ns - now_ns;
	poll(fds, 2, (int)((wait_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
	return 1;
}

static int run(struct watch *watch, int signals)
{
	struct pollfd fds[2] = {
		{ .fd = link_wakeup_fd(watch->link), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	uint64_t end_ns = clock_now_ns() + watch->duration_ns;
	int ret, signal;

	for (;;) {
		link_wakeup_clear(watch->link);
		ret = print_new(watch);
		if (ret || is_satisfied(watch))
			return ret;
		if (!wait_bell(watch, fds, end_ns))
			return watch->nr_wanted ? CMD_TIMEOUT : CMD_OK;
		while ((signal = signals_next(signals)) != 0)
			if (signal != SIGCHLD)
				return CMD_OK;
	}
}

static int finish(struct watch *watch, int ret)
{
	int error = ret == CMD_FAILED ? 0 : watching_finish(&watch->watching);

	return error ? failed(watch, error, "cannot tell the last alerts") : ret;
}

static int begin(struct watch *watch)
{
	struct stats stats;
	int error;

	error = link_wakeup_open(watch->link);
	if (error)
		return cmd_link_failed(watch->link, error, "cannot watch");
	error = link_stats(watch->link, &stats);
	if (error)
		return cmd_link_failed(watch->link, error, "cannot watch");
	if (!watch->has_since)
		watch->next = stats.next_alert;
	if (!stats.targets)
		log_progress("nothing is watched now; alerts come when something is");
	if (!stats.is_alive)
		log_warning("the hooks no longer reach the module; set kernel.ftrace_enabled=1 (sysctl)");
	link_stats_clear(&stats);
	return 0;
}

int cmd_watch(int argc, char **argv)
{
	static struct watch watch;
	int ret, signals;

	watch.window_ns = NO_WINDOW;

	ret = parse(argc, argv, &watch);
	if (ret)
		return ret;
	ret = cmd_open_link(&watch.link);
	if (ret)
		return ret;
	signals = signals_open();
	if (watching_init(&watch.watching, watch.link, watch.window_ns, watch.is_json) ||
	    signals < 0) {
		log_error("out of memory");
		ret = CMD_FAILED;
	}
	if (!ret)
		ret = begin(&watch);
	if (!ret) {
		background_enter();
		ret = run(&watch, signals);
		ret = finish(&watch, ret);
	}
	if (signals >= 0)
		close(signals);
	watching_deinit(&watch.watching);
	link_close(watch.link);
	return ret;
}
