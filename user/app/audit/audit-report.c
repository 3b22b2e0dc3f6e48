// SPDX-License-Identifier: GPL-2.0
/*
 * What an audit found, as text or JSON.
 */

#include "app/audit/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "app/audit/short-lives.h"
#include "app/common/command.h"
#include "app/common/stacks.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/log.h"
#include "data/histogram.h"
#include "out/fields.h"
#include "out/line.h"
#include "out/request-report.h"
#include "out/summary.h"
#include "out/text.h"

/* Summaries by number of the loop; entry 0 is unused. */
struct report {
	const struct session *session;
	struct summary *summaries;
	uint32_t **pids; /* parallel to the summaries */
	uint32_t nr;
	uint32_t nr_loops; /* in all summaries */
	struct alert *slowest; /* as many as the session's, like the next one */
	struct hotpath *hotpaths;
};

static int add_pids(struct report *report, uint32_t number, const uint32_t *pids, uint32_t nr)
{
	struct summary *summary = &report->summaries[number];

	if (array_resize(report->pids[number], summary->nr_pids + nr + 1UL))
		return -ENOMEM;
	summary->pids = report->pids[number];
	memcpy(report->pids[number] + summary->nr_pids, pids, nr * sizeof(*pids));
	summary->nr_pids += nr;
	return 0;
}

static const struct loop *sums_of(const struct session *session, const struct image *image,
				  uint32_t loop_id)
{
	for (uint32_t i = 0; i < session->nr_loops; i++)
		if (session->loops[i].image_id == image->id && session->loops[i].id == loop_id)
			return &session->loops[i];
	return NULL;
}

static void add_sums(struct loop *to, const struct loop *from)
{
	/* Without block I/O time of some, that of all is not known. */
	to->has_block_io = from->has_block_io && (to->has_block_io || !to->units);
	to->units += from->units;
	to->late += from->late;
	to->elapsed_ns += from->elapsed_ns;
	to->cpu_ns += from->cpu_ns;
	to->runqueue_ns += from->runqueue_ns;
	to->block_io_ns += from->block_io_ns;
	to->stopped += from->stopped;
	to->stopped_ns += from->stopped_ns;
	to->min_faults += from->min_faults;
	to->maj_faults += from->maj_faults;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	histogram_add(to->hist, from->hist);
}

static int add_loop(struct report *report, const struct image *image, const struct known_loop *loop)
{
	const struct session *session = report->session;
	struct summary *summary = &report->summaries[loop->number];
	const struct loop *sums = sums_of(session, image, loop->id);
	uint32_t threads = loop->threads;
	uint64_t duration_ns;

	summary->is_current |= loop->is_used;
	/* What is in use now describes it best. */
	if (!summary->number || loop->is_used) {
		summary->syscall = loop->syscall;
		summary->comm = loop->comm;
		summary->wait = loop->shown;
	}
	summary->number = loop->number;
	summary->has_account = session->has_account;
	duration_ns = session->end_ns > loop->since_ns ? session->end_ns - loop->since_ns : 0;
	if (duration_ns > summary->duration_ns)
		summary->duration_ns = duration_ns;
	if (sums && sums->units)
		add_sums(&summary->sums, sums);
	/* Threads that have not ended a unit yet are in no sum. */
	if (sums && sums->threads > threads)
		threads = sums->threads;
	summary->sums.threads += threads;
	if (loop->nr_pids)
		return add_pids(report, loop->number, loop->pids, loop->nr_pids);
	return add_pids(report, loop->number, &image->pid, 1);
}

/* Sort and drop duplicates; returns how many are left. */
static uint32_t sort_pids(uint32_t *pids, uint32_t nr)
{
	uint32_t kept = 0;

	if (nr)
		qsort(pids, nr, sizeof(*pids), order_u32);
	for (uint32_t i = 0; i < nr; i++)
		if (!kept || pids[kept - 1] != pids[i])
			pids[kept++] = pids[i];
	return kept;
}

static void fill_alert(const struct report *report, const struct slow_unit *unit,
		       struct alert *alert)
{
	uint32_t number = discovery_number(&report->session->discovery, unit->record.image_id,
					   unit->record.loop_id);

	*alert = (struct alert){
		.record = &unit->record,
		.cgroup = unit->cgroup,
		.loop = number,
		.running_ns = unit->has_ended || unit->is_cut ? 0 : unit->total_ns,
		.is_cut = unit->is_cut,
		.nr_stacks = unit->nr_stacks,
		.stacks = unit->stacks,
	};
	if (number) {
		alert->exe = report->summaries[number].exe;
		alert->build_id = report->summaries[number].build_id;
	}
}

/* By all stacks of it; its last one stands for the time up to when it was last heard of. */
static int weigh(const struct slow_unit *unit, struct hotpath *ret)
{
	struct hotpath_stack *stacks = calloc(unit->nr_stacks + 1u, sizeof(*stacks));
	uint64_t later_ns = unit->has_ended || unit->is_cut ? 0 :
			    unit->total_ns - unit->record.account.elapsed_ns;
	int error;

	if (!stacks)
		return -ENOMEM;
	error = hotpath_init(ret, stacks, stacks_own(unit->stacks, unit->nr_stacks, stacks),
			     unit->record.at_ns + later_ns);
	free(stacks);
	return error;
}

static int fill_slowest(struct report *report)
{
	const struct slowest *slowest = &report->session->slowest;

	for (uint32_t i = 0; i < slowest->nr; i++) {
		fill_alert(report, &slowest->units[i], &report->slowest[i]);
		if (weigh(&slowest->units[i], &report->hotpaths[i]))
			return -ENOMEM;
		report->slowest[i].hotpath = &report->hotpaths[i];
	}
	return 0;
}

static bool has_slow_unit(const struct session *session, const struct image *image,
			  uint32_t loop_id)
{
	for (uint32_t i = 0; i < session->slowest.nr; i++)
		if (session->slowest.units[i].record.image_id == image->id &&
		    session->slowest.units[i].record.loop_id == loop_id)
			return true;
	return false;
}

static int build(struct report *report, struct session *session)
{
	struct discovery *discovery = &session->discovery;

	report->session = session;
	report->nr = discovery->nr_numbers + 1;
	report->summaries = calloc(report->nr, sizeof(*report->summaries));
	report->pids = calloc(report->nr, sizeof(*report->pids));
	report->slowest = calloc(session->slowest.nr + 1, sizeof(*report->slowest));
	report->hotpaths = calloc(session->slowest.nr + 1, sizeof(*report->hotpaths));
	if (!report->summaries || !report->pids || !report->slowest || !report->hotpaths)
		return -ENOMEM;
	for (uint32_t i = 0; i < discovery->nr_images; i++) {
		const struct image *image = &discovery->images[i];
		const struct identity *identity =
			identity_get(&discovery->identities, image->id, image->pid);

		for (uint32_t j = 0; j < image->nr_loops; j++) {
			const struct known_loop *loop = &image->loops[j];
			const struct loop *sums = sums_of(session, image, loop->id);

			if (identity) {
				report->summaries[loop->number].exe = identity->exe;
				report->summaries[loop->number].build_id = identity->build_id;
			}
			/* Taken for a loop, but it did not come around. */
			if (!loop->is_waiting && (!sums || !sums->units) &&
			    !has_slow_unit(session, image, loop->id))
				continue;
			report->nr_loops++;
			if (add_loop(report, image, loop))
				return -ENOMEM;
		}
	}
	for (uint32_t i = 1; i < report->nr; i++)
		report->summaries[i].nr_pids =
			sort_pids(report->pids[i], report->summaries[i].nr_pids);
	return fill_slowest(report);
}

static void report_deinit(struct report *report)
{
	for (uint32_t i = 0; report->pids && i < report->nr; i++)
		free(report->pids[i]);
	free(report->pids);
	for (uint32_t i = 0; report->hotpaths && i < report->session->slowest.nr; i++)
		hotpath_deinit(&report->hotpaths[i]);
	free(report->summaries);
	free(report->slowest);
	free(report->hotpaths);
}

/* What the audit did not see. */
struct lost {
	uint64_t total;
	uint64_t alerts; /* overwritten unread */
	uint64_t suppressed;
	uint64_t untracked;
	uint64_t memory;
	uint64_t torn_stacks;
	uint64_t waits;
};

#define AT(member, name, ...) FIELD(struct lost, member, name, ##__VA_ARGS__)

static const struct field lost_fields[] = {
	AT(total, "lost"),
	AT(alerts, "alerts", .text = "Not seen: %s alert%s, overwritten unread.\n"),
	AT(suppressed, "suppressed",
	   .text = "Not seen: %s alert%s, held back: too many a second, or for the budget.\n"),
	AT(untracked, "untracked",
	   .text = "Not seen: %s processes, threads or units: out of memory.\n"),
	AT(memory, "memory"),
	AT(torn_stacks, "torn_stacks"),
	AT(waits, "waits"),
	{ 0 },
};

static struct lost lost_in(const struct session *session)
{
	const struct stats *end = &session->stats_end, *begin = &session->stats_begin;
	struct lost lost = {
		.alerts = session->lost_alerts,
		.suppressed = session->target.suppressed,
		.untracked = session->target.untracked,
		.memory = end->lost_memory - begin->lost_memory,
		.torn_stacks = end->torn_stacks - begin->torn_stacks,
		.waits = session->discovery.lost,
	};

	lost.total = lost.alerts + lost.suppressed + lost.untracked + lost.memory;
	return lost;
}

static void json_command(struct session *session)
{
	struct json *json = &session->json;
	int status = session->child.status;

	if (session->ended_by != SESSION_COMMAND)
		return;
	line_begin(json, "command", 0);
	if (WIFEXITED(status))
		json_u64(json, "exit", (uint64_t)WEXITSTATUS(status));
	else
		json_u64(json, "signal", (uint64_t)WTERMSIG(status));
	line_end(json, session->lines);
}

static int print_json(struct session *session, const struct report *report)
{
	const struct lost lost = lost_in(session);
	struct json *json = &session->json;

	for (uint32_t i = 1; i < report->nr; i++)
		if (report->summaries[i].nr_pids)
			summary_json(json, session->lines, &report->summaries[i]);
	for (uint32_t i = 0; i < session->slowest.nr; i++)
		alert_json(json, session->lines, &report->slowest[i], "slow");
	if (session->has_requests)
		request_report_json(json, session->lines, &session->requests, session->nr_slowest);
	json_command(session);
	return fields_json_line(json, session->lines, "lost", lost_fields, &lost) ? CMD_FAILED : CMD_OK;
}

static void text_head(const struct session *session)
{
	char duration[DURATION_TEXT_MAX];

	printf("%s", text_bold(stdout));
	text_safe(stdout, session->selector.path);
	printf("%s: watched for %s", text_plain(stdout),
	       duration_format(session->end_ns - session->start_ns, duration));
	if (session->nr_seen)
		printf(", %" PRIu32 " process%s", session->nr_seen,
		       session->nr_seen == 1 ? "" : "es");
	putchar('\n');
	puts("A unit is what a thread does from one wait of its event loop to the next.\n"
	     "The waiting itself is not counted.\n");
}

static void text_slowest(const struct session *session, const struct report *report)
{
	uint64_t threshold_ns = session->threshold_ns ? session->threshold_ns :
							session->auto_threshold_ns;
	char threshold[DURATION_TEXT_MAX];

	duration_format(threshold_ns, threshold);
	if (!session->slowest.nr) {
		printf("No unit took longer than %s.\n", threshold);
		return;
	}
	printf("%sSlowest units%s (stacks are taken beyond %s%s)\n\n", text_bold(stdout),
	       text_plain(stdout), threshold, session->threshold_ns ? "" : ", as units go here");
	for (uint32_t i = 0; i < session->slowest.nr; i++)
		alert_slow_text(stdout, report->slowest, i);
}

static void text_command(const struct session *session)
{
	int status = session->child.status;

	if (session->ended_by != SESSION_COMMAND)
		return;
	if (WIFEXITED(status))
		printf("The command exited with %d.\n", WEXITSTATUS(status));
	else
		printf("The command was ended by signal %d.\n", WTERMSIG(status));
}

static int print_text(const struct session *session, const struct report *report)
{
	const struct lost lost = lost_in(session);
	uint32_t idle = 0;

	text_head(session);
	for (uint32_t i = 1; i < report->nr; i++) {
		const struct summary *summary = &report->summaries[i];

		if (summary->nr_pids && summary->sums.units)
			summary_text(stdout, summary);
	}
	for (uint32_t i = 1; i < report->nr; i++) {
		const struct summary *summary = &report->summaries[i];

		if (!summary->nr_pids || summary->sums.units)
			continue;
		if (!idle++)
			puts("In these event loops no unit ended:");
		summary_idle_text(stdout, summary);
	}
	if (idle)
		putchar('\n');
	request_report_text(stdout, &session->requests, session->nr_slowest,
			    session->end_ns - session->start_ns);
	text_slowest(session, report);
	fields_text(stdout, lost_fields, &lost);
	short_lives_warn(session);
	if (!session->stats_end.is_alive)
		log_warning("the hooks no longer reach the module; the kernel's log (dmesg) says why");
	text_command(session);
	return fflush(stdout) || ferror(stdout) ? CMD_FAILED : CMD_OK;
}

/* There is no event loop to report: print the reason. */
static void explain_nothing(const struct session *session)
{
	const struct discovery *discovery = &session->discovery;
	const char *path = session->selector.path;

	if (!session->nr_seen && !session->selector.command)
		log_error("nothing to report: no process ran %s meanwhile", path);
	else if (session->ended_by == SESSION_GONE || session->ended_by == SESSION_COMMAND)
		log_error("nothing to report: %s ended and waited in no loop before", path);
	else if (discovery_lacks_named(discovery, path, "nothing to report"))
		return;
	else if (discovery->waits)
		log_error("nothing to report: %s made wait calls, but none that came around in a loop; try a longer --duration",
			path);
	else
		log_error("nothing to report: no thread of %s made a wait call; they compute, or sleep in other calls; try a longer --duration",
			path);
}

int report_print(struct session *session)
{
	struct report report = { 0 };
	int ret = CMD_OK;

	if (build(&report, session)) {
		report_deinit(&report);
		return cmd_no_memory();
	}
	if (session->lines)
		ret = print_json(session, &report);
	if (!session->is_json && report.nr_loops && print_text(session, &report))
		ret = CMD_FAILED;
	if (!report.nr_loops) {
		explain_nothing(session);
		ret = CMD_FAILED;
	}
	report_deinit(&report);
	return ret;
}
