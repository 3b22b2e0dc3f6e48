/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A type that has become slow as a whole: its units compute longer than before,
 * or are blocked longer, be it by a twentieth.
 *
 * The module's sums of the type are read about once a second.  What has ended
 * between two readings, 20 units or more, is a batch, and has a mean for each
 * part.  The first batches, of a second or more, are the reference: how long the
 * part is, and how far means of batches are from it by themselves.  From then on
 * a sequential test adds up how much more likely each batch is at a level 5 %
 * above the reference than at the reference (CUSUM; Page, Biometrika 41, 1954),
 * and a sum beyond REGRESSION_EVIDENCE is a change that began where the sum was
 * last zero.  Without a change that comes once in e^20 batches: with a hundred
 * types once in two months.  No batch is more than a quarter of the evidence, nor
 * one of less than half a second more than its share of that, so that a stall that
 * makes whatever is under way late, once, is no level.  The same test tells that
 * it is back.
 *
 * What a unit waits for a CPU is in none of it.
 */
#ifndef _USER_OUT_ALERT_REGRESSION_H
#define _USER_OUT_ALERT_REGRESSION_H

#include <stdbool.h>
#include <stdint.h>

#define REGRESSION_EVIDENCE 20.0

/* Sums over the units of a type that ended, ever rising. */
struct regression_sums {
	uint64_t units; /* all */
	uint64_t late; /* of them */
	uint64_t cpu_ns;
	uint64_t blocked_ns;
};

enum regression_change {
	REGRESSION_NONE,
	REGRESSION_BEGUN,
	REGRESSION_OVER,
};

enum regression_part {
	REGRESSION_CPU,
	REGRESSION_BLOCKED,
	REGRESSION_NR_PARTS,
};

/* Mean times of a type's units in training, by part, ns; 0: not known. */
struct regression_trained {
	double ns[REGRESSION_NR_PARTS];
};

/* A sum of evidence, and where it began to rise. */
struct regression_evidence {
	double sum;
	uint64_t since_ns;
	struct regression_sums since;
};

/* How long one part of its units is, and the test that this has changed. */
struct regression_level {
	/* The reference; without as many batches as it takes, it is not known yet. */
	bool is_known;
	uint32_t nr;
	uint64_t units;
	uint64_t length_ns; /* in which these units ended */
	double mean_ns;
	double whole_ns; /* of both parts */
	double squares; /* of batches from their mean, sum */
	struct regression_evidence rising, falling;
};

struct regression {
	bool is_on; /* its units are slow now */
	enum regression_part part; /* the one that changed */
	double before_ns; /* mean of it before that */
	double level_ns; /* and since the last change, until it was found */
	uint64_t since_ns; /* of the last change */
	uint64_t units; /* ended since then, late ones too */
	uint64_t late;
	/* private: */
	bool has_begun;
	uint64_t begin_ns;
	struct regression_sums begin; /* of the batch */
	struct regression_sums change; /* at since_ns */
	struct regression_level levels[REGRESSION_NR_PARTS];
};

/* "cpu", "blocked": as alerts name the part of a unit's time. */
const char *regression_part_name(enum regression_part part);

/*
 * Look at the type's sums.  Times are of any one clock.  Until there is a reference,
 * the means of training serve, for a change by half at least that makes half of the units
 * late.
 */
enum regression_change regression_update(struct regression *regression,
					 const struct regression_sums *sums, uint64_t now_ns,
					 const struct regression_trained *trained);

/*
 * Return: how soon the next reading is worth it, 0.25 to 5 s: with a hundred units of the
 * type, and within a second while there may be a change.
 */
uint64_t regression_step_ns(const struct regression *regression);

/*
 * Return: true if a late unit of this time is a part of the level.  None is of a level at which
 * few are late, nor one that takes many times as long as the others now do.
 */
bool regression_covers(const struct regression *regression, uint64_t elapsed_ns,
		       uint64_t threshold_ns);

#endif /* _USER_OUT_ALERT_REGRESSION_H */
