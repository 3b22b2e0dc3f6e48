// SPDX-License-Identifier: GPL-2.0

#include "out/summary.h"

#include <inttypes.h>

#include "base/duration.h"
#include "base/syscall-name.h"
#include "out/line.h"
#include "out/percentiles.h"
#include "out/text.h"

/* What is none of the others; the counters may be a little apart. */
static uint64_t blocked_ns(const struct loop *sums)
{
	uint64_t known = sums->cpu_ns + sums->runqueue_ns + sums->stopped_ns;

	return sums->elapsed_ns > known ? sums->elapsed_ns - known : 0;
}

static struct percentiles times_of(const struct loop *sums)
{
	return (struct percentiles){ sums->hist, sums->units, sums->elapsed_ns, sums->max_ns };
}

static void json_times(struct json *json, const struct summary *summary)
{
	const struct loop *sums = &summary->sums;
	const struct percentiles times = times_of(sums);

	percentiles_json(json, "unit_ns", &times);
	if (!summary->has_account) {
		json_null(json, "time_ns");
		json_null(json, "faults");
		return;
	}
	json_object(json, "time_ns");
	json_u64(json, "cpu", sums->cpu_ns);
	json_u64(json, "runqueue", sums->runqueue_ns);
	json_u64(json, "blocked", blocked_ns(sums));
	json_u64_or_null(json, "block_io", sums->block_io_ns, sums->has_block_io);
	json_u64(json, "stopped", sums->stopped_ns);
	json_u64(json, "elapsed", sums->elapsed_ns);
	json_end(json);
	json_object(json, "faults");
	json_u64(json, "minor", sums->min_faults);
	json_u64(json, "major", sums->maj_faults);
	json_end(json);
}

int summary_json(struct json *json, FILE *file, const struct summary *summary)
{
	const struct loop *sums = &summary->sums;
	const struct frame *wait = &summary->wait;

	line_begin(json, "loop", 0);
	json_string(json, "exe", summary->exe);
	json_string(json, "build_id", summary->build_id);
	json_u64(json, "pid", summary->pids[0]);
	json_u64(json, "threads", sums->threads);
	json_object(json, "wait");
	json_string(json, "syscall", syscall_name(summary->syscall));
	json_string(json, "module", wait->module);
	json_u64(json, "offset", wait->module ? wait->offset : wait->pc);
	json_string(json, "function", wait->function);
	line_put_name(json, wait->module, wait->module ? wait->offset : wait->pc, wait->function);
	json_end(json);
	json_u64(json, "units", sums->units);
	json_u64(json, "duration_ns", summary->duration_ns);
	json_times(json, summary);
	json_string(json, "comm", summary->comm);
	json_u64(json, "loop", summary->number);
	json_u64(json, "late", sums->late);
	json_u64(json, "stopped", sums->stopped);
	json_u64(json, "processes", summary->nr_pids);
	json_array(json, "pids");
	for (uint32_t i = 0; i < summary->nr_pids; i++)
		json_u64(json, NULL, summary->pids[i]);
	json_end(json);
	json_double(json, "rate", summary->duration_ns ? (double)sums->units * NSEC_PER_SEC /
							  (double)summary->duration_ns : 0);
	if (!summary->is_current)
		json_bool(json, "given_up", true);
	json_end(json);
	return json_end_line(json, file);
}

static void text_call(FILE *file, const struct summary *summary)
{
	const char *call = syscall_name(summary->syscall);

	text_safe(file, summary->comm);
	fputs(", waits in ", file);
	if (call)
		fputs(call, file);
	else
		fprintf(file, "system call %" PRIu32, summary->syscall);
	fputs(" called by", file);
}

static void text_counts(FILE *file, const struct summary *summary)
{
	uint32_t threads = summary->sums.threads;

	fprintf(file, "%" PRIu32 " process%s, ", summary->nr_pids,
		summary->nr_pids == 1 ? "" : "es");
	fprintf(file, "%" PRIu32 " thread%s", threads, text_plural(threads));
	if (!threads)
		fputs(" now", file);
}

static void text_shares(FILE *file, const struct summary *summary)
{
	const struct loop *sums = &summary->sums;
	uint64_t whole = summary->has_account ? sums->elapsed_ns : 0;
	char text[TEXT_MAX];

	fprintf(file, "  spent on    CPU %s", text_share(sums->cpu_ns, whole, text));
	fprintf(file, ", run queue %s",
		text_share(sums->runqueue_ns, whole, text));
	fprintf(file, ", blocked %s", text_share(blocked_ns(sums), whole, text));
	fprintf(file, " (block I/O %s)",
		sums->has_block_io ?
			text_share(sums->block_io_ns, whole, text) : "-");
	if (sums->stopped_ns && whole)
		fprintf(file, ", stopped %s", text_share(sums->stopped_ns, whole, text));
	fputc('\n', file);
	if (!summary->has_account)
		return;
	fprintf(file, "  page faults %s minor",
		text_count(sums->min_faults, text));
	fprintf(file, ", %s major\n", text_count(sums->maj_faults, text));
}

void summary_text(FILE *file, const struct summary *summary)
{
	const struct loop *sums = &summary->sums;
	const struct percentiles times = times_of(sums);
	double seconds = (double)summary->duration_ns / NSEC_PER_SEC;
	char text[TEXT_MAX];

	fprintf(file, "%sEvent loop %" PRIu32 "%s: ", text_bold(file),
		summary->number, text_plain(file));
	text_call(file, summary);
	fputs("\n  ", file);
	text_frame(file, &summary->wait);
	fputs("\n  ", file);
	text_counts(file, summary);
	fprintf(file, ", %s unit%s", text_count(sums->units, text),
		text_plural(sums->units));
	if (seconds > 0)
		fprintf(file, " (%.1f/s)", (double)sums->units / seconds);
	if (sums->late)
		fprintf(file, ", %s late", text_count(sums->late, text));
	if (sums->stopped)
		fprintf(file, ", %s late only by being stopped", text_count(sums->stopped, text));
	fputc('\n', file);
	if (!summary->is_current)
		fputs("  (taken for an event loop at first, but it is in mid-unit of another)\n",
		      file);
	percentiles_text(file, "  unit time", &times);
	text_shares(file, summary);
	fputc('\n', file);
}

void summary_idle_text(FILE *file, const struct summary *summary)
{
	fprintf(file, "  Event loop %" PRIu32 ": ", summary->number);
	text_call(file, summary);
	fputs("\n    ", file);
	text_frame(file, &summary->wait);
	fputs("; ", file);
	text_counts(file, summary);
	fputc('\n', file);
}
