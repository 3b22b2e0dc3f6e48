// SPDX-License-Identifier: GPL-2.0

#include "app/common/check-report.h"

#include <stdarg.h>
#include <stdio.h>

#include "out/line.h"
#include "out/text.h"

static const char *const verdict_names[] = { "ok", "note", "unknown", "bad" };

static void print_json(struct json *json, enum finding_verdict verdict, const char *subject,
		       const char *advice, const char *finding)
{
	line_begin(json, "finding", 0);
	json_string(json, "subject", subject);
	json_string(json, "verdict", verdict_names[verdict]);
	json_string(json, "finding", finding);
	json_string(json, "advice", advice);
	line_end(json, stdout);
}

void findings_add(struct findings *findings, enum finding_verdict verdict, const char *subject,
		  const char *advice, const char *format, ...)
{
	bool is_bad = verdict == FINDING_BAD;
	char finding[256];
	va_list args;

	va_start(args, format);
	vsnprintf(finding, sizeof(finding), format, args);
	va_end(args);
	findings->is_bad |= is_bad;
	if (findings->is_json) {
		print_json(&findings->json, verdict, subject, advice, finding);
		return;
	}
	printf("%s%-8s%s %-16s %s", is_bad ? text_bold(stdout) : "", verdict_names[verdict],
	       is_bad ? text_plain(stdout) : "", subject, finding);
	if (advice)
		printf("; %s", advice);
	putchar('\n');
}

void findings_deinit(struct findings *findings)
{
	json_deinit(&findings->json);
}
