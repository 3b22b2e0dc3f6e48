// SPDX-License-Identifier: GPL-2.0
/* For people: many alike in few lines, and what is slow as a whole: types, and the machine. */

#include "out/alert/alert.h"

#include <inttypes.h>

#include "base/duration.h"
#include "base/time.h"
#include "out/alert/fold.h"
#include "out/alert/regression.h"
#include "out/alert/starvation.h"
#include "out/text.h"

enum { MAX_NAME = 28 }; /* columns of a function, or a type */

/* "type 7 (lookup, get)", or "7" for one line. */
static void print_name(FILE *file, uint32_t type, const char *name)
{
	char text[PARAGRAPH_MAX];

	fprintf(file, "type %" PRIu32, type);
	if (!name)
		return;
	fputs(" (", file);
	text_safe(file, text_cut(name, MAX_NAME, text, sizeof(text)));
	fputc(')', file);
}

void alert_folded_text(FILE *file, const struct fold_window *window, uint64_t window_ns,
		       uint64_t time_ns)
{
	const struct fold_subject *subject = &window->subject;
	char time[TIME_TEXT_MAX], min[DURATION_TEXT_MAX], max[DURATION_TEXT_MAX];
	char length[DURATION_TEXT_MAX], nr[TEXT_MAX], name[PARAGRAPH_MAX];

	fprintf(file, "%s %s%s%s %s more time%s in %s: ", time_format_local(time_ns, time),
		text_bold(file), subject->is_various ? "such" : "the same", text_plain(file),
		text_count(window->nr_units, nr),
		text_plural(window->nr_units), duration_format(window_ns, length));
	text_safe(file, subject->comm ? subject->comm : "?");
	if (subject->is_novel)
		fputs(", units that fit no type", file);
	if (subject->is_request)
		fputs(", late requests", file);
	fputc('\n', file);
	paragraph_heading(file, "");
	if (subject->type) {
		print_name(file, subject->type, subject->type_name);
		fputs(subject->function ? ", in " : "", file);
	} else if (!subject->is_request) {
		fputs(subject->function ? "in " : "", file);
	}
	if (subject->is_various && subject->is_request)
		fputs("of other causes", file);
	else if (subject->is_various)
		fputs(subject->type ? ", in other places" : "in other places", file);
	else if (subject->function)
		text_safe(file, text_cut(subject->function, MAX_NAME, name, sizeof(name)));
	fputc('\n', file);
	paragraph_heading(file, "");
	if (window->nr_ended == 1)
		fprintf(file, "one ended, after %s", duration_format(window->max_ns, max));
	else if (window->nr_ended)
		fprintf(file, "%s ended, after %s to %s", text_count(window->nr_ended, nr),
			duration_format(window->min_ns, min), duration_format(window->max_ns, max));
	if (window->nr_ended < window->nr_units)
		fprintf(file, "%s%s not, after up to %s", window->nr_ended ? "; " : "",
			text_count(window->nr_units - window->nr_ended, nr),
			duration_format(window->running_ns, max));
	fputc('\n', file);
}

void alert_level_text(FILE *file, const struct alert_level *level)
{
	const struct regression *regression = level->regression;
	char time[TIME_TEXT_MAX], now[DURATION_TEXT_MAX], before[DURATION_TEXT_MAX];
	char late[TEXT_MAX], units[TEXT_MAX], since[TIME_TEXT_MAX], text[PARAGRAPH_MAX];

	fprintf(file, "%s %s%s%s ", time_format_local(level->time_ns, time),
		regression->is_on ? text_red(file) : text_green(file),
		regression->is_on ? "SLOW" : "back", text_plain(file));
	text_safe(file, text_basename(level->exe));
	fputs(", ", file);
	print_name(file, level->type->id, level->type->name);
	fputc('\n', file);
	time_format_local(regression->since_ns, since);
	since[8] = '\0'; /* to the second */
	duration_format((uint64_t)regression->level_ns, now);
	text_count(regression->late, late);
	text_count(regression->units, units);
	snprintf(text, sizeof(text), "since %s its units %s %s", since,
		 regression->part == REGRESSION_CPU ? "compute" : "are blocked for", now);
	if (!regression->is_on)
		text_append(text, sizeof(text), " again");
	else
		text_append(text, sizeof(text), " instead of %s",
			    duration_format((uint64_t)regression->before_ns, before));
	if (regression->is_on && regression->before_ns >= 1)
		text_append(text, sizeof(text), ", %.3g times as long",
			    regression->level_ns / regression->before_ns);
	text_append(text, sizeof(text), "; %s of %s were late%s", late, units,
		    regression->is_on ? "" : " meanwhile");
	paragraph_print(file, "", text);
	if (regression->is_on && regression_covers(regression, 0, 0))
		paragraph_print(file, "", "its late units are not reported singly until it is back, "
				"except those far beyond");
}

void alert_starvation_text(FILE *file, const struct alert_starvation *alert)
{
	const struct starvation *starvation = alert->starvation;
	char time[TIME_TEXT_MAX], since[TIME_TEXT_MAX], starved[TEXT_MAX], units[TEXT_MAX];
	char text[PARAGRAPH_MAX];

	fprintf(file, "%s %s%s%s\n", time_format_local(alert->time_ns, time),
		starvation->is_on ? text_red(file) : text_green(file),
		starvation->is_on ? "STARVED: units wait for a CPU" : "no longer starved",
		text_plain(file));
	time_format_local(starvation->since_ns, since);
	since[8] = '\0'; /* to the second */
	snprintf(text, sizeof(text), "since %s %s of %s units waited for one longer than all of "
		 "their time may be%s", since, text_count(starvation->counts.starved, starved),
		 text_count(starvation->counts.units, units),
		 starvation->is_on ? "; otherwise they are in time" : "");
	paragraph_print(file, "", text);
	for (uint32_t i = 0; i < alert->nr_users; i++) {
		paragraph_heading(file, i ? "" : "CPUs");
		fprintf(file, "%.0f %% of one by process %" PRIu32 " (", 100 * alert->users[i].share,
			alert->users[i].pid);
		text_safe(file, alert->users[i].comm);
		fputs(")\n", file);
	}
}
