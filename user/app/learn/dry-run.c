// SPDX-License-Identifier: GPL-2.0

#include "app/learn/dry-run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "app/common/command.h"
#include "base/duration.h"
#include "base/time.h"
#include "out/text.h"

/* As long as it takes to find loops, and to see some of their units. */
#define WATCH_NS (8 * NSEC_PER_SEC)

static int turn(struct session *session, void *arg)
{
	(void)arg;
	session->is_done = time_now_ns() - session->start_ns >= WATCH_NS;
	return 0;
}

static int watch(struct recording *recording)
{
	struct session *session = &recording->session;
	int ret, error;

	session->turn = turn;
	recording->program.has_windows = recording->is_inline;
	ret = session_begin(session);
	for (uint32_t i = 0; i < session->nr_known && !ret; i++)
		if (program_look(&recording->program, session->processes[i].pid,
				 session->processes[i].image_id) == -ENOMEM)
			ret = cmd_no_memory();
	if (!ret)
		ret = session_run(session);
	if (ret)
		return ret;
	error = session_take_sums(session);
	return error ? cmd_link_failed(session->link, error, "cannot read what was seen") : 0;
}

/* Functions that would have a site in coverage. */
static uint32_t count_sites(struct program *program)
{
	uint32_t nr = 0;

	program_fit(program, PERFGUARD_MAX_SITES);
	for (uint32_t i = 0; i < program->nr_functions; i++)
		nr += !program->files[program->functions[i].file].is_left_out;
	return nr;
}

static void print_windows(const struct program *program)
{
	const struct program_file *file = program_without_windows(program);
	uint32_t nr = 0;

	text_heading(stdout, "inline");
	if (file) {
		printf("none: %s %s\n", file->path, file->code ? "uses the base of gs" : "cannot be read");
		return;
	}
	for (uint32_t i = 0; i < program->nr_functions; i++)
		nr += program->functions[i].window.verdict == WINDOW_SITE_FOUND &&
		      !program->files[program->functions[i].file].is_left_out;
	text_counted(stdout, nr, "function");
	printf(" would be recorded by a jump in structure, the others by a trap\n");
}

static void print_code(struct recording *recording)
{
	struct program *program = &recording->program;

	text_heading(stdout, "code");
	text_counted(stdout, count_sites(program), "function");
	printf(" in ");
	text_counted(stdout, program->nr_files, "file");
	printf(": each gets a probe that its first call takes off\n");
}

static void print_loops(const struct session *session)
{
	uint64_t units = 0, elapsed_ns = 0;
	char mean[DURATION_TEXT_MAX];
	uint32_t loops, threads;

	discovery_count(&session->discovery, &loops, &threads);
	for (uint32_t i = 0; i < session->nr_loops; i++) {
		units += session->loops[i].units;
		elapsed_ns += session->loops[i].elapsed_ns;
	}
	text_heading(stdout, "loops");
	text_counted(stdout, loops, "event loop");
	if (!units) {
		printf("; no unit was seen in %.0f s: it needs a load to learn from\n",
		       (double)WATCH_NS / NSEC_PER_SEC);
		return;
	}
	printf(", %.0f units a second of %s\n", (double)units * NSEC_PER_SEC / WATCH_NS,
	       duration_format(elapsed_ns / units, mean));
}

static void print_time(const struct recording *recording)
{
	char text[RECORDING_OVER][DURATION_TEXT_MAX];

	for (int i = 0; i < RECORDING_OVER; i++)
		duration_format(recording->stage_ns[i], text[i]);
	text_heading(stdout, "time");
	if (recording->workload)
		printf("as long as the workload takes, in each of three stages\n");
	else
		printf("coverage %s, structure %s, timing %s, maybe twice; and some to put "
		       "probes in and to learn\n", text[RECORDING_COVERAGE],
		       text[RECORDING_STRUCTURE], text[RECORDING_TIMING]);
	text_heading(stdout, "slower");
	printf("in structure: ");
	if (recording->slowdown.most > 0)
		printf("by %.0f %% of its CPU time on average, in windows of 0.1 s and more with all "
		       "probes on\n", 100 * recording->slowdown.most);
	else
		printf("as much as a probe in each function that runs makes it\n");
}

int dry_run(struct recording *recording)
{
	struct session *session = &recording->session;
	int ret = watch(recording);

	if (ret)
		return ret;
	printf("%s would be trained: %" PRIu32 " process%s; no probe was put into it\n",
	       session->selector.path, session->nr_processes,
	       session->nr_processes == 1 ? "" : "es");
	print_code(recording);
	if (recording->is_inline)
		print_windows(&recording->program);
	print_loops(session);
	print_time(recording);
	return CMD_OK;
}
