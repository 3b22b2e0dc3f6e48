/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How and when a profile was trained.  Plain data.
 */
#ifndef _USER_DATA_TRAINING_H
#define _USER_DATA_TRAINING_H

#include <stdint.h>

struct training {
	char tool[32]; /* version of pg-collect that wrote it last */
	char settings[256]; /* options of the last run, as on the command line */
	uint64_t created_s; /* since the epoch, UTC */
	uint64_t changed_s;
};

#endif /* _USER_DATA_TRAINING_H */
