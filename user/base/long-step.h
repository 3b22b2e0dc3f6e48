/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steps that can take long and cannot say themselves how far they are: while one lasts, what it
 * is and for how long is printed, as progress, so often that two seconds never pass without a
 * message, by a thread that does nothing else.  One at a time; a step within another one is a part of it.
 */
#ifndef _USER_BASE_LONG_STEP_H
#define _USER_BASE_LONG_STEP_H

/* @what, as "putting 35,492 sites in": stays until the end. */
void long_step_begin(const char *what);
void long_step_end(void);

#endif /* _USER_BASE_LONG_STEP_H */
