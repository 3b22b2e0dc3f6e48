// SPDX-License-Identifier: GPL-2.0

#include "app/watch/status-query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/holder.h"
#include "app/common/identity.h"
#include "app/common/inline-refusal.h"
#include "app/common/replaced.h"
#include "app/watch/expectation.h"
#include "base/time.h"
#include "out/container-text.h"
#include "out/json.h"
#include "out/line.h"

static void put_flags(struct json *json, const char *name, const void *object)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = {
		{ PERFGUARD_TARGET_FLAGS_INHERIT, "inherit" },
		{ PERFGUARD_TARGET_FLAGS_ACCOUNT, "account" },
		{ PERFGUARD_TARGET_FLAGS_DISCOVER, "discover" },
		{ PERFGUARD_TARGET_FLAGS_OWNED, "owned" },
		{ PERFGUARD_TARGET_FLAGS_REQUESTS, "requests" },
	};
	const struct target *target = object;

	json_array(json, name);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (target->flags & flags[i].flag)
			json_string(json, NULL, flags[i].name);
	json_end(json);
}

/* null of what is armed, and where it is not known. */
static void put_holder(struct json *json, const char *name, const void *object)
{
	const struct target *target = object;
	char since[TIME_TEXT_MAX];
	struct holder holder;

	if (!(target->flags & PERFGUARD_TARGET_FLAGS_OWNED) || !holder_find(target->id, &holder)) {
		json_null(json, name);
		return;
	}
	json_object(json, name);
	json_string(json, "verb", holder.verb);
	json_u64(json, "pid", holder.pid);
	json_u64(json, "uid", holder.uid);
	json_string(json, "stage", holder.stage[0] ? holder.stage : NULL);
	json_string(json, "since", time_format(holder.since_ns, since));
	json_end(json);
}

static void put_scope_pids(struct json *json, const char *name, const void *object)
{
	const struct target *target = object;

	if (!target->nr_scope_pids) {
		json_null(json, name);
		return;
	}
	json_array(json, name);
	for (uint32_t i = 0; i < target->nr_scope_pids; i++)
		json_u64(json, NULL, target->scope_pids[i]);
	json_end(json);
}

static void put_uid(struct json *json, const char *name, const void *object)
{
	const struct target *target = object;

	if (target->has_uid)
		json_u64(json, name, target->uid);
	else
		json_null(json, name);
}

static void put_inline_refusal(struct json *json, const char *name, const void *object)
{
	const struct target *target = object;

	json_string(json, name, target->inline_refusal ?
					inline_refusal_text(target->inline_refusal) : NULL);
}

#define AT(member, name, ...) FIELD(struct target, member, name, ##__VA_ARGS__)

const struct field status_target_fields[] = {
	AT(id, "id"), AT(path, "exe"),
	AT(pid, "pid", .empty = FIELD_SKIP),
	FIELD_BY(put_flags, "flags"),
	FIELD_BY(put_holder, "holder"),
	FIELD_BY(put_uid, "uid"),
	AT(cgroup, "cgroup"),
	FIELD_BY(put_scope_pids, "scope_pids"),
	AT(scope_args, "args"),
	AT(threshold_ns, "threshold_ns"), AT(processes, "processes"), AT(threads, "threads"),
	AT(units, "units"), AT(late, "late"), AT(waits, "waits"),
	AT(suppressed, "suppressed",
	   .text = "  %s alert%s held back: too many a second, or for the budget\n"),
	AT(request_limit_ns, "request_limit_ns", .empty = FIELD_NULL),
	AT(late_requests, "late_requests"),
	AT(starved_requests, "starved_requests",
	   .text = "  %s request%s would be late if waiting for a CPU counted\n"),
	AT(suppressed_requests, "suppressed_requests",
	   .text = "  %s alert%s of requests held back: too many a second, or for the budget\n"),
	AT(untracked, "untracked", .text = "  %s processes, threads or units could not be watched\n"),
	AT(inline_refused_pid, "inline_refused", .empty = FIELD_NULL),
	FIELD_BY(put_inline_refusal, "inline_refusal"),
	{ 0 },
};

/* Of a process, with the container that it is of. */
static void put_cgroup(struct json *json, const char *name, const void *object)
{
	const struct process *process = object;
	char *cgroup = identity_cgroup(process->pid);

	json_string(json, name, cgroup);
	container_json(json, cgroup);
	free(cgroup);
}

static const struct field process_fields[] = {
	FIELD(struct process, pid, "pid"),
	FIELD(struct process, comm, "comm"),
	FIELD(struct process, target_id, "target"),
	FIELD(struct process, image_id, "image"),
	FIELD(struct process, ns_pid, "ns_pid", .empty = FIELD_NULL),
	FIELD(struct process, units, "units"),
	FIELD(struct process, jumps, "jumps"),
	FIELD_BY(put_cgroup, "cgroup"),
	{ 0 },
};

/* What the profile's file adds; null where it is not there. */
static void put_function(struct json *json, const struct status_profile *profile,
			 const struct armed_guard *guard)
{
	uint32_t function = status_function(profile, guard);
	const struct samples_function *of;
	const struct samples_object *object;

	if (function == SAMPLES_NONE) {
		json_null(json, "module");
		json_null(json, "build_id");
		json_null(json, "function");
		json_null(json, "name");
		json_null(json, "plan");
		return;
	}
	of = &profile->samples.functions[function];
	object = &profile->samples.objects[of->object];
	json_string(json, "module", object->path);
	json_string(json, "build_id", object->build_id[0] ? object->build_id : NULL);
	json_string(json, "function", of->name);
	line_put_name(json, object->path, of->offset, of->name);
	json_real(json, "plan", status_plan(profile, guard->index));
}

static void put_state(struct json *json, const char *name, const void *object)
{
	const struct armed_guard *guard = object;

	json_string(json, name, guard->state == PERFGUARD_GUARD_STATE_SHED ? "shed" : "active");
}

static void put_way(struct json *json, const char *name, const void *object)
{
	static const char *const ways[] = { NULL, "kernel", "module", "stepped", "inline" };
	const struct armed_guard *guard = object;

	json_string(json, name, guard->step_mode < sizeof(ways) / sizeof(ways[0]) ? ways[guard->step_mode] : NULL);
}

static const struct field guard_fields[] = {
	FIELD(struct armed_guard, index, "index"),
	FIELD(struct armed_guard, object, "object"),
	FIELD(struct armed_guard, offset, "offset"),
	FIELD_BY(put_state, "state"),
	FIELD_BY(put_way, "way"),
	FIELD(struct armed_guard, hits, "hits"),
	FIELD(struct armed_guard, stepped, "stepped"),
	FIELD(struct armed_guard, noted, "noted"),
	FIELD(struct armed_guard, sheds, "sheds"),
	FIELD_AS(FIELD_PPM, struct armed_guard, share_ppm, "share"),
	{ 0 },
};

#undef AT
#define AT(member, name, ...) FIELD(struct armed_type, member, name, ##__VA_ARGS__)

static const struct field type_fields[] = {
	AT(loop_id, "loop_id"), AT(id, "type"),
	AT(own_limit_ns, "threshold_ns", .empty = FIELD_NULL),
	FIELD_INNER("limits_ns"),
	AT(threshold_ns, "all", .empty = FIELD_NULL),
	AT(own_limit_ns, "own", .empty = FIELD_NULL),
	AT(cpu_limit_ns, "cpu", .empty = FIELD_NULL),
	AT(blocked_limit_ns, "blocked", .empty = FIELD_NULL),
	AT(block_io_limit_ns, "block_io", .empty = FIELD_NULL),
	AT(request_limit_ns, "request", .empty = FIELD_NULL),
	FIELD_INNER_END,
	AT(units, "units"), AT(late, "late"), AT(novel, "novel"), AT(starved, "starved"),
	AT(stopped, "stopped"),
	AT(elapsed_ns, "elapsed_ns"),
	FIELD_INNER("time_ns"),
	AT(cpu_ns, "cpu"), AT(runqueue_ns, "runqueue"), AT(block_io_ns, "block_io"),
	FIELD_INNER_END,
	FIELD_INNER("faults"),
	AT(min_faults, "minor"), AT(maj_faults, "major"),
	FIELD_INNER_END,
	AT(late_elapsed_ns, "late_elapsed_ns"),
	{ 0 },
};

static void put_infer(struct json *json, const char *name, const void *object)
{
	const struct armed_profile *armed = object;

	json_string(json, name, armed->flags & PERFGUARD_PROFILE_FLAGS_PAPER ? "paper" : "weights");
}

#undef AT
#define AT(member, name, ...) FIELD(struct armed_profile, member, name, ##__VA_ARGS__)

const struct field status_profile_fields[] = {
	AT(id, "id"),
	AT(name, "name", .text = "  guarded by %s\n"),
	FIELD_AS(FIELD_HEX, struct armed_profile, hash, "hash"),
	AT(target_id, "target"),
	FIELD_BY(put_infer, "infer"),
	FIELD_AS(FIELD_TIME, struct armed_profile, armed_ns, "armed"),
	AT(processes, "processes"), AT(nr_guards, "guards"), AT(nr_shed, "shed"),
	AT(nr_types, "types"), AT(nr_contexts, "contexts"), AT(units, "units"),
	AT(novel, "novel"), AT(unknown_hits, "unknown_hits"), AT(stray_hits, "stray_hits"),
	AT(bytes, "bytes"),
	{ 0 },
};

/* Those unit costs of price_ns that could not be measured. */
static void put_assumed(struct json *json, const char *name, const void *object)
{
	static const char *const names[] = { "kernel_hit", "module_hit", "stepped_hit", "call",
					     "unit" };
	const struct armed_profile *armed = object;

	json_array(json, name);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (armed->prices.assumed & 1u << i)
			json_string(json, NULL, names[i]);
	json_end(json);
}

/* What guarding may take, and takes. */
static const struct field budget_fields[] = {
	FIELD_AS(FIELD_PPM, struct armed_profile, prices.budget_ppm, "budget"),
	FIELD_INNER("price_ns"),
	AT(prices.kernel_hit_ns, "kernel_hit"), AT(prices.module_hit_ns, "module_hit"),
	AT(prices.stepped_hit_ns, "stepped_hit"), AT(prices.call_ns, "call"),
	AT(prices.unit_ns, "unit"),
	FIELD_INNER_END,
	FIELD_BY(put_assumed, "price_assumed"),
	FIELD_INNER("cost_ns"),
	AT(cost.cpu, "cpu"), AT(cost.guards, "guards"), AT(cost.boundaries, "boundaries"),
	AT(cost.report, "reporting"), AT(cost.report, "telling"),
	FIELD_INNER_END,
	FIELD_INNER("last_cost_ns"),
	AT(last.cpu, "cpu"), AT(last.guards, "guards"), AT(last.boundaries, "boundaries"),
	AT(last.report, "reporting"), AT(last.report, "telling"),
	FIELD_INNER_END,
	AT(check_ns, "check_ns"),
	{ 0 },
};

static const struct field hook_fields[] = {
	FIELD(struct hook, syscall, "syscall"),
	FIELD(struct hook, name, "name"),
	FIELD(struct hook, is_direct, "direct"),
	FIELD(struct hook, missed, "missed"),
	{ 0 },
};

#undef AT
#define AT(member, name) FIELD(struct stats, member, name)

static const char *const trials[] = { NULL, "once", "again", "failed" };

static const struct field module_fields[] = {
	AT(targets, "targets"), AT(threads, "threads"), AT(is_alive, "alive"),
	AT(next_alert, "next_alert"), AT(next_wait, "next_wait"), AT(ring_bytes, "ring_bytes"),
	FIELD_NAMED(trials, struct stats, trial, "trial"),
	FIELD(struct stats, trial_error, "trial_error", .empty = FIELD_SKIP),
	FIELD_INNER("lost"),
	AT(lost_memory, "memory"), AT(lost_overwritten, "overwritten"),
	AT(torn_stacks, "torn_stacks"), AT(crowded_stacks, "crowded_stacks"),
	AT(stream_unread, "unread_words"),
	FIELD_INNER_END,
	{ 0 },
};

/* A line of a guard or type; its fields that come from the profile are the caller's. */
static void begin_line(struct json *json, const char *kind, const struct status_profile *profile)
{
	line_begin(json, kind, 0);
	json_u64(json, "profile", profile->armed->id);
}

static void end_line(struct json *json)
{
	line_end(json, stdout);
}

static void json_profile(struct json *json, const struct status_profile *profile)
{
	double expected = status_expected(profile), late = expectation_late(profile);

	line_begin(json, "profile", 0);
	fields_json(json, status_profile_fields, profile->armed);
	if (expected >= 0)
		json_real(json, "novel_expected", expected);
	else
		json_null(json, "novel_expected");
	json_bool(json, "is_new_load", status_has_news(profile));
	if (late >= 0)
		json_real(json, "late_expected", late);
	else
		json_null(json, "late_expected");
	json_bool(json, "is_late_unexpected", expectation_is_late(profile));
	json_bool(json, "is_beyond_budget", expectation_is_costly(profile));
	if (profile->armed->prices.budget_ppm)
		fields_json(json, budget_fields, profile->armed);
	else
		json_null(json, "budget");
	json_bool(json, "is_file_known", profile->is_known);
	end_line(json);
	for (uint32_t i = 0; i < profile->nr_guards; i++) {
		begin_line(json, "guard", profile);
		fields_json(json, guard_fields, &profile->guards[i]);
		put_function(json, profile, &profile->guards[i]);
		end_line(json);
	}
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		begin_line(json, "type", profile);
		json_u64(json, "loop", status_loop(profile, profile->types[i].loop_id));
		fields_json(json, type_fields, &profile->types[i]);
		end_line(json);
	}
}

static void json_target(struct json *json, const struct status *status,
			const struct target *target)
{
	struct replaced replaced;

	status_replaced(status, target, &replaced);
	line_begin(json, "target", 0);
	fields_json(json, status_target_fields, target);
	json_string(json, "replaced", replaced_name(&replaced));
	json_u64(json, "unguarded", replaced.nr_pids);
	end_line(json);
}

void status_json(const struct status *status)
{
	const struct stats *stats = &status->stats;
	struct json json = { 0 };

	for (uint32_t i = 0; i < status->nr_targets; i++)
		json_target(&json, status, &status->targets[i]);
	for (uint32_t i = 0; i < status->nr_processes; i++)
		fields_json_line(&json, stdout, "process", process_fields, &status->processes[i]);
	for (uint32_t i = 0; i < status->nr_profiles; i++)
		json_profile(&json, &status->profiles[i]);
	for (uint32_t i = 0; i < stats->nr_hooks; i++)
		fields_json_line(&json, stdout, "hook", hook_fields, &stats->hooks[i]);
	fields_json_line(&json, stdout, "module", module_fields, stats);
	json_deinit(&json);
}
