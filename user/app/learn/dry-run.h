/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a training would do to a program, found out without a probe in it.
 */
#ifndef _USER_APP_LEARN_DRY_RUN_H
#define _USER_APP_LEARN_DRY_RUN_H

#include "app/record/recording.h"

/*
 * Watch the program for some seconds, as an audit does, and print what was seen and what the stages
 * would do.  The recording was not begun.  Returns 0 or an exit code, reported.
 */
int dry_run(struct recording *recording);

#endif /* _USER_APP_LEARN_DRY_RUN_H */
