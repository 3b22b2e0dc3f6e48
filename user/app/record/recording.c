// SPDX-License-Identifier: GPL-2.0

#include "app/record/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "app/common/command.h"
#include "app/common/holder.h"
#include "app/record/clients.h"
#include "app/record/recording-tables.h"
#include "app/record/structure-sites.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/time.h"
#include "link/stream-reader.h"
#include "out/text.h"

enum {
	BATCH = 16384, /* events read at once */
	MAX_READS = 1024, /* in a row; a full ring takes fewer */
};

#define LOOK_NS (500 * NSEC_PER_MSEC)
#define PROGRESS_NS (3 * NSEC_PER_SEC / 2)

#define DEFAULT_STAGE_NS (20 * NSEC_PER_SEC)
/* 32 bytes each, and as much again while they are sorted. */
#define DEFAULT_MAX_EVENTS (UINT64_C(12) << 20)

void recording_init(struct recording *recording)
{
	*recording = (struct recording){
		.session = { .signals = -1, .turn_fd = -1, .threshold_ns = LINK_NEVER_LATE_NS },
		.max_events = DEFAULT_MAX_EVENTS,
	};
	recording->session.selector.fd = -1;
	for (uint32_t i = 0; i < RECORDING_OVER; i++)
		recording->stage_ns[i] = DEFAULT_STAGE_NS;
}

static const char *stage_name(enum recording_stage stage)
{
	static const char *const names[] = { "coverage", "structure", "timing", "end" };

	return names[stage];
}

static int report_disarmed(const struct recording *recording)
{
	log_error("ended by 'pg-collect disarm' in the stage of %s; nothing is learnt of it",
		  stage_name(recording->stage));
	return CMD_FAILED;
}

int recording_failed(struct recording *recording, int error, const char *what)
{
	struct session *session = &recording->session;
	bool is_there;

	if (error == -ENOENT && !session_take_target(session, &is_there) && !is_there)
		return report_disarmed(recording);
	return cmd_failed(session->link, error, what);
}

static int look_at_processes(struct recording *recording)
{
	struct session *session = &recording->session;

	int error = 0;

	long_step_begin("reading the program and its libraries");
	for (uint32_t i = 0; i < session->nr_known && (!error || error == -ESRCH); i++) {
		const struct process *process = &session->processes[i];

		error = program_look(&recording->program, process->pid, process->image_id);
	}
	long_step_end();
	if (error && error != -ESRCH)
		return recording_failed(recording, error, "cannot read the program");
	recording->look_ns = time_now_ns();
	return 0;
}

/* Make room for what is known of functions that were listed since. */
static int know_functions(struct recording *recording)
{
	uint32_t nr = recording->program.nr_functions, known = recording->nr_known;

	if (known == nr)
		return 0;
	if (array_resize(recording->covered, nr))
		return cmd_no_memory();
	memset(recording->covered + known, 0, (nr - known) * sizeof(*recording->covered));
	recording->nr_known = nr;
	return 0;
}

/* One-shot sites for the functions that have none yet in this stage. */
static int arm_coverage(struct recording *recording)
{
	struct program *program = &recording->program;
	uint32_t nr = program->nr_functions, nr_sites = 0;
	struct recording_site *sites;
	int ret;

	if (recording->nr_armed == nr)
		return 0;
	ret = know_functions(recording);
	if (ret)
		return ret;
	program_fit(program, PERFGUARD_MAX_SITES);
	sites = calloc(nr - recording->nr_armed, sizeof(*sites));
	if (!sites)
		return cmd_no_memory();
	for (uint32_t i = recording->nr_armed; i < nr; i++)
		if (!recording->covered[i] && !program->files[program->functions[i].file].is_left_out)
			sites[nr_sites++] = (struct recording_site){ .function = i, .id = i };
	recording->nr_armed = nr;
	ret = recording_arm(recording, sites, nr_sites, PERFGUARD_SITE_FLAGS_ONE_SHOT);
	free(sites);
	/* Reading files and arming them can take long; the stage begins now. */
	recording->begin_ns = time_now_ns();
	return ret;
}

int recording_disarm(struct recording *recording)
{
	struct session *session = &recording->session;
	int error;

	recording->disarmed_ns = time_now_ns();
	long_step_begin("taking the sites off");
	error = link_sites_del(session->link, session->target_id);
	long_step_end();
	return error ? recording_failed(recording, error, "cannot take the sites off") : 0;
}

/* Coverage: a function runs.  The others' events are not of interest yet. */
static void take_coverage(struct recording *recording, const struct perfguard_event *events,
			  uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t function = trace_number(&events[i]);

		if (trace_kind(&events[i]) != PERFGUARD_EVENT_KIND_HIT ||
		    function >= recording->nr_armed || recording->covered[function])
			continue;
		recording->covered[function] = true;
		recording->nr_covered++;
	}
}

/*
 * A thread sends who it is once, and later stages want to know, too.
 */
static int keep_start(struct recording *recording, const struct perfguard_event *event)
{
	bool starts = trace_kind(event) == PERFGUARD_EVENT_KIND_START;
	uint32_t i = 0;

	while (i < recording->nr_starts && recording->starts[i].tid != event->tid)
		i++;
	if (!starts) {
		if (i < recording->nr_starts)
			recording->starts[i] = recording->starts[--recording->nr_starts];
		return 0;
	}
	if (array_grow(recording->starts, i, recording->max_starts))
		return cmd_no_memory();
	recording->starts[i] = *event;
	recording->nr_starts += i == recording->nr_starts;
	return 0;
}

static int keep_starts(struct recording *recording, const struct perfguard_event *events,
		       uint32_t nr)
{
	int ret = 0;

	for (uint32_t i = 0; i < nr && !ret; i++)
		if (trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_START ||
		    trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_END)
			ret = keep_start(recording, &events[i]);
	return ret;
}

/* While sites come or go, one after the other, call trees have holes. */
static bool is_whole(const struct recording *recording, const struct perfguard_event *event)
{
	if (trace_kind(event) == PERFGUARD_EVENT_KIND_START)
		return true;
	return event->time_ns >= recording->armed_ns &&
	       (!recording->disarmed_ns || event->time_ns < recording->disarmed_ns);
}

static int take_events(struct recording *recording, struct perfguard_event *events, uint32_t nr)
{
	struct trace *trace = &recording->trace;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (is_whole(recording, &events[i]))
			events[kept++] = events[i];
	nr = kept;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t number = trace_number(&events[i]);

		if (trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_LOST)
			trace->lost += events[i].value;
		if (recording->hits && number < trace->nr_functions &&
		    trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_HIT)
			recording->hits[number]++;
	}
	if (trace->nr_events + nr > recording->max_events) {
		recording->is_full = true;
		return 0;
	}
	return trace_add(trace, events, nr) ? cmd_no_memory() : 0;
}

int recording_read(struct recording *recording)
{
	static struct perfguard_event events[BATCH];
	int nr, ret = 0;

	/* As much as is there, but not for ever. */
	for (int turn = 0; turn < MAX_READS && !ret; turn++) {
		nr = stream_read(recording->stream, events, BATCH);
		if (nr < 0) {
			log_error("cannot read the training stream: %s",
				  stream_error(recording->stream));
			return CMD_FAILED;
		}
		ret = keep_starts(recording, events, (uint32_t)nr);
		structure_sites_count(recording, events, (uint32_t)nr);
		if (!ret && keeping_up_count(&recording->keeping_up, events, (uint32_t)nr))
			ret = cmd_no_memory();
		if (recording->stage == RECORDING_COVERAGE)
			take_coverage(recording, events, (uint32_t)nr);
		else if (!ret)
			ret = take_events(recording, events, (uint32_t)nr);
		if (nr < BATCH / 2)
			break;
	}
	return ret;
}

/*
 * Read what the last stage left behind.  The target goes on sending, so this is
 * over with the first read that does not take all it can.
 */
int recording_drop(struct recording *recording)
{
	static struct perfguard_event events[BATCH];
	int nr = BATCH, ret = 0;

	for (int turn = 0; turn < MAX_READS && nr >= BATCH / 2 && !ret; turn++) {
		nr = stream_read(recording->stream, events, BATCH);
		if (nr <= 0)
			break;
		ret = keep_starts(recording, events, (uint32_t)nr);
		structure_sites_count(recording, events, (uint32_t)nr);
	}
	return ret;
}

static int start_load(struct recording *recording)
{
	char *argv[] = { "sh", "-c", (char *)recording->workload, NULL };
	int error;

	if (!recording->workload)
		return 0;
	recording->load = (struct child){ 0 };
	error = child_fork(&recording->load, "/bin/sh", argv, true);
	if (!error)
		error = child_go(&recording->load);
	if (!error)
		return 0;
	log_error("cannot run the workload: %s", strerror(-error));
	return CMD_FAILED;
}

static int begin_stage(struct recording *recording, enum recording_stage stage)
{
	recording->stage = stage;
	recording->begin_ns = time_now_ns();
	recording->session.is_done = false;
	recording->is_full = false;
	keeping_up_begin(&recording->keeping_up, stage != RECORDING_COVERAGE);
	holder_note(recording->session.holder, recording->session.verb, stage_name(stage));
	return start_load(recording);
}

int recording_begin_again(struct recording *recording)
{
	/* What the load did first is to be seen, too. */
	child_stop(&recording->load);
	return begin_stage(recording, recording->stage);
}

static bool is_stage_over(struct recording *recording)
{
	uint64_t now_ns = time_now_ns();

	if (recording->is_full)
		return true;
	if (recording->workload)
		return child_has_ended(&recording->load);
	return now_ns - recording->begin_ns >= recording->stage_ns[recording->stage];
}

/* ", 12 s left"; nothing where the workload decides. */
static void describe_left(const struct recording *recording, char *ret, size_t size)
{
	uint64_t since_ns = time_now_ns() - recording->begin_ns;
	uint64_t stage_ns = recording->stage_ns[recording->stage];

	ret[0] = '\0';
	if (!recording->workload && since_ns < stage_ns)
		snprintf(ret, size, ", %" PRIu64 " s left",
			 (stage_ns - since_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
}

static void report_progress(struct recording *recording)
{
	uint64_t now_ns = time_now_ns();
	char left[TEXT_MAX], windows[STRUCTURE_SITES_TEXT_MAX];
	uint32_t loops, threads;

	if (now_ns - recording->progress_ns < PROGRESS_NS)
		return;
	recording->progress_ns = now_ns;
	describe_left(recording, left, sizeof(left));
	if (recording->stage != RECORDING_COVERAGE) {
		structure_sites_describe(recording, windows);
		log_progress("%s: %zu events%s%s", stage_name(recording->stage),
			     recording->trace.nr_events, windows, left);
		return;
	}
	discovery_count(&recording->session.discovery, &loops, &threads);
	log_progress("coverage: %" PRIu32 " of %" PRIu32 " functions run, %" PRIu32
		     " event loop%s%s",
		     recording->nr_covered, recording->nr_armed, loops, text_plural(loops), left);
}

/* A workload that waits for its answers does not queue up; without a limit all is allowed. */
static bool is_judged(const struct recording *recording)
{
	return recording->stage <= RECORDING_STRUCTURE && !recording->workload &&
	       recording->slowdown.most > 0;
}

/* End it where the program falls behind its load.  Returns 0 or CMD_FAILED. */
static int look_at_load(struct recording *recording)
{
	const struct keeping_thread *thread = NULL;
	char behind[DURATION_TEXT_MAX];

	if (is_judged(recording))
		thread = keeping_up_look(&recording->keeping_up, time_now_ns(), keeping_up_busy_ns);
	if (!thread)
		return 0;
	log_error("%s falls behind its load while its structure is recorded: thread %" PRIu32
		  " had nothing to spare for %s, with %.0f wait calls a second; before, it had %.0f %% of its time, with %.0f.  Nothing is learnt",
		  recording->session.selector.path, thread->tid,
		  duration_format(thread->behind_ns, behind), thread->rate,
		  100 * keeping_up_usual_idle(thread), keeping_up_usual_rate(thread));
	log_error("train when there is less load, or for longer and more slowly (--duration, --max-slowdown %.0f), or on some of its processes (--canary N)",
		  50 * recording->slowdown.most);
	return CMD_FAILED;
}

static int turn(struct session *session, void *arg)
{
	struct recording *recording = arg;
	int ret = recording_read(recording);

	if (!ret && time_now_ns() - recording->look_ns >= LOOK_NS) {
		ret = look_at_processes(recording);
		if (!ret && recording->stage == RECORDING_COVERAGE)
			ret = arm_coverage(recording);
	}
	if (!ret && recording->stage == RECORDING_STRUCTURE)
		ret = structure_sites_turn(recording);
	if (!ret)
		ret = look_at_load(recording);
	if (ret)
		return ret;
	report_progress(recording);
	session->is_done = is_stage_over(recording);
	return 0;
}

static int open_stream(struct recording *recording)
{
	int error = stream_open(&recording->stream);

	if (!error) {
		recording->session.turn_fd = stream_fd(recording->stream);
		return 0;
	}
	log_error("cannot record: %s", stream_error(recording->stream));
	return cmd_exit_of(error);
}

/* A load that failed was not the one that is to be learnt. */
static int judge_load(const struct recording *recording)
{
	int status = recording->load.status;
	char how[48];

	if (!recording->workload || !recording->load.pid || !recording->load.has_ended || !status)
		return 0;
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "ended by signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof(how), "exit status %d", WEXITSTATUS(status));
	if (recording->is_load_loose) {
		log_warning("the workload failed in the stage of %s (%s)",
			    stage_name(recording->stage), how);
		return 0;
	}
	log_error("the workload failed in the stage of %s (%s), so nothing is learnt of it; with --workload-may-fail it is",
		  stage_name(recording->stage), how);
	return CMD_FAILED;
}

/* Run the session until the stage is over, whatever else might end it. */
static int run_stage(struct recording *recording)
{
	struct session *session = &recording->session;
	int ret = session_run(session);

	if (ret)
		return ret;
	switch (session->ended_by) {
	case SESSION_DONE:
		break;
	case SESSION_SIGNAL:
		log_error("interrupted in the stage of %s", stage_name(recording->stage));
		return CMD_FAILED;
	case SESSION_DISARMED:
		return report_disarmed(recording);
	default:
		log_error("the program ended in the stage of %s",
			  stage_name(recording->stage));
		return CMD_FAILED;
	}
	ret = judge_load(recording);
	if (ret)
		return ret;
	if (recording->is_full)
		log_warning("%s ended early: %" PRIu64 " events are enough",
			    stage_name(recording->stage), recording->max_events);
	child_stop(&recording->load);
	recording->load.pid = 0;
	return 0;
}

/* A whole stage, from its load to its sites being off again. */
static int record_stage(struct recording *recording, enum recording_stage stage)
{
	int ret = begin_stage(recording, stage);

	if (!ret)
		ret = run_stage(recording);
	if (ret)
		return ret;
	switch (stage) {
	case RECORDING_STRUCTURE:
		return structure_sites_end(recording);
	case RECORDING_TIMING:
		return recording_disarm_guards(recording);
	default:
		return recording_disarm(recording);
	}
}

static int cover(struct recording *recording)
{
	int ret = clients_follow(recording);

	if (!ret)
		ret = record_stage(recording, RECORDING_COVERAGE);
	if (!ret)
		ret = recording_drop(recording);
	if (!ret)
		ret = clients_judge(recording);
	if (ret || recording->nr_covered)
		return ret;
	log_error("none of the %" PRIu32 " functions that are known of %s and its libraries ran: there is no load on it, or most of its code has no unwind table",
		  recording->nr_armed, recording->session.selector.path);
	return CMD_FAILED;
}

int recording_begin(struct recording *recording)
{
	struct session *session = &recording->session;
	int ret;

	session->target_flags = PERFGUARD_TARGET_FLAGS_RECORD;
	session->turn = turn;
	session->turn_arg = recording;
	recording->program.has_windows = recording->is_inline;
	ret = open_stream(recording);
	if (ret)
		return ret;
	long_step_begin("hooking the calls by which the program may wait");
	ret = session_begin(session);
	long_step_end();
	if (!ret)
		ret = look_at_processes(recording);
	return ret;
}

void recording_report_lost(const struct recording *recording)
{
	if (recording->trace.lost)
		log_warning("%" PRIu64 " events were lost; what they were part of is left out",
			    recording->trace.lost);
}

static int describe(struct recording *recording)
{
	int ret;

	long_step_begin("putting what was recorded in order");
	ret = recording_describe(recording);
	long_step_end();
	return ret;
}

int recording_structure(struct recording *recording)
{
	int error = recording_set_loops(recording, false);
	int ret = error ? recording_failed(recording, error, "cannot set the event loops") :
			  recording_drop(recording);

	/* What did not run before may run now. */
	recording->nr_armed = 0;
	if (!ret)
		ret = arm_coverage(recording);
	if (!ret)
		ret = cover(recording);
	if (!ret && discovery_lacks_named(&recording->session.discovery,
					  recording->session.selector.path, "nothing to learn from"))
		ret = CMD_FAILED;
	if (!ret)
		ret = structure_sites_begin(recording);
	if (!ret)
		ret = record_stage(recording, RECORDING_STRUCTURE);
	if (!ret)
		ret = recording_read(recording);
	if (!ret)
		ret = recording_report_inline(recording);
	return ret ? ret : describe(recording);
}

int recording_timing(struct recording *recording, const struct samples *samples,
		     const struct model *model)
{
	int ret = recording_drop(recording);

	if (!ret && !recording->program.nr_images) {
		log_error("no process runs %s; timing wants one",
			  recording->session.selector.path);
		return CMD_FAILED;
	}
	if (!ret)
		ret = recording_arm_guards(recording, samples, model);
	if (!ret)
		ret = record_stage(recording, RECORDING_TIMING);
	if (!ret)
		ret = recording_read(recording);
	long_step_begin("putting what was recorded in order");
	if (!ret && trace_sort(&recording->trace))
		ret = cmd_no_memory();
	long_step_end();
	return ret;
}

void recording_deinit(struct recording *recording)
{
	child_stop(&recording->load);
	/* The link first: with the target go its sites. */
	session_deinit(&recording->session);
	if (recording->stream)
		stream_close(recording->stream);
	program_deinit(&recording->program);
	slowdown_deinit(&recording->slowdown);
	keeping_up_deinit(&recording->keeping_up);
	trace_deinit(&recording->trace);
	free(recording->covered);
	free(recording->source);
	free(recording->starts);
	free(recording->hits);
}
