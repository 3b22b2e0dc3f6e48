/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What pg-collect check finds out: one line, or one JSON object, for each thing.
 */
#ifndef _USER_APP_COMMON_CHECK_REPORT_H
#define _USER_APP_COMMON_CHECK_REPORT_H

#include <stdbool.h>

#include "out/json.h"

enum finding_verdict {
	FINDING_OK,
	FINDING_NOTE, /* it works, with a limitation */
	FINDING_UNKNOWN,
	FINDING_BAD,
};

struct findings {
	bool is_json;
	bool is_bad; /* one of them was */
	struct json json;
};

/* Print one.  @advice: what to do; NULL for nothing. */
void findings_add(struct findings *findings, enum finding_verdict verdict, const char *subject,
		  const char *advice, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

void findings_deinit(struct findings *findings);

#endif /* _USER_APP_COMMON_CHECK_REPORT_H */
