/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A time that few units of a type exceed, by a rule, from their times alone.
 *
 * rate:R is free of any assumption about the distribution but that units are
 * alike and independent: of n timed units take the k-th largest time, with the
 * greatest k for which the chance that more than R of all units exceed it is
 * at most 5 %.  That chance is P(Binomial(n, R) < k).  For R = 0.001 it takes
 * 2,995 units until the largest time, k = 1, is good for it.
 *
 * sigma:K is the paper's mean + K standard deviations.
 *
 * Too few units for that: twice the largest time; with less than a tenth of
 * what is needed, at least the loop's threshold, which is that of all its
 * units taken together.  No unit at all: the loop's largest time.
 */
#ifndef _USER_TRAIN_MODEL_THRESHOLD_H
#define _USER_TRAIN_MODEL_THRESHOLD_H

#include "data/model.h"

enum threshold_kind {
	THRESHOLD_RATE,
	THRESHOLD_SIGMA,
};

struct threshold_rule {
	enum threshold_kind kind;
	double value; /* R, above 0 and at most 0.5; or K, above 0 */
};

struct threshold {
	uint64_t ns; /* 0: nothing was timed */
	enum model_confidence confidence;
	uint64_t units_needed; /* more, for full confidence */
	double false_alarms; /* expected share of units beyond it */
};

/* "rate:R" or "sigma:K".  Returns 0 or -EINVAL. */
int threshold_parse(const char *text, struct threshold_rule *ret);

/* Units that must be timed for full confidence. */
uint64_t threshold_units(const struct threshold_rule *rule);

/* The k of above for @nr units, 0 if there are too few. */
uint64_t threshold_order(uint64_t nr, double rate);

/* @times are the type's, @loop those of all units of its loop. */
struct threshold threshold_find(const struct threshold_rule *rule,
				const struct samples_times *times,
				const struct samples_times *loop);

#endif /* _USER_TRAIN_MODEL_THRESHOLD_H */
