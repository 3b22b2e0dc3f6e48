// SPDX-License-Identifier: GPL-2.0

#include "out/percentiles.h"

#include "base/duration.h"
#include "data/histogram.h"

static const struct {
	const char *key;
	const char *heading;
	double permille;
} percentiles[] = {
	{ "p50", "p50", 500 }, { "p90", "p90", 900 }, { "p99", "p99", 990 }, { "p999", "p99.9", 999 },
};

enum { NR_PERCENTILES = sizeof(percentiles) / sizeof(percentiles[0]) };

static uint64_t percentile(const struct percentiles *of, size_t index)
{
	return histogram_percentile(of->hist, percentiles[index].permille, of->max_ns);
}

void percentiles_json(struct json *json, const char *key, const struct percentiles *of)
{
	json_object(json, key);
	for (size_t i = 0; i < NR_PERCENTILES; i++)
		json_u64_or_null(json, percentiles[i].key, percentile(of, i), of->nr);
	json_u64_or_null(json, "max", of->max_ns, of->nr);
	json_u64_or_null(json, "mean", of->nr ? of->sum_ns / of->nr : 0, of->nr);
	json_end(json);
}

void percentiles_text(FILE *file, const char *what, const struct percentiles *of)
{
	char text[DURATION_TEXT_MAX];

	fprintf(file, "%-11s", what);
	for (size_t i = 0; i < NR_PERCENTILES; i++)
		fprintf(file, " %9s", percentiles[i].heading);
	fprintf(file, " %9s %9s\n           ", "max", "mean");
	for (size_t i = 0; i < NR_PERCENTILES; i++)
		fprintf(file, " %9s", duration_format(percentile(of, i), text));
	fprintf(file, " %9s", duration_format(of->max_ns, text));
	fprintf(file, " %9s\n", duration_format(of->sum_ns / of->nr, text));
}
