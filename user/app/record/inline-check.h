/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What pg-collect check --inline says: which functions would be recorded by jumps.
 */
#ifndef _USER_APP_RECORD_INLINE_CHECK_H
#define _USER_APP_RECORD_INLINE_CHECK_H

struct findings;
struct selector;

/*
 * Of each file that the process maps; without one, of the program's file.  Returns 0 or an exit
 * code, reported.
 */
int inline_check(struct findings *findings, const struct selector *selector);

#endif /* _USER_APP_RECORD_INLINE_CHECK_H */
