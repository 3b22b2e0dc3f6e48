// SPDX-License-Identifier: GPL-2.0

#include "app/watch/status-query.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"
#include "out/json.h"

static void json_targets(struct json *json, const struct status *status)
{
	for (uint32_t i = 0; i < status->nr_targets; i++) {
		const struct target *target = &status->targets[i];

		json_object(json, NULL);
		json_string(json, "kind", "target");
		json_u64(json, "id", target->id);
		json_string(json, "exe", target->path);
		if (target->pid)
			json_u64(json, "pid", target->pid);
		json_array(json, "flags");
		for (uint32_t j = 0; j < status_nr_flags; j++)
			if (target->flags & status_flags[j].flag)
				json_string(json, NULL, status_flags[j].name);
		json_end(json);
		json_u64(json, "threshold_ns", target->threshold_ns);
		json_u64(json, "processes", target->processes);
		json_u64(json, "threads", target->threads);
		json_u64(json, "units", target->units);
		json_u64(json, "late", target->late);
		json_u64(json, "waits", target->waits);
		json_u64(json, "suppressed", target->suppressed);
		json_u64(json, "untracked", target->untracked);
		json_end(json);
		json_end_line(json, stdout);
	}
}

static void json_processes(struct json *json, const struct status *status)
{
	for (uint32_t i = 0; i < status->nr_processes; i++) {
		const struct process *process = &status->processes[i];

		json_object(json, NULL);
		json_string(json, "kind", "process");
		json_u64(json, "pid", process->pid);
		json_string(json, "comm", process->comm);
		json_u64(json, "target", process->target_id);
		json_u64(json, "image", process->image_id);
		json_end(json);
		json_end_line(json, stdout);
	}
}

/* A number of 64 bits does not survive every reader of JSON. */
static void put_hash(struct json *json, uint64_t hash)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	json_string(json, "hash", text);
}

/* What the profile's file adds; null where it is not there. */
static void put_function(struct json *json, const struct status_profile *profile,
			 const struct armed_guard *guard)
{
	uint32_t function = status_function(profile, guard);
	const struct samples_object *object;

	if (function == SAMPLES_NONE) {
		json_null(json, "module");
		json_null(json, "build_id");
		json_null(json, "function");
		json_null(json, "plan");
		return;
	}
	object = &profile->samples.objects[profile->samples.functions[function].object];
	json_string(json, "module", object->path);
	json_string(json, "build_id", object->build_id[0] ? object->build_id : NULL);
	json_string(json, "function", profile->samples.functions[function].name);
	json_real(json, "plan", status_plan(profile, guard->index));
}

static void json_guard(struct json *json, const struct status_profile *profile,
		       const struct armed_guard *guard)
{
	static const char *const ways[] = { NULL, "kernel", "module", "stepped" };

	json_object(json, NULL);
	json_string(json, "kind", "guard");
	json_u64(json, "profile", profile->armed->id);
	json_u64(json, "index", guard->index);
	json_u64(json, "object", guard->object);
	json_u64(json, "offset", guard->offset);
	put_function(json, profile, guard);
	json_string(json, "state",
		    guard->state == PERFGUARD_GUARD_STATE_SHED ? "shed" : "active");
	json_string(json, "way",
		    guard->step_mode < sizeof(ways) / sizeof(ways[0]) ? ways[guard->step_mode] : NULL);
	json_u64(json, "hits", guard->hits);
	json_u64(json, "stepped", guard->stepped);
	json_u64(json, "sheds", guard->sheds);
	json_real(json, "share", guard->share_ppm / 1e6);
	json_end(json);
	json_end_line(json, stdout);
}

static void json_type(struct json *json, const struct status_profile *profile,
		      const struct armed_type *type)
{
	json_object(json, NULL);
	json_string(json, "kind", "type");
	json_u64(json, "profile", profile->armed->id);
	json_u64(json, "loop", status_loop(profile, type->loop_id));
	json_u64(json, "loop_id", type->loop_id);
	json_u64(json, "type", type->id);
	if (type->threshold_ns)
		json_u64(json, "threshold_ns", type->threshold_ns);
	else
		json_null(json, "threshold_ns");
	json_u64(json, "units", type->units);
	json_u64(json, "late", type->late);
	json_u64(json, "novel", type->novel);
	json_u64(json, "elapsed_ns", type->elapsed_ns);
	json_object(json, "time_ns");
	json_u64(json, "cpu", type->cpu_ns);
	json_u64(json, "runqueue", type->runqueue_ns);
	json_u64(json, "block_io", type->block_io_ns);
	json_end(json);
	json_object(json, "faults");
	json_u64(json, "minor", type->min_faults);
	json_u64(json, "major", type->maj_faults);
	json_end(json);
	json_u64(json, "late_elapsed_ns", type->late_elapsed_ns);
	json_end(json);
	json_end_line(json, stdout);
}

static void put_cost(struct json *json, const char *name, const struct armed_cost *cost)
{
	json_object(json, name);
	json_u64(json, "cpu", cost->cpu);
	json_u64(json, "guards", cost->guards);
	json_u64(json, "boundaries", cost->boundaries);
	json_u64(json, "telling", cost->report);
	json_end(json);
}

/* What guarding may take, and takes. */
static void put_spending(struct json *json, const struct armed_profile *armed)
{
	const struct armed_prices *prices = &armed->prices;

	if (!prices->budget_ppm) {
		json_null(json, "budget");
		return;
	}
	json_real(json, "budget", prices->budget_ppm / 1e6);
	json_object(json, "price_ns");
	json_u64(json, "kernel_hit", prices->kernel_hit_ns);
	json_u64(json, "module_hit", prices->module_hit_ns);
	json_u64(json, "stepped_hit", prices->stepped_hit_ns);
	json_u64(json, "call", prices->call_ns);
	json_u64(json, "unit", prices->unit_ns);
	json_end(json);
	put_cost(json, "cost_ns", &armed->cost);
	put_cost(json, "last_cost_ns", &armed->last);
	json_u64(json, "check_ns", armed->check_ns);
}

static void json_profile(struct json *json, const struct status_profile *profile)
{
	const struct armed_profile *armed = profile->armed;
	double expected = status_expected(profile);
	char time[CLOCK_TEXT_MAX];

	json_object(json, NULL);
	json_string(json, "kind", "profile");
	json_u64(json, "id", armed->id);
	json_string(json, "name", armed->name);
	put_hash(json, armed->hash);
	json_u64(json, "target", armed->target_id);
	json_string(json, "infer",
		    armed->flags & PERFGUARD_PROFILE_FLAGS_PAPER ? "paper" : "weights");
	json_string(json, "armed", clock_format(armed->armed_ns, time));
	json_u64(json, "processes", armed->processes);
	json_u64(json, "guards", armed->nr_guards);
	json_u64(json, "shed", armed->nr_shed);
	json_u64(json, "types", armed->nr_types);
	json_u64(json, "contexts", armed->nr_contexts);
	json_u64(json, "units", armed->units);
	json_u64(json, "novel", armed->novel);
	if (expected >= 0)
		json_real(json, "novel_expected", expected);
	else
		json_null(json, "novel_expected");
	json_bool(json, "is_new_load", status_has_news(profile));
	json_u64(json, "unknown_hits", armed->unknown_hits);
	json_u64(json, "stray_hits", armed->stray_hits);
	json_u64(json, "bytes", armed->bytes);
	put_spending(json, armed);
	json_bool(json, "is_file_known", profile->is_known);
	json_end(json);
	json_end_line(json, stdout);
	for (uint32_t i = 0; i < profile->nr_guards; i++)
		json_guard(json, profile, &profile->guards[i]);
	for (uint32_t i = 0; i < profile->nr_types; i++)
		json_type(json, profile, &profile->types[i]);
}

static void json_hooks(struct json *json, const struct status *status)
{
	for (uint32_t i = 0; i < status->stats.nr_hooks; i++) {
		const struct hook *hook = &status->stats.hooks[i];

		json_object(json, NULL);
		json_string(json, "kind", "hook");
		json_u64(json, "syscall", hook->syscall);
		json_string(json, "name", hook->name);
		json_bool(json, "direct", hook->is_direct);
		json_u64(json, "missed", hook->missed);
		json_end(json);
		json_end_line(json, stdout);
	}
}

void status_json(const struct status *status)
{
	const struct stats *stats = &status->stats;
	struct json json = { 0 };

	json_targets(&json, status);
	json_processes(&json, status);
	for (uint32_t i = 0; i < status->nr_profiles; i++)
		json_profile(&json, &status->profiles[i]);
	json_hooks(&json, status);
	json_object(&json, NULL);
	json_string(&json, "kind", "module");
	json_u64(&json, "targets", stats->targets);
	json_u64(&json, "threads", stats->threads);
	json_bool(&json, "alive", stats->is_alive);
	json_u64(&json, "next_alert", stats->next_alert);
	json_u64(&json, "next_wait", stats->next_wait);
	json_u64(&json, "ring_bytes", stats->ring_bytes);
	json_object(&json, "lost");
	json_u64(&json, "memory", stats->lost_memory);
	json_u64(&json, "overwritten", stats->lost_overwritten);
	json_u64(&json, "torn_stacks", stats->torn_stacks);
	json_u64(&json, "crowded_stacks", stats->crowded_stacks);
	json_end(&json);
	json_end(&json);
	json_end_line(&json, stdout);
	json_deinit(&json);
}
