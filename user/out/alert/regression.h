/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A type that has become slow as a whole: then its late units are no news,
 * and the change of level is.
 *
 * The module's sums of the type are read about once a second.  A window
 * ends with the first reading by which 20 units have ended.  The level has changed
 * after two windows in a row in each of which at least half of the units were
 * late and their mean was 1.5 times that before; it is back after two in a row
 * in each of which less than a quarter were late.  So a stall that makes what
 * was under way late, once, is no level, and a level that hovers at the
 * threshold is reported once.
 *
 * A mean alone does not make a level: units of many types take times with so
 * heavy a tail that the mean of 20 of them, or of 200, moves by itself.
 */
#ifndef _USER_OUT_ALERT_REGRESSION_H
#define _USER_OUT_ALERT_REGRESSION_H

#include <stdbool.h>
#include <stdint.h>

/* Sums over the units of a type that ended, ever rising. */
struct regression_sums {
	uint64_t units; /* in time */
	uint64_t late;
	uint64_t elapsed_ns; /* of those in time */
	uint64_t late_elapsed_ns;
};

enum regression_change {
	REGRESSION_NONE,
	REGRESSION_BEGUN,
	REGRESSION_OVER,
};

struct regression {
	bool is_on; /* its units are slow now */
	double before_ns; /* mean before that; 0: not known */
	double level_ns; /* mean of the windows that showed the last change */
	uint64_t since_ns; /* of the last change: begin of the first window with it */
	uint64_t units; /* ended since then, late ones too */
	uint64_t late;
	/* private: */
	bool has_begun;
	uint32_t nr_turned; /* windows in a row that speak for a change */
	uint64_t begin_ns;
	struct regression_sums begin; /* of the window */
	uint64_t turned_ns; /* begin of the first of those windows */
	struct regression_sums turned;
	struct regression_sums change; /* at since_ns */
};

/*
 * Look at the type's sums.  Times are of any one clock.  @trained_ns is the mean
 * time of its units in training, 0 if not known: it serves until 20 units were
 * in time.
 */
enum regression_change regression_update(struct regression *regression,
					 const struct regression_sums *sums, uint64_t now_ns,
					 double trained_ns);

/*
 * Return: true if a late unit of this time is a part of the level.  One that takes many
 * times as long as the others now do is not.
 */
bool regression_covers(const struct regression *regression, uint64_t elapsed_ns,
		       uint64_t threshold_ns);

#endif /* _USER_OUT_ALERT_REGRESSION_H */
