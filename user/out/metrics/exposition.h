/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metrics as text, a line for each sample: the text format 0.0.4 of Prometheus, or OpenMetrics
 * 1.0.  Samples of a family stand together, behind what the family is; one without a sample is
 * left out.
 */
#ifndef _USER_OUT_METRICS_EXPOSITION_H
#define _USER_OUT_METRICS_EXPOSITION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum exposition_type {
	EXPOSITION_COUNTER,
	EXPOSITION_GAUGE,
	EXPOSITION_HISTOGRAM,
	EXPOSITION_INFO,
};

/* The name is without the suffix that the type has. */
struct exposition_family {
	const char *name;
	const char *unit; /* which the name ends with; NULL: none */
	const char *help;
	enum exposition_type type;
};

struct exposition {
	FILE *file;
	bool is_open_metrics;
	const struct exposition_family *family;
	const char *labels; /* of the samples that come, as exposition_label() writes them; "": none */
	/* private: */
	bool has_begun; /* the family */
};

/* Samples of this family come now. */
void exposition_begin(struct exposition *text, const struct exposition_family *family);
/* No more come. */
void exposition_end(struct exposition *text);

/*
 * A label, behind others if @is_first is not set.  The value may have any bytes: what is not
 * UTF-8 becomes U+FFFD.
 */
void exposition_label(FILE *file, bool is_first, const char *name, const char *value);

/* A sample.  @value is that of label @name, which is no word of others; both NULL: no more labels. */
void exposition_u64(struct exposition *text, const char *name, const char *value, uint64_t number);
void exposition_real(struct exposition *text, const char *name, const char *value, double number);
/* Times are in seconds. */
void exposition_ns(struct exposition *text, const char *name, const char *value, uint64_t ns);

/* Of a histogram: how many took at most @ns, which is UINT64_MAX for all; in rising order. */
void exposition_bucket(struct exposition *text, uint64_t ns, uint64_t number);
/* Behind the buckets: the sum of all times, and their number. */
void exposition_histogram_end(struct exposition *text, uint64_t ns, uint64_t number);

#endif /* _USER_OUT_METRICS_EXPOSITION_H */
