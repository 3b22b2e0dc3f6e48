/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stage of timing: the module guards the target by the profile that is being
 * made, as it will later, but nothing is late and no guard is shed.
 */
#ifndef _USER_APP_RECORD_RECORDING_GUARDS_H
#define _USER_APP_RECORD_RECORDING_GUARDS_H

#include "app/record/recording.h"
#include "data/model.h"

/*
 * Begin an empty trace of units, and arm.  Both return 0 or an exit code, reported.
 */
int recording_arm_guards(struct recording *recording, const struct samples *samples,
			 const struct model *model);

/* Guard no more, and record as before.  Nothing to do if nothing was armed. */
int recording_disarm_guards(struct recording *recording);

#endif /* _USER_APP_RECORD_RECORDING_GUARDS_H */
