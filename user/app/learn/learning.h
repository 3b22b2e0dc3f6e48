/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From what was recorded to a profile: joined to what the profile knew, and
 * derived again.
 */
#ifndef _USER_APP_LEARN_LEARNING_H
#define _USER_APP_LEARN_LEARNING_H

#include <stdbool.h>

#include "app/common/limit-options.h"
#include "app/common/options.h"
#include "data/model.h"
#include "data/samples.h"
#include "data/trace.h"
#include "data/training.h"
#include "train/model/derive.h"
#include "train/samples/extract.h"

struct learning {
	/* Set by the operator. */
	const char *path; /* of the profile */
	const char *units_path; /* where to list the units; NULL: nowhere */
	struct derive_options options;
	struct limit_options limits; /* to be kept in the profile */

	struct samples samples; /* all that is known */
	struct model model;
	struct clustering clustering; /* of the samples, when they were last made a model of */
	struct training training;
	char settings[sizeof(((struct training *)0)->settings)]; /* of this run */
	/* The units of the last structure run, with the hash of their trees. */
	struct extract_result units;
	uint64_t *tree_hashes; /* by tree of that run */
	bool *tree_seen; /* in a unit that was learnt from */
	uint64_t *loop_hashes; /* by loop of that run */
};

/* Options that learn and train share, of a struct learning. */
extern const struct option_spec learning_options[];

void learning_init(struct learning *learning);

/* Check, once all are parsed, that the options go together.  Returns 0 or CMD_USAGE. */
int learning_check_options(const struct learning *learning, const char *verb);

/* All that follow return 0 or an exit code; the error was reported. */

/* Check that what is to be written can be, before all work. */
int learning_check_output(const struct learning *learning);

/* Load the profile if there is one; learning_open(): it must be of this program. */
int learning_load(struct learning *learning);
int learning_open(struct learning *learning, const char *exe, const char *build_id);

/* Add what 'pg-collect record' wrote to the file at @path. */
int learning_add_file(struct learning *learning, const char *path);

/* Derive the model again, as by other options. */
int learning_derive(struct learning *learning);

/* Add the trace of a structure run, which is sorted, and derive the model. */
int learning_add_structure(struct learning *learning, const struct trace *trace);

/* Return: true if all guards of the model were on in a timing run. */
bool learning_is_timed(const struct learning *learning);

/* Note in the profile by which command it was made last. */
void learning_note_settings(struct learning *learning, int argc, char **argv);

/* Add the trace of a timing run for the model at hand, and derive it again. */
int learning_add_timing(struct learning *learning, const struct trace *trace);

/* Write the profile, and the list of units if it is wanted. */
int learning_save(struct learning *learning);

void learning_deinit(struct learning *learning);

#endif /* _USER_APP_LEARN_LEARNING_H */
