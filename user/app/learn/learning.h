/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From what was recorded to a profile: joined to what the profile knew, and
 * derived anew.
 */
#ifndef _USER_APP_LEARN_LEARNING_H
#define _USER_APP_LEARN_LEARNING_H

#include <stdbool.h>

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

/* Options that learn and train share; see learning_option(). */
#define LEARNING_HELP \
	"  -o FILE             the profile; if it is there, what is learnt is added\n" \
	"  --budget PCT        share of the time that guarding may take (default: 2)\n" \
	"  --hits N            mean guard hits a unit instead of a share of the time\n" \
	"  --guards N          so many guards, whatever they cost; by --select paper only\n" \
	"  --threshold RULE    rate:R, at most a share R of false alarms (default:\n" \
	"                      rate:0.001), or sigma:K, mean + K deviations\n" \
	"  --distance NAME     of call trees: energy (default) or paper\n" \
	"  --cut HEIGHT        distance up to which trees are of one type, or gap\n" \
	"  --select NAME       of guards: information (default) or paper\n" \
	"  --units FILE        list the units of the structure run, one a line\n"

enum {
	LEARNING_OPTION_FIRST = 512,
	LEARNING_OPTION_BUDGET = LEARNING_OPTION_FIRST,
	LEARNING_OPTION_HITS,
	LEARNING_OPTION_GUARDS,
	LEARNING_OPTION_THRESHOLD,
	LEARNING_OPTION_DISTANCE,
	LEARNING_OPTION_CUT,
	LEARNING_OPTION_SELECT,
	LEARNING_OPTION_UNITS,
	LEARNING_OPTION_END,
};

#define LEARNING_OPTIONS \
	{ "budget", required_argument, NULL, LEARNING_OPTION_BUDGET }, \
	{ "hits", required_argument, NULL, LEARNING_OPTION_HITS }, \
	{ "guards", required_argument, NULL, LEARNING_OPTION_GUARDS }, \
	{ "threshold", required_argument, NULL, LEARNING_OPTION_THRESHOLD }, \
	{ "distance", required_argument, NULL, LEARNING_OPTION_DISTANCE }, \
	{ "cut", required_argument, NULL, LEARNING_OPTION_CUT }, \
	{ "select", required_argument, NULL, LEARNING_OPTION_SELECT }, \
	{ "units", required_argument, NULL, LEARNING_OPTION_UNITS }

void learning_init(struct learning *learning);

/* Take an option from LEARNING_OPTION_FIRST on.  Returns 0 or CMD_USAGE, told. */
int learning_option(struct learning *learning, const char *verb, int option, const char *text);

/* Once all options are taken: do they go together?  Returns 0 or CMD_USAGE, told. */
int learning_check_options(const struct learning *learning, const char *verb);

/* All return 0 or an exit code, told. */

/* Load the profile if there is one; learning_open(): it must be of this program. */
int learning_load(struct learning *learning);
int learning_open(struct learning *learning, const char *exe, const char *build_id);

/* Is the trace of the profile's program, and fits what it says? */
int learning_check(const struct learning *learning, const struct trace *trace);

/* Derive the model anew, as by other options. */
int learning_derive(struct learning *learning);

/* Add the trace of a structure run, which is sorted, and derive the model. */
int learning_add_structure(struct learning *learning, const struct trace *trace);

/* Were all guards of the model on in a timing run? */
bool learning_is_timed(const struct learning *learning);

/* The profile is to tell by which command it was made last. */
void learning_note_settings(struct learning *learning, int argc, char **argv);

/* Add the trace of a timing run for the model at hand, and derive it anew. */
int learning_add_timing(struct learning *learning, const struct trace *trace);

/* Write the profile, and the list of units if it is wanted. */
int learning_save(struct learning *learning);

void learning_deinit(struct learning *learning);

#endif /* _USER_APP_LEARN_LEARNING_H */
