/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether what guarding costs and how much is late are as it was declared: the budget,
 * and the rule of the limits.
 */
#ifndef _USER_APP_WATCH_EXPECTATION_H
#define _USER_APP_WATCH_EXPECTATION_H

#include <stdbool.h>
#include <stdint.h>

struct status_profile;

/* A share of units, and between which it is with 99.8 % certainty, if they are independent. */
struct expectation_share {
	double share;
	double least;
	double most;
};

struct expectation_share expectation_share(uint64_t late, uint64_t units);

/* The share of units that is late where nothing is wrong; negative if that is not known. */
double expectation_late(const struct status_profile *profile);

/* Return: true if more is late than that, and not by chance. */
bool expectation_is_late(const struct status_profile *profile);

/* Return: true if guarding has taken more than its budget, for long enough to say so. */
bool expectation_is_costly(const struct status_profile *profile);

/* Print what is not as it was declared, and what to do. */
void expectation_text(const struct status_profile *profile);

#endif /* _USER_APP_WATCH_EXPECTATION_H */
