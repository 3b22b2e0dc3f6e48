/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long the units of each type take, as far as the traced ones show.  A unit
 * with every call traced takes many times as long as without, and those that
 * call much most of all; but one that takes ten times as long as another does
 * so in either case, and what is compared is the logarithm.
 */
#ifndef _USER_TRAIN_GUARDS_LEVELS_H
#define _USER_TRAIN_GUARDS_LEVELS_H

#include "train/types/types.h"

/*
 * @ret gets log2 of the time of each type, of its units learnt from; of few units it is drawn
 * to that of the loop, which is also that of a type without times.  Returns 0 or -ENOMEM.
 */
int levels_of_types(const struct samples *samples, const struct types *types, double *ret);

#endif /* _USER_TRAIN_GUARDS_LEVELS_H */
