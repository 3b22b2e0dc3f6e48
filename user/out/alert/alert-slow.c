// SPDX-License-Identifier: GPL-2.0
/* The slowest units of an audit, with their stacks. */

#include "out/alert/alert.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <linux/perfguard.h>

#include "base/duration.h"
#include "base/time.h"
#include "out/text.h"

/* Frames of a stack that are printed as text; an even number. */
#define MAX_FRAMES 40

static bool is_same_frame(const struct frame *a, const struct frame *b)
{
	/* Two programs without address randomisation have equal addresses. */
	return a->pc == b->pc && (a->module == b->module ||
				  (a->module && b->module && !strcmp(a->module, b->module)));
}

/* Outer frames that two stacks share. */
static uint32_t nr_common(const struct alert_stack *a, const struct alert_stack *b)
{
	uint32_t nr = 0;

	while (nr < a->nr_frames && nr < b->nr_frames &&
	       is_same_frame(&a->frames[a->nr_frames - 1 - nr], &b->frames[b->nr_frames - 1 - nr]))
		nr++;
	return nr;
}

static bool is_same_stack(const struct alert_stack *a, const struct alert_stack *b)
{
	if (a->tid != b->tid || a->nr_frames != b->nr_frames)
		return false;
	return nr_common(a, b) == a->nr_frames;
}

static uint32_t nr_same(const struct alert *alert, uint32_t index)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < alert->nr_stacks; i++)
		nr += is_same_stack(&alert->stacks[i], &alert->stacks[index]);
	return nr;
}

/* The stack of the unit's thread that was seen most often, of equal ones the first. */
static uint32_t most_seen(const struct alert *alert)
{
	uint32_t best = 0, most = 0;

	for (uint32_t i = 0; i < alert->nr_stacks; i++) {
		uint32_t nr = alert->stacks[i].tid ? 0 : nr_same(alert, i);

		if (nr <= most)
			continue;
		most = nr;
		best = i;
	}
	return best;
}

static void stack_title(FILE *file, const struct alert *alert, uint32_t index, int indent)
{
	const struct alert_stack *stack = &alert->stacks[index];
	char into[DURATION_TEXT_MAX];
	uint32_t all = 0;

	for (uint32_t i = 0; i < alert->nr_stacks; i++)
		all += !alert->stacks[i].tid;
	fprintf(file, "%*sstack", indent, "");
	if (stack->tid)
		fprintf(file, " of thread %" PRIu32 ", which holds the lock,", stack->tid);
	if (stack->into_ns)
		fprintf(file, " %s into the unit", duration_format(stack->into_ns, into));
	if (stack->state == PERFGUARD_STACK_STATE_BLOCKED)
		fputs(", in the kernel", file);
	else if (stack->state == PERFGUARD_STACK_STATE_RUNNING)
		fputs(", running", file);
	else if (stack->state == PERFGUARD_STACK_STATE_STOPPED)
		fputs(", stopped", file);
	if (all > 1)
		fprintf(file, ", in %" PRIu32 " of %" PRIu32 " samples", nr_same(alert, index),
			all);
	fputs(":\n", file);
}

/* A stack that was printed before. */
struct printed {
	const struct alert_stack *stack; /* or NULL */
	uint32_t rank; /* of its unit; 0 for the unit at hand */
};

/* Of the printed stacks of @nr alerts, ranked from 1, that most like @stack. */
static struct printed find_similar(const struct alert *alerts, uint32_t nr,
				   const struct alert_stack *stack)
{
	struct printed best = { 0 };
	uint32_t most = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct alert_stack *printed = &alerts[i].stacks[most_seen(&alerts[i])];
		uint32_t common = alerts[i].nr_stacks ? nr_common(stack, printed) : 0;

		if (common <= most)
			continue;
		most = common;
		best = (struct printed){ printed, i + 1 };
	}
	return best;
}

/* Frames of @stack; those it shares with @above in one line. */
static void text_frames(FILE *file, const struct alert_stack *stack, const struct printed *above,
			int indent)
{
	uint32_t common = above->stack ? nr_common(stack, above->stack) : 0;
	uint32_t nr = stack->nr_frames;

	/* The first frame in common shows where they part. */
	if (common > 2)
		nr -= common - 1;
	for (uint32_t i = 0; i < nr; i++) {
		/* Of an endless recursion, both ends show most. */
		if (nr > MAX_FRAMES && i == MAX_FRAMES / 2) {
			i = nr - MAX_FRAMES / 2;
			fprintf(file, "%*s... %" PRIu32 " frames ...\n", indent, "",
				nr - MAX_FRAMES);
		}
		fprintf(file, "%*s#%-3" PRIu32, indent, "", i);
		text_frame(file, &stack->frames[i]);
		fputc('\n', file);
	}
	if (nr < stack->nr_frames && above->rank)
		fprintf(file, "%*s... and so on as above in %" PRIu32 ".\n", indent, "",
			above->rank);
	else if (nr < stack->nr_frames)
		fprintf(file, "%*s... and so on as above\n", indent, "");
	else if (stack->end)
		fprintf(file, "%*s(it goes on, but could not be followed: %s)\n", indent, "",
			stack->end);
}

static bool is_seen(const struct alert *alert, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (is_same_stack(&alert->stacks[i], &alert->stacks[index]))
			return true;
	return false;
}

static uint32_t nr_different(const struct alert *alert)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < alert->nr_stacks; i++)
		nr += !is_seen(alert, i);
	return nr;
}

/* The first stack of a thread that holds the lock which the unit waited for; or nr_stacks. */
static uint32_t first_holder(const struct alert *alert)
{
	uint32_t i = 0;

	while (i < alert->nr_stacks && !alert->stacks[i].tid)
		i++;
	return i;
}

/*
 * The stack that was seen most, and that of who held the lock; where there are others, on which
 * path the time went before.  Those of @before alerts, which stand before this one in its
 * array, have been printed.
 */
static void text_stacks(FILE *file, const struct alert *alert, uint32_t before, int indent)
{
	uint32_t most = most_seen(alert), holder = first_holder(alert), nr = nr_different(alert);
	uint32_t nr_printed = 1;
	struct printed above;

	if (nr > 1)
		alert_where_text(file, alert, true);
	stack_title(file, alert, most, indent);
	above = find_similar(alert - before, before, &alert->stacks[most]);
	text_frames(file, &alert->stacks[most], &above, indent + 2);
	if (holder < alert->nr_stacks && holder != most) {
		above = (struct printed){ .stack = &alert->stacks[most] };
		stack_title(file, alert, holder, indent);
		text_frames(file, &alert->stacks[holder], &above, indent + 2);
		nr_printed++;
	}
	if (nr > nr_printed)
		fprintf(file, "%*sand %" PRIu32 " other stack%s (--json has all)\n", indent, "",
			nr - nr_printed, nr == nr_printed + 1 ? "" : "s");
}

void alert_slow_text(FILE *file, const struct alert *alerts, uint32_t index)
{
	const struct alert *alert = &alerts[index];
	const struct record *record = alert->record;
	char elapsed[DURATION_TEXT_MAX];
	char time[TIME_TEXT_MAX], stopper[PARAGRAPH_MAX];

	fprintf(file, "%s%2" PRIu32 ". %s%s  ", text_bold(file), index + 1,
		duration_format(alert->running_ns ? alert->running_ns : record->account.elapsed_ns,
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
		fprintf(file, ", ended %s\n    ", time_format_local(record->time_ns, time));
	text_account(file, &record->account);
	fputc('\n', file);
	if (record->stop_cause)
		fprintf(file, "    stopped %s by %s\n",
			duration_format(record->account.stopped_ns, elapsed),
			alert_stopper(alert, stopper));
	if (!alert->nr_stacks)
		fputs("    no stack: it ended before one was taken\n", file);
	else
		text_stacks(file, alert, index, 4);
	fputc('\n', file);
}
