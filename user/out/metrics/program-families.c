// SPDX-License-Identifier: GPL-2.0
/* What is known of an armed program as a whole. */

#include "data/histogram.h"
#include "out/metrics/families.h"

static void put_processes(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, NULL, NULL, program->of->processes);
}

static void put_container_processes(struct exposition *text, const struct metrics_program *program)
{
	for (uint32_t i = 0; i < program->of->nr_containers; i++)
		exposition_u64(text, "container", program->of->containers[i].id,
			       program->of->containers[i].processes);
}

static void put_container_units(struct exposition *text, const struct metrics_program *program)
{
	for (uint32_t i = 0; i < program->memory->nr_containers; i++)
		exposition_u64(text, "container", program->memory->containers[i].id,
			       program->memory->containers[i].nr);
}

static void put_armed(struct exposition *text, const struct metrics_program *program)
{
	exposition_ns(text, NULL, NULL, program->of->armed->armed_ns);
}

static void put_stale(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, NULL, NULL, program->of->is_stale);
}

static void put_starving(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, NULL, NULL, program->is_starved);
}

static void put_units(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, NULL, NULL, program->of->armed->units);
}

static void put_novel(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, NULL, NULL, program->of->armed->novel);
}

static void put_untracked(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, NULL, NULL, program->of->untracked);
}

static void put_suppressed(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, "kind", "late", program->of->suppressed);
	if (program->of->requests)
		exposition_u64(text, "kind", "request", program->of->suppressed_requests);
}

static void put_guards(struct exposition *text, const struct metrics_program *program)
{
	const struct armed_profile *armed = program->of->armed;

	exposition_u64(text, "state", "on", armed->nr_guards - armed->nr_shed);
	exposition_u64(text, "state", "shed", armed->nr_shed);
}

static void put_hits(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, NULL, NULL, program->of->hits);
}

static void put_unknown_hits(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, "cause", "context", program->of->armed->unknown_hits);
	exposition_u64(text, "cause", "no_unit", program->of->armed->stray_hits);
}

static void put_cpu(struct exposition *text, const struct metrics_program *program)
{
	exposition_ns(text, NULL, NULL, program->of->armed->cost.cpu);
}

static void put_cost(struct exposition *text, const struct metrics_program *program)
{
	const struct armed_cost *cost = &program->of->armed->cost;

	exposition_ns(text, "part", "guards", cost->guards);
	exposition_ns(text, "part", "boundaries", cost->boundaries);
	exposition_ns(text, "part", "reports", cost->report);
}

static void put_budget(struct exposition *text, const struct metrics_program *program)
{
	if (program->of->armed->prices.budget_ppm)
		exposition_real(text, NULL, NULL, program->of->armed->prices.budget_ppm / 1e6);
}

static void put_memory(struct exposition *text, const struct metrics_program *program)
{
	exposition_u64(text, NULL, NULL, program->of->armed->bytes);
}

static void put_connections(struct exposition *text, const struct metrics_program *program)
{
	if (program->of->requests)
		exposition_u64(text, NULL, NULL, program->of->requests->connections);
}

static void put_requests(struct exposition *text, const struct metrics_program *program)
{
	if (program->of->requests)
		exposition_u64(text, NULL, NULL, program->of->requests->requests);
}

static void put_late_requests(struct exposition *text, const struct metrics_program *program)
{
	if (program->of->requests)
		exposition_u64(text, NULL, NULL, program->of->late_requests);
}

static void put_starved_requests(struct exposition *text, const struct metrics_program *program)
{
	if (program->of->requests)
		exposition_u64(text, NULL, NULL, program->of->starved_requests);
}

static void put_unanswered(struct exposition *text, const struct metrics_program *program)
{
	if (program->of->requests)
		exposition_u64(text, NULL, NULL, program->of->requests->unanswered);
}

static void put_request_parts(struct exposition *text, const struct metrics_program *program)
{
	const struct requests *requests = program->of->requests;

	if (!requests)
		return;
	exposition_ns(text, "part", "queued", requests->queued_ns);
	exposition_ns(text, "part", "working", requests->working_ns);
	exposition_ns(text, "part", "peers", requests->peers_ns);
	exposition_ns(text, "part", "handed_over", requests->handed_ns);
	exposition_ns(text, "part", "timer", requests->timer_ns);
}

static void put_request_runqueue(struct exposition *text, const struct metrics_program *program)
{
	if (program->of->requests)
		exposition_ns(text, NULL, NULL, program->of->requests->runqueue_ns);
}

/* Of times from 16 us to 69 s, at 1, 1.5, 2, 3, 4, 6 ... */
static void put_request_times(struct exposition *text, const struct metrics_program *program)
{
	enum { FIRST = 10 * 16 + 15, LAST = 32 * 16 + 15, STEP = 8 };
	const struct requests *requests = program->of->requests;
	uint64_t nr = 0;

	if (!requests)
		return;
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++) {
		nr += requests->hist[i];
		if (i >= FIRST && i <= LAST && i % STEP == STEP - 1)
			exposition_bucket(text, histogram_bucket_max(i), nr);
	}
	exposition_bucket(text, UINT64_MAX, nr);
	exposition_histogram_end(text, requests->elapsed_ns, nr);
}

const struct metrics_family program_families[] = {
	{ { "perfguard_processes", NULL, "Processes of the program that are guarded.",
	    EXPOSITION_GAUGE }, .program = put_processes },
	{ { "perfguard_container_processes", NULL, "Those of them in each container.",
	    EXPOSITION_GAUGE }, .program = put_container_processes },
	{ { "perfguard_container_units", NULL,
	    "Units that ended in each container, since the first reading.", EXPOSITION_COUNTER },
	  .program = put_container_units },
	{ { "perfguard_armed_timestamp_seconds", "seconds", "When the profile was armed.",
	    EXPOSITION_GAUGE }, .program = put_armed },
	{ { "perfguard_profile_stale", NULL,
	    "Whether the file of the program was replaced: what is started now is not guarded by it.",
	    EXPOSITION_GAUGE }, .program = put_stale },
	{ { "perfguard_profile_memory_bytes", "bytes", "What the module takes for the profile.",
	    EXPOSITION_GAUGE }, .program = put_memory },
	{ { "perfguard_profile_units", NULL, "Units that ended, of a type or of none.",
	    EXPOSITION_COUNTER }, .program = put_units },
	{ { "perfguard_profile_novel_units", NULL, "Units that fit no type.", EXPOSITION_COUNTER },
	  .program = put_novel },
	{ { "perfguard_untracked", NULL,
	    "Processes, threads and units that could not be watched for lack of room.",
	    EXPOSITION_COUNTER }, .program = put_untracked },
	{ { "perfguard_alerts_suppressed", NULL,
	    "What was late and not reported, because of the rate limit or the budget.",
	    EXPOSITION_COUNTER }, .program = put_suppressed },
	{ { "perfguard_starving", NULL, "Whether many units wait for a CPU.", EXPOSITION_GAUGE },
	  .program = put_starving },
	{ { "perfguard_guards", NULL, "Guards; those that cost too much are shed.",
	    EXPOSITION_GAUGE }, .program = put_guards },
	{ { "perfguard_guard_hits", NULL, "Hits of guards.", EXPOSITION_COUNTER },
	  .program = put_hits },
	{ { "perfguard_guard_hits_unknown", NULL,
	    "Hits in a calling context that the profile does not know, or in no unit.",
	    EXPOSITION_COUNTER }, .program = put_unknown_hits },
	{ { "perfguard_cpu_seconds", "seconds", "CPU time of the program since it was armed.",
	    EXPOSITION_COUNTER }, .program = put_cpu },
	{ { "perfguard_cost_seconds", "seconds", "What guarding took of that.", EXPOSITION_COUNTER },
	  .program = put_cost },
	{ { "perfguard_budget_ratio", "ratio", "What guarding may take of the CPU time.",
	    EXPOSITION_GAUGE }, .program = put_budget },
	{ { "perfguard_connections", NULL, "Connections of clients.", EXPOSITION_GAUGE },
	  .program = put_connections },
	{ { "perfguard_requests", NULL, "Requests that were answered.", EXPOSITION_COUNTER },
	  .program = put_requests },
	{ { "perfguard_requests_late", NULL, "Requests that took longer than their limit.",
	    EXPOSITION_COUNTER }, .program = put_late_requests },
	{ { "perfguard_requests_starved", NULL,
	    "Requests that would be late if their time in the run queue were their own.",
	    EXPOSITION_COUNTER }, .program = put_starved_requests },
	{ { "perfguard_requests_unanswered", NULL, "Requests that ended without an answer.",
	    EXPOSITION_COUNTER }, .program = put_unanswered },
	{ { "perfguard_request_seconds", "seconds", "What requests waited for, by part.",
	    EXPOSITION_COUNTER }, .program = put_request_parts },
	{ { "perfguard_request_runqueue_seconds", "seconds",
	    "What requests waited for a CPU, in any part but peers.", EXPOSITION_COUNTER },
	  .program = put_request_runqueue },
	{ { "perfguard_request_duration_seconds", "seconds", "How long requests were.",
	    EXPOSITION_HISTOGRAM }, .program = put_request_times },
	{ .family.name = NULL },
};
