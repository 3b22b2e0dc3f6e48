// SPDX-License-Identifier: GPL-2.0

#include "out/alert/alert.h"

#include <inttypes.h>

#include <linux/perfguard.h>

#include "base/syscall-name.h"
#include "base/time.h"
#include "data/stack-copy.h"
#include "out/alert/alert-head.h"
#include "out/container-text.h"
#include "out/fields.h"
#include "out/line.h"
#include "out/text.h"

/* Functions of a unit that are listed, those with most time first. */
#define MAX_FUNCTIONS 10

static const struct field faults_fields[] = {
	FIELD_INNER("faults"),
	FIELD(struct account, min_faults, "minor"),
	FIELD(struct account, maj_faults, "major"),
	FIELD_INNER_END,
	{ 0 },
};

static void json_account(struct json *json, const struct account *account)
{
	if (text_has_account(account)) {
		json_object(json, "time_ns");
		json_u64(json, "cpu", account->cpu_ns);
		json_u64(json, "runqueue", account->runqueue_ns);
		json_u64(json, "blocked", account->blocked_ns);
		json_u64_or_null(json, "block_io", account->block_io_ns, account->has_block_io);
		json_u64(json, "stopped", account->stopped_ns);
		json_end(json);
	} else {
		json_null(json, "time_ns");
	}
	fields_json(json, faults_fields, account);
}

static void json_syscall(struct json *json, uint32_t number)
{
	char text[24];
	const char *name = syscall_any_name(number);

	snprintf(text, sizeof(text), "%" PRIu32, number);
	if (number == SLICE_NO_SYSCALL)
		json_null(json, "syscall");
	else
		json_string(json, "syscall", name ? name : text);
}

static void json_frame(struct json *json, const struct frame *frame)
{
	const struct hotpath_place place = hotpath_place(frame);

	json_object(json, NULL);
	json_string(json, "module", frame->module);
	json_string(json, "build_id", frame->build_id);
	json_u64(json, "offset", frame->module ? frame->offset : frame->pc);
	json_string(json, "function", frame->function);
	line_put_name(json, place.module, place.offset, place.function);
	json_u64_or_null(json, "function_offset", frame->function_offset, frame->function);
	/* So that places in a function without a name are known to be in the same one. */
	if (!frame->function && frame->start && frame->start <= frame->pc && frame->module)
		json_u64(json, "start", frame->offset - (frame->pc - frame->start));
	if (frame->guessed)
		json_bool(json, "guessed", true);
	json_end(json);
}

static const char *const state_names[] = {
	[PERFGUARD_STACK_STATE_SELF] = "self",
	[PERFGUARD_STACK_STATE_RUNNING] = "running",
	[PERFGUARD_STACK_STATE_BLOCKED] = "blocked",
	[PERFGUARD_STACK_STATE_STOPPED] = "stopped",
};

#define AT(member, name, ...) FIELD(struct alert_stack, member, name, ##__VA_ARGS__)

static const struct field stack_fields[] = {
	AT(at_ns, "at_ns"),
	FIELD_NAMED(state_names, struct alert_stack, state, "state"),
	AT(into_ns, "into_ns", .empty = FIELD_SKIP),
	AT(end, "end"),
	AT(tid, "tid", .empty = FIELD_SKIP),
	AT(lock, "lock", .empty = FIELD_SKIP),
	AT(holder, "holder", .empty = FIELD_SKIP),
	{ 0 },
};

static void json_stack(struct json *json, const struct alert_stack *stack)
{
	json_object(json, NULL);
	fields_json(json, stack_fields, stack);
	json_array(json, "frames");
	for (uint32_t i = 0; i < stack->nr_frames; i++)
		json_frame(json, &stack->frames[i]);
	json_end(json);
	if (stack->syscall != SLICE_NO_SYSCALL)
		json_syscall(json, stack->syscall);
	json_end(json);
}

static void json_type(struct json *json, const struct alert *alert)
{
	double confidence = alert_confidence(alert->record);

	if (confidence < 0) {
		json_null(json, "type");
		json_null(json, "confidence");
		json_null(json, "is_carried");
		return;
	}
	json_u64(json, "type", alert->record->type_id);
	json_double(json, "confidence", confidence);
	json_bool(json, "is_carried", alert->type && alert->type->is_carried);
}

#undef AT
#define AT(member) FIELD(struct hotpath_place, member, #member)

static const struct field place_fields[] = {
	AT(module), AT(build_id), AT(offset), AT(function), { 0 },
};

static void json_place(struct json *json, const struct hotpath_place *place)
{
	fields_json(json, place_fields, place);
	line_put_name(json, place->module, place->offset, place->function);
}

static void json_hotpath(struct json *json, const struct hotpath *hotpath, bool is_brief)
{
	json_array(json, "hot_path");
	for (uint32_t i = 0; i < hotpath->nr_steps; i++) {
		const struct hotpath_step *step = &hotpath->steps[i];

		json_object(json, NULL);
		json_place(json, &step->place);
		json_double(json, "share", hotpath_share(hotpath, step->ns));
		if (step->nr_calls > 1)
			json_u64(json, "recursion", step->nr_calls);
		if (step->by_several)
			json_bool(json, "by_several", true);
		json_end(json);
	}
	json_end(json);
	if (is_brief)
		return;
	json_array(json, "functions");
	for (uint32_t i = 0; i < hotpath->nr_functions && i < MAX_FUNCTIONS; i++) {
		const struct hotpath_function *function = &hotpath->functions[i];

		json_object(json, NULL);
		json_place(json, &function->place);
		json_double(json, "own", hotpath_share(hotpath, function->own_ns));
		json_double(json, "self", hotpath_share(hotpath, function->self_ns));
		json_double(json, "blocked", hotpath_share(hotpath, function->blocked_ns));
		json_double(json, "total", hotpath_share(hotpath, function->total_ns));
		json_end(json);
	}
	json_end(json);
}

static void json_stacks(struct json *json, const struct alert *alert)
{
	if (alert->is_brief)
		return;
	json_array(json, "stacks");
	for (uint32_t i = 0; i < alert->nr_stacks; i++)
		json_stack(json, &alert->stacks[i]);
	json_end(json);
}

void alert_where_json(struct json *json, const struct alert *alert)
{
	json_stacks(json, alert);
	if (alert->hotpath)
		json_hotpath(json, alert->hotpath, alert->is_brief);
}

static void json_reason(struct json *json, const struct reason *reason)
{
	char text[REASON_TEXT_MAX];

	json_object(json, "reason");
	if (reason->nr_parts)
		json_string(json, "text", reason_part_text(reason, 0, text));
	else
		json_null(json, "text");
	json_u64_or_null(json, "usual_ns", (uint64_t)reason->normal.elapsed_ns, reason->has_normal);
	json_array(json, "parts");
	for (uint32_t i = 0; i < reason->nr_parts; i++) {
		const struct reason_part *part = &reason->parts[i];

		json_object(json, NULL);
		json_string(json, "part", reason_kind_name(part->kind));
		json_u64(json, "ns", part->ns);
		json_u64_or_null(json, "usual_ns", (uint64_t)part->normal_ns, reason->has_normal);
		json_u64(json, "excess_ns", (uint64_t)part->excess_ns);
		if (reason->has_normal && part->normal_ns >= 1)
			json_double(json, "factor", (double)part->ns / part->normal_ns);
		else
			json_null(json, "factor");
		json_syscall(json, part->syscall);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static bool is_unusual(const struct alert *alert, uint32_t met)
{
	for (uint32_t i = 0; i < alert->nr_unusual; i++)
		if (alert->unusual[i] == met)
			return true;
	return false;
}

#undef AT
#define AT(member, name) FIELD(struct alert_met, member, name)

static const struct field met_fields[] = {
	AT(module, "module"), AT(offset, "offset"), AT(function, "function"),
	AT(depth, "depth"), AT(context.hits, "hits"), AT(context.is_known, "known"),
	{ 0 },
};

static void json_contexts(struct json *json, const struct alert *alert)
{
	json_array(json, "contexts");
	for (uint32_t i = 0; i < alert->nr_met; i++) {
		const struct alert_met *met = &alert->met[i];

		json_object(json, NULL);
		fields_json(json, met_fields, met);
		line_put_name(json, met->module, met->offset, met->function);
		if (met->context.units)
			json_double(json, "usual", reason_usual(&met->context));
		else
			json_null(json, "usual");
		json_bool(json, "unusual", is_unusual(alert, i));
		json_end(json);
	}
	json_end(json);
}

static void json_lock(struct json *json, const struct alert_lock *lock)
{
	if (!lock) {
		json_null(json, "lock");
		return;
	}
	json_object(json, "lock");
	json_u64(json, "address", lock->address);
	if (lock->holder) {
		json_object(json, "holder");
		json_u64(json, "tid", lock->holder);
		json_string(json, "comm", lock->comm[0] ? lock->comm : NULL);
		json_end(json);
	} else {
		json_null(json, "holder");
	}
	json_end(json);
}

/* The system call that the thread was in when it was seen last. */
static void json_last_syscall(struct json *json, const struct alert *alert)
{
	uint32_t syscall = SLICE_NO_SYSCALL;

	for (uint32_t i = 0; i < alert->nr_stacks; i++)
		if (!alert->stacks[i].tid)
			syscall = alert->stacks[i].syscall;
	json_syscall(json, syscall);
}

#undef AT
#define AT(member, name, ...) FIELD(struct record, member, name, ##__VA_ARGS__)

static const char *const found_by_names[] = {
	[PERFGUARD_FOUND_BY_GUARD] = "guard",
	[PERFGUARD_FOUND_BY_OVERDUE] = "overdue",
	[PERFGUARD_FOUND_BY_END] = "end",
};

static const char *const part_names[] = {
	[PERFGUARD_PART_ALL] = "all",
	[PERFGUARD_PART_OWN] = "own",
	[PERFGUARD_PART_CPU] = "cpu",
	[PERFGUARD_PART_BLOCKED] = "blocked",
	[PERFGUARD_PART_BLOCK_IO] = "block_io",
	[PERFGUARD_PART_STOPPED] = "stopped",
};

static const char *const cause_names[] = {
	[PERFGUARD_STOP_CAUSE_SIGNAL] = "signal",
	[PERFGUARD_STOP_CAUSE_TRACER] = "tracer",
	[PERFGUARD_STOP_CAUSE_FREEZER] = "freezer",
};

static const struct field unit_fields[] = {
	AT(pid, "pid"), AT(tid, "tid"),
	AT(ns_pid, "ns_pid", .empty = FIELD_NULL), AT(ns_tid, "ns_tid", .empty = FIELD_NULL),
	AT(comm, "comm"), AT(unit, "unit"),
	AT(threshold_ns, "threshold_ns"),
	FIELD_NAMED(part_names, struct record, part, "part"),
	FIELD_NAMED(found_by_names, struct record, found_by, "found_by"),
	FIELD_INNER("switches"),
	AT(voluntary, "voluntary"), AT(involuntary, "involuntary"),
	FIELD_INNER_END,
	AT(image_id, "image"),
	{ 0 },
};

/* Of a unit under a profile. */
static const struct field verdict_fields[] = {
	AT(profile_id, "profile"), AT(is_novel, "novel"), AT(is_degraded, "degraded"),
	AT(is_degraded, "thinned"),
	AT(check_ns, "check_ns"),
	{ 0 },
};

/* The fields of units under a profile, or that 'watch' adds. */
static void json_verdict(struct json *json, const struct alert *alert)
{
	const struct record *record = alert->record;

	if (record->profile_id) {
		fields_json(json, verdict_fields, record);
		json_string(json, "type_name", alert->type ? alert->type->name : NULL);
	}
	if (!alert->hotpath)
		return;
	json_hotpath(json, alert->hotpath, alert->is_brief);
	if (!alert->reason)
		return;
	json_reason(json, alert->reason);
	if (!alert->is_brief)
		json_contexts(json, alert);
	json_last_syscall(json, alert);
	json_lock(json, alert->lock);
	json_u64(json, "count", 1);
}

static const struct field stop_fields[] = {
	FIELD_INNER("stop"),
	FIELD_NAMED(cause_names, struct record, stop_cause, "cause"),
	AT(stopped_by, "by", .empty = FIELD_NULL), AT(is_stopped, "now"),
	FIELD_INNER_END,
	{ 0 },
};

static void json_stop(struct json *json, const struct record *record)
{
	if (record->stop_cause)
		fields_json(json, stop_fields, record);
	else
		json_null(json, "stop");
}

static void json_unit(struct json *json, const struct alert *alert)
{
	const struct record *record = alert->record;

	fields_json(json, unit_fields, record);
	json_string(json, "exe", alert->exe);
	json_string(json, "build_id", alert->build_id);
	json_string(json, "cgroup", alert->cgroup);
	container_json(json, alert->cgroup);
	json_u64_or_null(json, "loop", alert->loop, alert->loop);
	json_type(json, alert);
	json_u64(json, "elapsed_ns",
		 alert->running_ns ? alert->running_ns :
				     record->account.elapsed_ns);
	json_account(json, &record->account);
	json_stop(json, record);
	json_stacks(json, alert);
}

uint64_t alert_unit_group(const struct alert *alert)
{
	const struct record *record = alert->record;
	bool is_novel = record->kind == PERFGUARD_RECORD_KIND_NOVEL;
	uint64_t path;

	if (!alert->hotpath)
		return 0;
	path = is_novel ? FOLD_NOVEL : alert_is_stop(record) ? FOLD_STOPPED :
						  hotpath_hash(alert->hotpath);
	return alert_group(is_novel ? "novel" : "late", alert->exe, alert->build_id,
			   record->profile_id ? record->type_id : 0, path);
}

int alert_json(struct json *json, FILE *file, const struct alert *alert,
	       const char *kind)
{
	const struct record *record = alert->record;
	bool is_lost = record->kind == PERFGUARD_RECORD_KIND_LOST;
	char incident[ALERT_INCIDENT_MAX];
	const struct alert_head head = {
		.kind = kind,
		.time_ns = record->time_ns,
		.seq = record->seq,
		.incident = is_lost ? NULL : incident,
		.group = alert_unit_group(alert),
	};

	snprintf(incident, sizeof(incident), "unit/%" PRIu32 "/%" PRIu32 "/%" PRIu64, record->pid,
		 record->tid, record->unit);
	alert_head_json(json, &head);
	if (is_lost) {
		json_u64(json, "lost", record->lost);
	} else {
		json_unit(json, alert);
		if (alert->running_ns) {
			json_bool(json, "running", true);
			/* What the time account is of. */
			json_u64(json, "account_ns",
				 record->account.elapsed_ns);
		}
		if (alert->is_cut)
			json_bool(json, "cut", true);
		json_verdict(json, alert);
	}
	return line_end(json, file);
}

static void put_function(struct json *json, const char *name, const void *object)
{
	const struct fold_window *window = object;

	json_string(json, name, window->subject.is_various ? NULL : window->subject.function);
}

static void put_elapsed(struct json *json, const char *name, const void *object)
{
	const struct fold_window *window = object;

	json_object(json, name);
	json_u64_or_null(json, "min", window->min_ns, window->nr_ended);
	json_u64_or_null(json, "max", window->max_ns, window->nr_ended);
	json_u64(json, "running", window->running_ns);
	json_end(json);
}

#undef AT
#define AT(member, name, ...) FIELD(struct fold_window, member, name, ##__VA_ARGS__)

static const struct field folded_fields[] = {
	AT(subject.exe, "exe"), AT(subject.build_id, "build_id"),
	AT(subject.pid, "pid"), AT(subject.comm, "comm"),
	AT(subject.type, "type", .empty = FIELD_NULL),
	AT(subject.type_name, "type_name"), AT(subject.is_novel, "novel"),
	AT(subject.is_request, "request"),
	FIELD_BY(put_function, "function"),
	AT(nr_units, "count"), AT(nr_ended, "ended"),
	FIELD_BY(put_elapsed, "elapsed_ns"),
	{ 0 },
};

int alert_folded_json(struct json *json, FILE *file, const struct fold_window *window,
		      uint64_t window_ns, uint64_t time_ns)
{
	const struct alert_head head = {
		.kind = "repeated",
		.time_ns = time_ns,
		.seq = window->subject.seq,
		.group = window->subject.is_various ? 0 : window->subject.group,
	};

	alert_head_json(json, &head);
	json_u64(json, "window_ns", window_ns);
	fields_json(json, folded_fields, window);
	return line_end(json, file);
}

#undef AT
#define AT(member, name) FIELD(struct alert_level, member, name)

static const struct field level_fields[] = {
	AT(exe, "exe"), AT(profile_id, "profile"), AT(limit_ns, "threshold_ns"),
	{ 0 },
};

static void put_changed_part(struct json *json, const char *name, const void *object)
{
	const struct regression *regression = object;

	json_string(json, name, regression_part_name(regression->part));
}

static const struct field regression_fields[] = {
	FIELD(struct regression, is_on, "slow"),
	FIELD_BY(put_changed_part, "part"),
	FIELD_AS(FIELD_TIME, struct regression, since_ns, "since"),
	FIELD_AS(FIELD_WHOLE, struct regression, level_ns, "level_ns"),
	FIELD_AS(FIELD_WHOLE, struct regression, before_ns, "before_ns"),
	FIELD(struct regression, units, "units"),
	FIELD(struct regression, late, "late"),
	{ 0 },
};

int alert_level_json(struct json *json, FILE *file, const struct alert_level *level)
{
	char incident[ALERT_INCIDENT_MAX];
	const struct alert_head head = {
		.kind = "level",
		.time_ns = level->time_ns,
		.incident = incident,
		.group = alert_group("level", level->exe, NULL, level->type->id, 0),
		.is_over = !level->regression->is_on,
	};

	snprintf(incident, sizeof(incident), "level/%" PRIu32 "/%" PRIu32, level->profile_id,
		 level->type->id);
	alert_head_json(json, &head);
	fields_json(json, level_fields, level);
	json_u64(json, "type", level->type->id);
	json_string(json, "type_name", level->type->name);
	fields_json(json, regression_fields, level->regression);
	return line_end(json, file);
}

static const struct field starvation_fields[] = {
	FIELD(struct starvation, is_on, "starved"),
	FIELD_AS(FIELD_TIME, struct starvation, since_ns, "since"),
	FIELD(struct starvation, counts.units, "units"),
	FIELD(struct starvation, counts.starved, "starved_units"),
	{ 0 },
};

int alert_starvation_json(struct json *json, FILE *file, const struct alert_starvation *alert)
{
	const struct alert_head head = {
		.kind = "starved",
		.time_ns = alert->time_ns,
		.incident = "starved",
		.group = alert_group("starved", NULL, NULL, 0, 0),
		.is_over = !alert->starvation->is_on,
	};

	alert_head_json(json, &head);
	fields_json(json, starvation_fields, alert->starvation);
	json_array(json, "cpu");
	for (uint32_t i = 0; i < alert->nr_users; i++) {
		json_object(json, NULL);
		json_u64(json, "pid", alert->users[i].pid);
		json_string(json, "comm", alert->users[i].comm);
		json_real(json, "share", alert->users[i].share);
		json_end(json);
	}
	json_end(json);
	return line_end(json, file);
}
