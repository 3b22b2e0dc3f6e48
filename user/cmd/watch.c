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
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "binary/unwind.h"
#include "cmd.h"
#include "identity.h"
#include "link/link.h"
#include "out/alert.h"
#include "signals.h"
#include "stacks.h"

static const char help[] =
	"usage: pg-collect watch [--json] [--duration TIME] [-n N] [--since SEQ | --all]\n"
	"\n"
	"Print alerts as they come: units beyond their threshold, with where their time\n"
	"went and their stacks, while they run (late) and when they end (ended).\n"
	"\n"
	"  --json           one JSON object a line\n"
	"  --duration TIME  end after this time: 10, 500ms, 2m (default: never)\n"
	"  -n N             end after N alerts\n"
	"  --since SEQ      begin with the alert of this sequence number\n"
	"  --all            begin with the oldest alert the module still has\n"
	"  --help           print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not possible on this machine,\n"
	"4 the duration ended before N alerts came.\n";

struct watch {
	bool is_json;
	bool has_since;
	uint64_t duration_ns; /* 0: without end */
	uint64_t next; /* sequence number */
	uint32_t nr_wanted; /* 0: any number */
	uint32_t nr_seen;
	struct link *link;
	struct unwinder *unwinder;
	struct identities identities;
	struct json json;
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

static int parse(int argc, char **argv, struct watch *watch)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "duration", required_argument, NULL, 'd' },
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
	return ret ? ret : cmd_no_argument(argc, argv);
}

static bool is_satisfied(const struct watch *watch)
{
	return watch->nr_wanted && watch->nr_seen >= watch->nr_wanted;
}

static int print_alert(struct watch *watch, const struct record *record)
{
	const struct identity *identity;
	struct alert alert = { .record = record };
	char *cgroup = NULL;
	int ret;

	if (record->kind != PERFGUARD_RECORD_KIND_LOST) {
		identities_trim(&watch->identities);
		identity = identity_get(&watch->identities, record->image_id,
					record->pid);
		if (!identity)
			return -ENOMEM;
		alert.exe = identity->exe;
		alert.build_id = identity->build_id;
		alert.loop = record->loop_id;
		cgroup = identity_cgroup(record->pid);
		alert.cgroup = cgroup;
	}
	ret = stacks_unwind(watch->unwinder, record, &alert.stacks,
			    &alert.nr_stacks);
	if (ret) {
		free(cgroup);
		return ret;
	}
	if (watch->is_json) {
		ret = alert_json(&watch->json, stdout, &alert,
				 alert_kind_name(record->kind));
	} else {
		alert_text(stdout, &alert);
		ret = fflush(stdout) ? -EIO : 0;
	}
	stacks_free(alert.stacks, alert.nr_stacks);
	free(cgroup);
	return ret;
}

static int on_record(struct record *record, void *arg)
{
	struct watch *watch = arg;
	int ret;

	if (is_satisfied(watch))
		return 0;
	ret = print_alert(watch, record);
	if (record->seq >= watch->next)
		watch->next = record->seq + 1;
	watch->nr_seen += record->kind != PERFGUARD_RECORD_KIND_LOST;
	return ret;
}

static int print_new(struct watch *watch)
{
	int error = link_alerts(watch->link, watch->next, on_record, watch);

	if (error && ferror(stdout))
		return CMD_FAILED; /* pg-collect.c tells */
	if (error)
		return cmd_link_failed(watch->link, error,
				       "cannot read the alerts");
	return 0;
}

/* Wait for the bell, a signal or the end; returns what poll() does. */
static int wait_bell(struct watch *watch, struct pollfd fds[2],
		     uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns();
	/* Ask once a second without a bell, too: it may be lost. */
	uint64_t wait_ns = NSEC_PER_SEC;

	if (watch->duration_ns && now_ns >= end_ns)
		return 0;
	if (watch->duration_ns && end_ns - now_ns < wait_ns)
		wait_ns = end_ns - now_ns;
	poll(fds, 2, (int)((wait_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
	return 1;
}

static int run(struct watch *watch, int signals)
{
	struct pollfd fds[2] = {
		{ .fd = link_bell_fd(watch->link), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	uint64_t end_ns = clock_now_ns() + watch->duration_ns;
	int ret, signal;

	for (;;) {
		link_bell_quiet(watch->link);
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

static int begin(struct watch *watch)
{
	struct stats stats;
	int error;

	error = link_bell_open(watch->link);
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
	struct watch watch = { 0 };
	int ret, signals;

	ret = parse(argc, argv, &watch);
	if (ret)
		return ret;
	ret = cmd_open_link(&watch.link);
	if (ret)
		return ret;
	signals = signals_open();
	watch.unwinder = unwinder_create();
	if (signals < 0 || !watch.unwinder) {
		log_error("out of memory");
		ret = CMD_FAILED;
	}
	if (!ret)
		ret = begin(&watch);
	if (!ret)
		ret = run(&watch, signals);
	if (signals >= 0)
		close(signals);
	json_deinit(&watch.json);
	identities_deinit(&watch.identities);
	if (watch.unwinder)
		unwinder_destroy(watch.unwinder);
	link_close(watch.link);
	return ret;
}
