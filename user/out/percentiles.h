/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long something took: percentiles, the longest, and the mean.
 */
#ifndef _USER_OUT_PERCENTILES_H
#define _USER_OUT_PERCENTILES_H

#include <stdint.h>
#include <stdio.h>

#include "out/json.h"

struct percentiles {
	const uint64_t *hist; /* PERFGUARD_HIST_BUCKETS of them */
	uint64_t nr;
	uint64_t sum_ns;
	uint64_t max_ns;
};

/* An object @key; its values are null if there is nothing. */
void percentiles_json(struct json *json, const char *key, const struct percentiles *of);

/* Two lines, the first of which begins with @what, of up to 11 columns; there is at least one. */
void percentiles_text(FILE *file, const char *what, const struct percentiles *of);

#endif /* _USER_OUT_PERCENTILES_H */
