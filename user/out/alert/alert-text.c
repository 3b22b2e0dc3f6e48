// SPDX-License-Identifier: GPL-2.0
/*
 * Alerts for people: what is late and how much, how sure that is, where the
 * time went and why, and what to look at next; in 80 columns.
 */

#include "out/alert/alert.h"

#include <inttypes.h>
#include <string.h>

#include <linux/perfguard.h>

#include "base/duration.h"
#include "base/syscall-name.h"
#include "base/time.h"
#include "data/stack-copy.h"
#include "out/container-text.h"
#include "out/text.h"

enum {
	MAX_NAME = 44, /* columns of a function */
	MAX_SHORT_NAME = 28, /* where two stand in a line */
	MAX_STEPS = 12, /* of the path */
	INNER_STEPS = 2, /* inside of system libraries, at its end */
	OUTER_STEPS = 2, /* that stay where it is cut */
	MAX_PARTS = 3, /* of the reason */
	LINE_MAX_BYTES = PARAGRAPH_MAX,
};

/* "function", or "module+0x12" where it has no name, cut to @max columns. */
static char *label(const struct hotpath_place *place, size_t max, char text[LINE_MAX_BYTES])
{
	if (place->function)
		text_cut(place->function, max, text, LINE_MAX_BYTES);
	else if (place->module)
		snprintf(text, LINE_MAX_BYTES, "%.*s+0x%" PRIx64, (int)max,
			 text_basename(place->module), place->offset);
	else
		snprintf(text, LINE_MAX_BYTES, "0x%" PRIx64, place->offset);
	return text;
}

void alert_begin_text(FILE *file, const struct record *record, const char *colour,
		      const char *kind)
{
	char time[TIME_TEXT_MAX];

	fprintf(file, "%s %s%s%s ", time_format_local(record->time_ns, time), colour, kind,
		text_plain(file));
	text_safe(file, record->comm);
	fprintf(file, "[%" PRIu32 "/%" PRIu32 "]", record->pid, record->tid);
}

void alert_container_text(FILE *file, const struct record *record, const char *cgroup)
{
	char text[PARAGRAPH_MAX];

	if (container_text(cgroup, record->ns_pid, record->ns_tid, text, sizeof(text))[0])
		paragraph_print(file, "in", text);
}

/* "1.53", "23", "605": how many times as much. */
static char *times(double factor, char text[TEXT_MAX])
{
	snprintf(text, TEXT_MAX, factor < 9.95 ? "%.1f" : "%.0f", factor);
	return text;
}

/* In words; the odds are of this unit, and training shows how often they hold. */
static const char *sureness(const struct record *record)
{
	double confidence = alert_confidence(record);

	/* It judges by fewer guards than its odds were made for. */
	if (record->is_degraded)
		return confidence >= 0.7 ? "likely, though guards are off" :
					   "unsure, as guards are off";
	if (confidence >= 0.99)
		return "sure";
	if (confidence >= 0.9)
		return "nearly sure";
	if (confidence >= 0.7)
		return "likely";
	return "unsure";
}

static void print_type(FILE *file, const struct alert *alert)
{
	const struct record *record = alert->record;
	const struct alert_type *type = alert->type;
	char usual[DURATION_TEXT_MAX], text[LINE_MAX_BYTES], factor[TEXT_MAX];

	if (!record->profile_id)
		return;
	if (!type || (!alert->nr_met && record->kind == PERFGUARD_RECORD_KIND_LATE)) {
		paragraph_format(file, "type", "not known yet: it has met no guard, and has the largest limit "
				   "of all types");
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu32, type->id);
	if (type->name)
		text_append(text, sizeof(text), " (%s)", type->name);
	text_append(text, sizeof(text), ", %s%s", sureness(record),
		    record->is_novel ? ": it fits no type, this is the closest" : "");
	paragraph_print(file, "type", text);
	if (type->usual_ns < 1)
		return;
	if (alert_is_stop(record)) {
		paragraph_format(file, "normally", "%s for this type",
				 duration_format((uint64_t)type->usual_ns, usual));
		return;
	}
	paragraph_format(file, "normally", "%s for this type: it takes %s times that%s",
	     duration_format((uint64_t)type->usual_ns, usual),
	     times((double)(record->account.elapsed_ns - record->account.stopped_ns) /
		   type->usual_ns, factor),
	     type->is_carried ? "; its limit is carried from another build" :
	     type->is_rough ? "; its limit is a rough one, from few units" : "");
}

/*
 * The function where the time goes.  One without a name is identified by the first
 * one with a name that led to it, too.
 */
static char *first_name(const struct hotpath *hotpath, char text[LINE_MAX_BYTES])
{
	const struct hotpath_place *first = &hotpath->functions[0].place;
	const struct hotpath_step *caller = NULL;
	char name[LINE_MAX_BYTES];

	label(first, MAX_NAME, text);
	for (uint32_t i = 0; i < hotpath->nr_steps && !first->function; i++) {
		const struct hotpath_step *step = &hotpath->steps[i];

		if (step->place.offset == first->offset && !step->place.function) {
			if (!caller)
				break;
			text_append(text, LINE_MAX_BYTES, " below %s",
				    label(&caller->place, MAX_SHORT_NAME, name));
			break;
		}
		if (step->place.function && !hotpath_is_outer(&step->place))
			caller = step;
	}
	return text;
}

static void print_where(FILE *file, const struct alert *alert)
{
	const struct hotpath *hotpath = alert->hotpath;
	const struct hotpath_step *focus = hotpath_focus(hotpath);
	const struct hotpath_function *first;
	char name[LINE_MAX_BYTES], caller[LINE_MAX_BYTES], observed[DURATION_TEXT_MAX];

	if (!hotpath->nr_functions) {
		paragraph_format(file, "where", "not known: no stack was taken%s",
		     alert->record->kind == PERFGUARD_RECORD_KIND_LATE ? " yet" : " in time");
		return;
	}
	first = &hotpath->functions[0];
	duration_format(hotpath->ns, observed);
	if (hotpath->nr_stacks == 1)
		paragraph_format(file, "where", "%s when it was seen (one stack so far)",
		     first_name(hotpath, name));
	else if (focus)
		paragraph_format(file, "where", "%s and below, %.0f %% of the %s seen (%" PRIu32
		     " stacks); most of it in %s (%.0f %%)",
		     label(&focus->place, MAX_NAME, caller),
		     100 * hotpath_share(hotpath, focus->ns), observed, hotpath->nr_stacks,
		     label(&first->place, MAX_NAME, name),
		     100 * hotpath_share(hotpath, first->own_ns));
	else
		paragraph_format(file, "where", "%s, %.0f %% of the %s seen (%" PRIu32 " stacks)",
		     first_name(hotpath, name), 100 * hotpath_share(hotpath, first->own_ns),
		     observed, hotpath->nr_stacks);
}

static void print_met(FILE *file, const struct alert *alert, const char *name)
{
	char text[LINE_MAX_BYTES];

	for (uint32_t i = 0; i < alert->nr_unusual; i++) {
		const struct alert_met *met = &alert->met[alert->unusual[i]];
		const struct hotpath_place place = { met->module, NULL, met->offset,
						     met->function };
		const struct reason_context *context = &met->context;
		const char *more = context->hits >= 255 ? " or more" : "";

		label(&place, MAX_NAME, text);
		if (!context->is_known)
			paragraph_format(file, name, "ran %s where training never saw it", text);
		else if (!context->visits)
			paragraph_format(file, name, "ran %s, which this type never does", text);
		else if (reason_usual(context) < 0.05)
			paragraph_format(file, name, "ran %s, which this type hardly ever does", text);
		else
			paragraph_format(file, name, "ran %s %" PRIu32 "%s times, normally %.3g", text,
			     context->hits, more, reason_usual(context));
		name = "";
	}
}

static void print_why(FILE *file, const struct alert *alert)
{
	const struct reason *reason = alert->reason;
	char text[REASON_TEXT_MAX];
	const char *name = "why";

	for (uint32_t i = 0; i < reason->nr_parts && i < MAX_PARTS; i++) {
		paragraph_format(file, name, "%s", reason_part_text(reason, i, text));
		name = "";
	}
	print_met(file, alert, name);
}

/* "thread 816 (bio_lazy_free)" */
static char *holder(const struct alert_lock *lock, char text[LINE_MAX_BYTES])
{
	snprintf(text, LINE_MAX_BYTES, "thread %" PRIu32 "%s%s%s", lock->holder,
		 lock->comm[0] ? " (" : "", lock->comm, lock->comm[0] ? ")" : "");
	return text;
}

static void print_lock(FILE *file, const struct alert *alert)
{
	const struct alert_lock *lock = alert->lock;
	char text[LINE_MAX_BYTES], name[LINE_MAX_BYTES];

	if (!lock)
		return;
	snprintf(text, sizeof(text), "0x%" PRIx64, lock->address);
	if (lock->holder)
		text_append(text, sizeof(text), ", held by %s", holder(lock, name));
	else
		text_append(text, sizeof(text), ", its holder is not known");
	if (lock->stack && lock->stack->nr_frames)
		text_append(text, sizeof(text), ", which is in");
	for (uint32_t i = 0; lock->stack && i < lock->stack->nr_frames && i < 4; i++) {
		struct hotpath_place place = hotpath_place(&lock->stack->frames[i]);

		text_append(text, sizeof(text), "%s %s", i ? " <" : "",
			    label(&place, MAX_SHORT_NAME, name));
	}
	paragraph_print(file, "lock", text);
}

static void print_spent(FILE *file, const struct account *account)
{
	char cpu[DURATION_TEXT_MAX], queue[DURATION_TEXT_MAX];
	char blocked[DURATION_TEXT_MAX], text[LINE_MAX_BYTES];

	if (!text_has_account(account))
		return;
	duration_format(account->cpu_ns, cpu);
	duration_format(account->runqueue_ns, queue);
	duration_format(account->blocked_ns, blocked);
	snprintf(text, sizeof(text), "CPU %s, run queue %s, blocked %s", cpu, queue, blocked);
	if (account->has_block_io && account->block_io_ns)
		text_append(text, sizeof(text), " (block I/O %s)",
			    duration_format(account->block_io_ns, cpu));
	if (account->stopped_ns)
		text_append(text, sizeof(text), ", stopped %s",
			    duration_format(account->stopped_ns, cpu));
	paragraph_print(file, "spent", text);
}

static void print_step(FILE *file, const struct alert *alert, uint32_t index, const char *name)
{
	const struct hotpath_step *step = &alert->hotpath->steps[index];
	const char *module = text_basename(step->place.module);
	char text[LINE_MAX_BYTES];

	paragraph_heading(file, name);
	fprintf(file, "%3.0f %%  ", 100 * hotpath_share(alert->hotpath, step->ns));
	text_safe(file, label(&step->place, MAX_NAME, text));
	if (step->nr_calls > 1)
		fprintf(file, ", called %" PRIu32 " deep", step->nr_calls);
	if (step->by_several)
		fputs(", by several callers", file);
	if (step->place.function && step->place.module &&
	    strcmp(module, text_basename(alert->exe))) {
		fputs("  ", file);
		text_safe(file, module);
	}
	fputc('\n', file);
}

/* Outermost first; of a long one both ends, the inner more of it. */
static void print_path(FILE *file, const struct alert *alert)
{
	const struct hotpath *hotpath = alert->hotpath;
	uint32_t nr = hotpath->nr_steps, first = 0, left_out;
	const char *name = "path";

	if (nr && nr > hotpath_own_step(hotpath) + 1 + INNER_STEPS)
		nr = hotpath_own_step(hotpath) + 1 + INNER_STEPS;
	/* From main() on, or from a thread's first function. */
	while (first + 1 < nr && hotpath_is_outer(&hotpath->steps[first].place) &&
	       hotpath_is_outer(&hotpath->steps[first + 1].place))
		first++;
	left_out = nr - first > MAX_STEPS ? nr - first - MAX_STEPS : 0;
	for (uint32_t i = first; i < nr; i++) {
		if (left_out && i == first + OUTER_STEPS) {
			paragraph_heading(file, name);
			fprintf(file, "       ... %" PRIu32 " more ...\n", left_out);
			i += left_out;
		}
		print_step(file, alert, i, name);
		name = "";
	}
	if (alert->interpreter)
		paragraph_format(file, "runtime", "%s: these are functions of the interpreter, not of what it runs",
				 alert->interpreter);
}

void alert_where_text(FILE *file, const struct alert *alert, bool has_path)
{
	print_where(file, alert);
	if (!has_path)
		return;
	print_lock(file, alert);
	print_path(file, alert);
}

static void print_look_stop(FILE *file, const struct alert *alert)
{
	const struct record *record = alert->record;
	char text[PARAGRAPH_MAX];

	alert_stopper(alert, text);
	switch (record->stop_cause) {
	case PERFGUARD_STOP_CAUSE_SIGNAL:
		if (record->is_stopped)
			paragraph_format(file, "look at", "who sent %s; 'kill -CONT %" PRIu32 "' lets it go on",
					 text, record->pid);
		else
			paragraph_format(file, "look at", "who sent %s, and SIGCONT after it", text);
		break;
	case PERFGUARD_STOP_CAUSE_TRACER:
		paragraph_format(file, "look at", "%s: a debugger, or strace", text);
		break;
	case PERFGUARD_STOP_CAUSE_FREEZER:
		paragraph_format(file, "look at", "who uses %s, as a pause of its container does", text);
		break;
	}
}

/* What to do about it: whoever reads this has been woken up by it. */
static void print_look(FILE *file, const struct alert *alert)
{
	char text[LINE_MAX_BYTES] = "the unit";
	const struct hotpath_step *focus = hotpath_focus(alert->hotpath);
	enum reason_kind kind = REASON_NR_KINDS;
	const char *call = NULL;

	if (focus)
		label(&focus->place, MAX_NAME, text);
	else if (alert->hotpath->nr_functions)
		label(&alert->hotpath->functions[0].place, MAX_NAME, text);
	/* The dominating part of the time. */
	if (alert->reason->nr_parts) {
		kind = alert->reason->parts[0].kind;
		call = syscall_any_name(alert->reason->parts[0].syscall);
	}
	switch (kind) {
	case REASON_CPU:
		paragraph_format(file, "look at", "what %s was given to do: it computes", text);
		break;
	case REASON_RUNQUEUE:
		paragraph_format(file, "look at", "who has the CPUs: too few for this machine or cgroup%s%s",
		     alert->cgroup ? " " : "", alert->cgroup ? alert->cgroup : "");
		break;
	case REASON_LOCK:
		if (alert->lock && alert->lock->holder)
			paragraph_format(file, "look at", "%s: why it keeps the lock",
					 holder(alert->lock, text));
		else
			paragraph_format(file, "look at", "who else takes the lock that %s waits for", text);
		break;
	case REASON_IO:
		paragraph_format(file, "look at", "the file, pipe or disk that %s %s%s", text,
		     call ? "waits for in " : "waits for", call ? call : "");
		break;
	case REASON_SLEEP:
		paragraph_format(file, "look at", "why %s sleeps: nothing else keeps it", text);
		break;
	case REASON_WAIT:
		paragraph_format(file, "look at", "the other side that %s waits for%s%s", text,
		     call ? " in " : "", call ? call : "");
		break;
	case REASON_FAULTS:
		paragraph_format(file, "look at", "memory: swapping, or much of it used for the first time");
		break;
	case REASON_STOPPED:
		print_look_stop(file, alert);
		break;
	case REASON_BLOCKED:
	case REASON_NR_KINDS:
		break;
	}
}

static void print_lost(FILE *file, const struct record *record)
{
	char time[TIME_TEXT_MAX];

	fprintf(file, "%s %" PRIu64 " alert%s lost\n",
		time_format_local(record->time_ns, time), record->lost,
		record->lost == 1 ? " was" : "s were");
}

static void print_factor(FILE *file, const struct record *record)
{
	char factor[TEXT_MAX], stopped[DURATION_TEXT_MAX];

	if (alert_is_stop(record))
		fprintf(file, ", %s of it stopped",
			duration_format(record->account.stopped_ns, stopped));
	else if (record->threshold_ns)
		fprintf(file, ", %s times its limit",
			times((double)record_part_ns(record) / (double)record->threshold_ns,
			      factor));
}

/* The limit, and what of the unit's time exceeded it. */
static void print_limit(FILE *file, const struct record *record)
{
	char limit[DURATION_TEXT_MAX], ns[DURATION_TEXT_MAX];

	if (!record->threshold_ns)
		return;
	duration_format(record->threshold_ns, limit);
	duration_format(record_part_ns(record), ns);
	switch (record->part) {
	case PERFGUARD_PART_OWN:
		paragraph_format(file, "limit", "%s without the run queue, and it took %s", limit,
				 ns);
		break;
	case PERFGUARD_PART_CPU:
		paragraph_format(file, "limit", "%s of computing, and it computed %s", limit, ns);
		break;
	case PERFGUARD_PART_BLOCKED:
		paragraph_format(file, "limit", "%s blocked, and it was so for %s", limit, ns);
		break;
	case PERFGUARD_PART_BLOCK_IO:
		paragraph_format(file, "limit", "%s of block I/O, and it had %s", limit, ns);
		break;
	case PERFGUARD_PART_STOPPED:
		paragraph_format(file, "limit", "%s, within which it is otherwise", limit);
		break;
	default:
		paragraph_format(file, "limit", "%s for all of its time", limit);
	}
}

static void print_time(FILE *file, const struct alert *alert)
{
	const struct record *record = alert->record;
	char elapsed[DURATION_TEXT_MAX], start[TIME_TEXT_MAX];
	bool has_ended = record->kind == PERFGUARD_RECORD_KIND_ENDED;

	fprintf(file, ": %s%s%s%s", has_ended ? "took " : "", text_bold(file),
		duration_format(record->account.elapsed_ns, elapsed), text_plain(file));
	print_factor(file, record);
	fputc('\n', file);
	print_limit(file, record);
	paragraph_format(file, "unit", "%" PRIu64 ", since %s, %s", record->unit,
	     time_format_local(record->time_ns - record->account.elapsed_ns, start),
	     has_ended ? "ended" : "still running");
}

void alert_text(FILE *file, const struct alert *alert)
{
	const struct record *record = alert->record;

	if (record->kind == PERFGUARD_RECORD_KIND_LOST) {
		print_lost(file, record);
		return;
	}
	alert_begin_text(file, record, text_red(file),
			 alert_is_stop(record) ? "STOPPED" : "LATE");
	print_time(file, alert);
	alert_container_text(file, record, alert->cgroup);
	print_type(file, alert);
	if (!alert->hotpath || !alert->reason)
		return;
	print_where(file, alert);
	print_why(file, alert);
	print_lock(file, alert);
	print_spent(file, &record->account);
	print_path(file, alert);
	print_look(file, alert);
}

static const char *still_is(const struct record *record)
{
	if (!alert_is_stop(record))
		return "still late";
	return record->is_stopped ? "still stopped" : "goes on";
}

void alert_again_text(FILE *file, const struct alert *alert, uint64_t printed_ns, bool has_path)
{
	const struct record *record = alert->record;
	const struct hotpath *hotpath = alert->hotpath;
	bool has_ended = record->kind == PERFGUARD_RECORD_KIND_ENDED;
	char elapsed[DURATION_TEXT_MAX];

	alert_begin_text(file, record, has_ended ? text_bold(file) : text_red(file),
			 has_ended ? "ended" : still_is(record));
	fprintf(file, ": %s%s", has_ended ? "took " : "",
		duration_format(record->account.elapsed_ns, elapsed));
	print_factor(file, record);
	fputc('\n', file);
	if (!hotpath || !alert->reason || !hotpath->nr_functions)
		return;
	if (!has_ended) {
		print_where(file, alert);
		return;
	}
	/* What was printed holds for most of it. */
	if (record->account.elapsed_ns < 2 * printed_ns)
		return;
	print_where(file, alert);
	print_why(file, alert);
	if (has_path)
		print_path(file, alert);
}

void alert_novel_text(FILE *file, const struct alert *alert)
{
	const struct record *record = alert->record;
	char elapsed[DURATION_TEXT_MAX];

	alert_begin_text(file, record, text_bold(file), "novel");
	fprintf(file, ": fits no type; unit %" PRIu64 ", %s\n", record->unit,
		duration_format(record->account.elapsed_ns, elapsed));
}
