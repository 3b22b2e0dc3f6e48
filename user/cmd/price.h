/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What guarding costs on this machine, tried out: pg-collect is guarded itself
 * for a moment, and comes by guards and wait calls of its own.
 */
#ifndef _PGUARD_PRICE_H
#define _PGUARD_PRICE_H

#include "base/armed.h"

/* All but the budget of *@ret.  Returns 0 or an exit code, told in one line. */
int price_measure(struct armed_prices *ret);

#endif /* _PGUARD_PRICE_H */
