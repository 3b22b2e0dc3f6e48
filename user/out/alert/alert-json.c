// SPDX-License-Identifier: GPL-2.0

#include "out/alert/alert.h"

#include <inttypes.h>

#include <linux/perfguard.h>

#include "base/syscall-name.h"
#include "base/time.h"
#include "data/stack-copy.h"
#include "out/text.h"

/* Functions of a unit that are told, those with most time first. */
#define MAX_FUNCTIONS 10

static void json_account(struct json *json, const struct account *account)
{
	if (text_has_account(account)) {
		json_object(json, "time_ns");
		json_u64(json, "cpu", account->cpu_ns);
		json_u64(json, "runqueue", account->runqueue_ns);
		json_u64(json, "blocked", account->blocked_ns);
		if (account->has_block_io)
			json_u64(json, "block_io", account->block_io_ns);
		else
			json_null(json, "block_io");
		json_end(json);
	} else {
		json_null(json, "time_ns");
	}
	json_object(json, "faults");
	json_u64(json, "minor", account->min_faults);
	json_u64(json, "major", account->maj_faults);
	json_end(json);
}

static void json_syscall(struct json *json, uint32_t number)
{
	char text[24];
	const char *name = syscall_any_name(number);

	snprintf(text, sizeof(text), "%" PRIu32, number);
	json_string(json, "syscall", name ? name : text);
}

static void json_stack(struct json *json, const struct alert_stack *stack)
{
	json_object(json, NULL);
	json_u64(json, "at_ns", stack->at_ns);
	json_array(json, "frames");
	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		const struct frame *frame = &stack->frames[i];

		json_object(json, NULL);
		json_string(json, "module", frame->module);
		json_string(json, "build_id", frame->build_id);
		json_u64(json, "offset",
			 frame->module ? frame->offset : frame->pc);
		json_string(json, "function", frame->function);
		if (frame->function)
			json_u64(json, "function_offset",
				 frame->function_offset);
		else
			json_null(json, "function_offset");
		if (frame->guessed)
			json_bool(json, "guessed", true);
		json_end(json);
	}
	json_end(json);
	json_string(json, "state", alert_state_name(stack->state));
	if (stack->into_ns)
		json_u64(json, "into_ns", stack->into_ns);
	json_string(json, "end", stack->end);
	if (stack->tid)
		json_u64(json, "tid", stack->tid);
	if (stack->syscall != SLICE_NO_SYSCALL)
		json_syscall(json, stack->syscall);
	if (stack->lock)
		json_u64(json, "lock", stack->lock);
	if (stack->holder)
		json_u64(json, "holder", stack->holder);
	json_end(json);
}

static void json_type(struct json *json, const struct alert *alert)
{
	double confidence = alert_confidence(alert->record);

	if (confidence < 0) {
		json_null(json, "type");
		json_null(json, "confidence");
		return;
	}
	json_u64(json, "type", alert->record->type_id);
	json_double(json, "confidence", confidence);
}

static void json_place(struct json *json, const struct hotpath_place *place)
{
	json_string(json, "module", place->module);
	json_string(json, "build_id", place->build_id);
	json_u64(json, "offset", place->offset);
	json_string(json, "function", place->function);
}

static void json_hotpath(struct json *json, const struct hotpath *hotpath)
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

static void json_reason(struct json *json, const struct reason *reason)
{
	char text[REASON_TEXT_MAX];

	json_object(json, "reason");
	if (reason->nr_parts)
		json_string(json, "text", reason_part_text(reason, 0, text));
	else
		json_null(json, "text");
	if (reason->has_normal)
		json_u64(json, "usual_ns", (uint64_t)reason->normal_ns);
	else
		json_null(json, "usual_ns");
	json_array(json, "parts");
	for (uint32_t i = 0; i < reason->nr_parts; i++) {
		const struct reason_part *part = &reason->parts[i];

		json_object(json, NULL);
		json_string(json, "part", reason_kind_name(part->kind));
		json_u64(json, "ns", part->ns);
		if (reason->has_normal)
			json_u64(json, "usual_ns", (uint64_t)part->normal_ns);
		else
			json_null(json, "usual_ns");
		json_u64(json, "excess_ns", (uint64_t)part->excess_ns);
		if (reason->has_normal && part->normal_ns >= 1)
			json_double(json, "factor", (double)part->ns / part->normal_ns);
		else
			json_null(json, "factor");
		if (part->syscall != SLICE_NO_SYSCALL)
			json_syscall(json, part->syscall);
		else
			json_null(json, "syscall");
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

static void json_contexts(struct json *json, const struct alert *alert)
{
	json_array(json, "contexts");
	for (uint32_t i = 0; i < alert->nr_met; i++) {
		const struct alert_met *met = &alert->met[i];

		json_object(json, NULL);
		json_string(json, "module", met->module);
		json_u64(json, "offset", met->offset);
		json_string(json, "function", met->function);
		json_u64(json, "depth", met->depth);
		json_u64(json, "hits", met->context.hits);
		if (met->context.units)
			json_double(json, "usual", reason_usual(&met->context));
		else
			json_null(json, "usual");
		json_bool(json, "known", met->context.is_known);
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
	for (uint32_t i = alert->nr_stacks; i--;) {
		if (alert->stacks[i].tid)
			continue;
		if (alert->stacks[i].syscall == SLICE_NO_SYSCALL)
			break;
		json_syscall(json, alert->stacks[i].syscall);
		return;
	}
	json_null(json, "syscall");
}

/* What is told of units under a profile, or by 'watch'; behind the older fields. */
static void json_verdict(struct json *json, const struct alert *alert)
{
	const struct record *record = alert->record;

	if (record->profile_id) {
		json_u64(json, "profile", record->profile_id);
		json_string(json, "type_name", alert->type ? alert->type->name : NULL);
		json_bool(json, "novel", record->is_novel);
		json_bool(json, "thinned", record->is_degraded);
		json_u64(json, "check_ns", record->check_ns);
	}
	if (!alert->hotpath)
		return;
	json_hotpath(json, alert->hotpath);
	if (alert->reason)
		json_reason(json, alert->reason);
	json_contexts(json, alert);
	json_last_syscall(json, alert);
	json_lock(json, alert->lock);
	json_u64(json, "count", 1);
}

static void json_unit(struct json *json, const struct alert *alert)
{
	const struct record *record = alert->record;

	json_string(json, "exe", alert->exe);
	json_string(json, "build_id", alert->build_id);
	json_u64(json, "pid", record->pid);
	json_u64(json, "tid", record->tid);
	json_string(json, "comm", record->comm);
	json_string(json, "cgroup", alert->cgroup);
	if (alert->loop)
		json_u64(json, "loop", alert->loop);
	else
		json_null(json, "loop");
	json_u64(json, "unit", record->unit);
	json_type(json, alert);
	json_u64(json, "threshold_ns", record->threshold_ns);
	json_u64(json, "elapsed_ns",
		 alert->running_ns ? alert->running_ns :
				     record->account.elapsed_ns);
	json_string(json, "found_by", alert_found_by_name(record->found_by));
	json_account(json, &record->account);
	json_object(json, "switches");
	json_u64(json, "voluntary", record->voluntary);
	json_u64(json, "involuntary", record->involuntary);
	json_end(json);
	json_array(json, "stacks");
	for (uint32_t i = 0; i < alert->nr_stacks; i++)
		json_stack(json, &alert->stacks[i]);
	json_end(json);
}

int alert_json(struct json *json, FILE *file, const struct alert *alert,
	       const char *kind)
{
	const struct record *record = alert->record;
	char time[CLOCK_TEXT_MAX];

	json_object(json, NULL);
	json_string(json, "kind", kind);
	json_u64(json, "seq", record->seq);
	json_string(json, "time", clock_format(record->time_ns, time));
	if (record->kind == PERFGUARD_RECORD_KIND_LOST) {
		json_u64(json, "lost", record->lost);
	} else {
		json_unit(json, alert);
		json_u64(json, "image", record->image_id);
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
	json_end(json);
	return json_end_line(json, file);
}


int alert_folded_json(struct json *json, FILE *file, const struct fold_window *window,
		      uint64_t window_ns, uint64_t time_ns)
{
	const struct fold_subject *subject = &window->subject;
	char time[CLOCK_TEXT_MAX];

	json_object(json, NULL);
	json_string(json, "kind", "repeated");
	json_u64(json, "seq", subject->seq);
	json_string(json, "time", clock_format(time_ns, time));
	json_string(json, "exe", subject->exe);
	json_string(json, "build_id", subject->build_id);
	json_u64(json, "pid", subject->pid);
	json_string(json, "comm", subject->comm);
	if (subject->type)
		json_u64(json, "type", subject->type);
	else
		json_null(json, "type");
	json_string(json, "type_name", subject->type_name);
	json_bool(json, "novel", subject->is_novel);
	json_string(json, "function", subject->is_various ? NULL : subject->function);
	json_u64(json, "window_ns", window_ns);
	json_u64(json, "count", window->nr_units);
	json_u64(json, "ended", window->nr_ended);
	json_object(json, "elapsed_ns");
	if (window->nr_ended) {
		json_u64(json, "min", window->min_ns);
		json_u64(json, "max", window->max_ns);
	} else {
		json_null(json, "min");
		json_null(json, "max");
	}
	json_u64(json, "running", window->running_ns);
	json_end(json);
	json_end(json);
	return json_end_line(json, file);
}

int alert_level_json(struct json *json, FILE *file, const struct alert_level *level)
{
	const struct drift *drift = level->drift;
	char time[CLOCK_TEXT_MAX];

	json_object(json, NULL);
	json_string(json, "kind", "level");
	json_null(json, "seq");
	json_string(json, "time", clock_format(level->time_ns, time));
	json_string(json, "exe", level->exe);
	json_u64(json, "profile", level->profile_id);
	json_u64(json, "type", level->type->id);
	json_string(json, "type_name", level->type->name);
	json_u64(json, "threshold_ns", level->threshold_ns);
	json_bool(json, "slow", drift->is_on);
	json_string(json, "since", clock_format(drift->since_ns, time));
	json_u64(json, "level_ns", (uint64_t)drift->level_ns);
	if (drift->before_ns >= 1)
		json_u64(json, "before_ns", (uint64_t)drift->before_ns);
	else
		json_null(json, "before_ns");
	json_u64(json, "units", drift->units);
	json_u64(json, "late", drift->late);
	json_end(json);
	return json_end_line(json, file);
}
