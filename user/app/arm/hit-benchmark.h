/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What guarding costs on this machine, tried out: pg-collect is guarded itself
 * for a moment, and comes by guards and wait calls of its own.
 */
#ifndef _USER_APP_ARM_HIT_BENCHMARK_H
#define _USER_APP_ARM_HIT_BENCHMARK_H

#include "data/armed.h"

/* All but the budget of *@ret.  Returns 0 or an exit code, after one line that says why. */
int price_measure(struct armed_prices *ret);

#endif /* _USER_APP_ARM_HIT_BENCHMARK_H */
