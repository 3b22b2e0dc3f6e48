/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many alerts of each kind the service has had.
 */
#ifndef _USER_APP_SERVE_ALERT_COUNTS_H
#define _USER_APP_SERVE_ALERT_COUNTS_H

#include "out/metrics/metrics.h"

enum { ALERT_KINDS = 10 };

struct alert_counts {
	struct metrics_kind of[ALERT_KINDS];
};

void alert_counts_init(struct alert_counts *counts);

/* One of this kind, as its JSON has it; one that is not known is "other". */
void alert_counts_add(struct alert_counts *counts, const char *kind);

#endif /* _USER_APP_SERVE_ALERT_COUNTS_H */
