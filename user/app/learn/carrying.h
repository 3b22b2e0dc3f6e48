/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a profile of one build of a program to one of another build, without a training.
 */
#ifndef _USER_APP_LEARN_CARRYING_H
#define _USER_APP_LEARN_CARRYING_H

#include "app/learn/learning.h"

/*
 * Take over the profile at @from into @learning, for the program at @exe, or the one that is
 * where the profile's was, if that is NULL; and say what was left out.  Returns 0 or an exit
 * code, reported.
 */
int profile_carry(struct learning *learning, const char *from, const char *exe);

#endif /* _USER_APP_LEARN_CARRYING_H */
