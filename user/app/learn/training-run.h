/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stages of training on a program that runs: recorded and learnt from
 * (train), or recorded for another machine (record).
 */
#ifndef _USER_APP_LEARN_TRAINING_RUN_H
#define _USER_APP_LEARN_TRAINING_RUN_H

#include "app/learn/learning.h"
#include "app/record/recording.h"

struct training_run {
	struct recording recording;
	struct learning learning; /* of the profile; for record the one of --timing */
	const char *trace_path; /* for record */
	uint64_t duration_ns; /* of all stages and runs */
	uint32_t runs;
	bool is_dry; /* say what would be done, and do not do it */
};

/* Options of a struct training_run. */
extern const struct option_spec training_run_options[];

void training_run_init(struct training_run *run, const char *verb, uint64_t duration_ns);

/* Both clear @run and return 0 or an exit code; the error was reported. */
int training_run_train(struct training_run *run);
int training_run_record(struct training_run *run);

#endif /* _USER_APP_LEARN_TRAINING_RUN_H */
