// SPDX-License-Identifier: GPL-2.0

#include "app/serve/alert-counts.h"

#include <string.h>

void alert_counts_init(struct alert_counts *counts)
{
	static const char *const kinds[ALERT_KINDS] = {
		"late", "ended", "novel", "request", "repeated", "lost", "level", "starved",
		"replaced", "other",
	};

	for (int i = 0; i < ALERT_KINDS; i++)
		counts->of[i] = (struct metrics_kind){ kinds[i], 0 };
}

void alert_counts_add(struct alert_counts *counts, const char *kind)
{
	int i = 0;

	while (i < ALERT_KINDS - 1 && strcmp(counts->of[i].name, kind))
		i++;
	counts->of[i].nr++;
}
