// SPDX-License-Identifier: GPL-2.0

#include "alert.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <linux/perfguard.h>

#include "base/clock.h"
#include "base/duration.h"
#include "text.h"

/* Different stacks of a unit that are printed as text. */
#define MAX_STACKS 3
/* Frames of a stack that are printed as text; an even number. */
#define MAX_FRAMES 40

const char *alert_kind_name(uint32_t kind)
{
	switch (kind) {
	case PERFGUARD_RECORD_KIND_LATE:
		return "late";
	case PERFGUARD_RECORD_KIND_ENDED:
		return "ended";
	case PERFGUARD_RECORD_KIND_LOST:
		return "lost";
	case PERFGUARD_RECORD_KIND_WAIT:
		return "wait";
	}
	return "?";
}

static const char *found_by_name(uint32_t found_by)
{
	switch (found_by) {
	case PERFGUARD_FOUND_BY_GUARD:
		return "guard";
	case PERFGUARD_FOUND_BY_OVERDUE:
		return "overdue";
	case PERFGUARD_FOUND_BY_END:
		return "end";
	}
	return NULL;
}

static const char *state_name(uint32_t state)
{
	switch (state) {
	case PERFGUARD_STACK_STATE_SELF:
		return "self";
	case PERFGUARD_STACK_STATE_RUNNING:
		return "running";
	case PERFGUARD_STACK_STATE_BLOCKED:
		return "blocked";
	}
	return NULL;
}

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
	json_string(json, "state", state_name(stack->state));
	if (stack->into_ns)
		json_u64(json, "into_ns", stack->into_ns);
	json_string(json, "end", stack->end);
	json_end(json);
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
	json_null(json, "type");
	json_null(json, "confidence");
	json_u64(json, "threshold_ns", record->threshold_ns);
	json_u64(json, "elapsed_ns",
		 alert->running_ns ? alert->running_ns :
				     record->account.elapsed_ns);
	json_string(json, "found_by", found_by_name(record->found_by));
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
	}
	json_end(json);
	return json_end_line(json, file);
}

static bool is_same_frame(const struct frame *a, const struct frame *b)
{
	/* Two programs without address randomisation have equal addresses. */
	return a->pc == b->pc &&
	       (a->module == b->module || (a->module && b->module &&
					   !strcmp(a->module, b->module)));
}

/* Outer frames that two stacks share. */
static uint32_t nr_common(const struct alert_stack *a,
			  const struct alert_stack *b)
{
	uint32_t nr = 0;

	while (nr < a->nr_frames && nr < b->nr_frames &&
	       is_same_frame(&a->frames[a->nr_frames - 1 - nr],
			     &b->frames[b->nr_frames - 1 - nr]))
		nr++;
	return nr;
}

static bool is_same_stack(const struct alert_stack *a,
			  const struct alert_stack *b)
{
	if (a->nr_frames != b->nr_frames)
		return false;
	return nr_common(a, b) == a->nr_frames;
}

static void stack_title(FILE *file, const struct alert *alert, uint32_t index,
			int indent)
{
	const struct alert_stack *stack = &alert->stacks[index];
	char into[DURATION_TEXT_MAX];
	uint32_t seen = 1;

	for (uint32_t i = index + 1; i < alert->nr_stacks; i++)
		seen += is_same_stack(stack, &alert->stacks[i]);
	fprintf(file, "%*sstack", indent, "");
	if (stack->into_ns)
		fprintf(file, " %s into the unit",
			duration_format(stack->into_ns, into));
	if (stack->state == PERFGUARD_STACK_STATE_BLOCKED)
		fputs(", in the kernel", file);
	else if (stack->state == PERFGUARD_STACK_STATE_RUNNING)
		fputs(", running", file);
	if (alert->nr_stacks > 1)
		fprintf(file, ", in %" PRIu32 " of %" PRIu32 " samples", seen,
			alert->nr_stacks);
	fputs(":\n", file);
}

/* A stack that was printed before. */
struct printed {
	const struct alert_stack *stack; /* or NULL */
	uint32_t rank; /* of its unit; 0 for the unit at hand */
};

/* Of the first stacks of @nr alerts, ranked from 1, that most like @stack. */
static struct printed find_similar(const struct alert *alerts, uint32_t nr,
				   const struct alert_stack *stack)
{
	struct printed best = { 0 };
	uint32_t most = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t common = alerts[i].nr_stacks ?
			nr_common(stack, alerts[i].stacks) : 0;

		if (common <= most)
			continue;
		most = common;
		best.stack = alerts[i].stacks;
		best.rank = i + 1;
	}
	return best;
}

/* Frames of @stack; those it shares with @above in one line. */
static void text_frames(FILE *file, const struct alert_stack *stack,
			const struct printed *above, int indent)
{
	uint32_t common = above->stack ? nr_common(stack, above->stack) : 0;
	uint32_t nr = stack->nr_frames;

	/* The first frame in common tells where they part. */
	if (common > 2)
		nr -= common - 1;
	for (uint32_t i = 0; i < nr; i++) {
		/* Of an endless recursion, both ends tell most. */
		if (nr > MAX_FRAMES && i == MAX_FRAMES / 2) {
			i = nr - MAX_FRAMES / 2;
			fprintf(file, "%*s... %" PRIu32 " frames ...\n",
				indent, "", nr - MAX_FRAMES);
		}
		fprintf(file, "%*s#%-3" PRIu32, indent, "", i);
		text_frame(file, &stack->frames[i]);
		fputc('\n', file);
	}
	if (nr < stack->nr_frames && above->rank)
		fprintf(file, "%*s... and so on as above in %" PRIu32 ".\n",
			indent, "", above->rank);
	else if (nr < stack->nr_frames)
		fprintf(file, "%*s... and so on as above\n", indent, "");
	else if (stack->end)
		fprintf(file, "%*s(it goes on, but could not be followed: %s)\n",
			indent, "", stack->end);
}

static bool is_seen(const struct alert *alert, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (is_same_stack(&alert->stacks[i], &alert->stacks[index]))
			return true;
	return false;
}

/*
 * The first few stacks, each once however often it was seen.  Those of @before
 * alerts, which stand before this one in its array, have been printed.
 */
static void text_stacks(FILE *file, const struct alert *alert, uint32_t before,
			int indent)
{
	struct printed above = { 0 };
	uint32_t nr = 0;

	for (uint32_t i = 0; i < alert->nr_stacks; i++) {
		if (is_seen(alert, i))
			continue;
		if (++nr > MAX_STACKS)
			continue;
		stack_title(file, alert, i, indent);
		if (!above.stack)
			above = find_similar(alert - before, before,
					     &alert->stacks[i]);
		text_frames(file, &alert->stacks[i], &above, indent + 2);
		above = (struct printed) { .stack = alert->stacks };
	}
	if (nr > MAX_STACKS)
		fprintf(file, "%*sand %" PRIu32 " other stack%s (--json has all)\n",
			indent, "", nr - MAX_STACKS,
			nr == MAX_STACKS + 1 ? "" : "s");
}

void alert_text(FILE *file, const struct alert *alert)
{
	const struct record *record = alert->record;
	char threshold[DURATION_TEXT_MAX];
	char elapsed[DURATION_TEXT_MAX];
	char time[CLOCK_TEXT_MAX];
	bool has_ended = record->kind == PERFGUARD_RECORD_KIND_ENDED;

	clock_format_local(record->time_ns, time);
	if (record->kind == PERFGUARD_RECORD_KIND_LOST) {
		fprintf(file, "%s %" PRIu64 " alert%s lost\n", time,
			record->lost, record->lost == 1 ? " was" : "s were");
		return;
	}
	fprintf(file, "%s%s %s: ", text_bold(file), time,
		alert_kind_name(record->kind));
	text_safe(file, record->comm);
	fprintf(file, "[%" PRIu32 "/%" PRIu32 "] unit %" PRIu64 " %s %s",
		record->pid, record->tid, record->unit,
		has_ended ? "took" : "has taken",
		duration_format(record->account.elapsed_ns, elapsed));
	fprintf(file, "%s%s (threshold %s)\n", has_ended ? "" : " so far",
		text_plain(file),
		duration_format(record->threshold_ns, threshold));
	fputs("    ", file);
	text_account(file, &record->account);
	fputc('\n', file);
	text_stacks(file, alert, 0, 4);
}

void alert_slow_text(FILE *file, const struct alert *alerts, uint32_t index)
{
	const struct alert *alert = &alerts[index];
	const struct record *record = alert->record;
	char elapsed[DURATION_TEXT_MAX];
	char time[CLOCK_TEXT_MAX];

	fprintf(file, "%s%2" PRIu32 ". %s%s  ", text_bold(file), index + 1,
		duration_format(alert->running_ns ? alert->running_ns :
						    record->account.elapsed_ns,
				elapsed),
		text_plain(file));
	text_safe(file, record->comm);
	fprintf(file, "[%" PRIu32 "/%" PRIu32 "]", record->pid, record->tid);
	if (alert->loop)
		fprintf(file, ", event loop %" PRIu32, alert->loop);
	fprintf(file, ", unit %" PRIu64, record->unit);
	if (alert->is_cut)
		fprintf(file, " or more, its thread has ended\n    ");
	else if (alert->running_ns)
		fprintf(file, ", still running\n    of the first %s: ",
			duration_format(record->account.elapsed_ns, elapsed));
	else
		fprintf(file, ", ended %s\n    ",
			clock_format_local(record->time_ns, time));
	text_account(file, &record->account);
	fputc('\n', file);
	if (!alert->nr_stacks)
		fputs("    no stack: it ended before one was taken\n", file);
	text_stacks(file, alert, index, 4);
	fputc('\n', file);
}
