/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The conditions on samples and a model under which code may use them without
 * further checks.  The limits bound the memory that a file can make us allocate.
 */
#ifndef _USER_STORE_PROFILE_CHECK_H
#define _USER_STORE_PROFILE_CHECK_H

#include "data/model.h"
#include "data/samples.h"

enum {
	CHECK_MAX_PATH = 4095,
	CHECK_MAX_BUILD_ID = 128,
	CHECK_MAX_NAME = 65535,
	CHECK_MAX_OBJECTS = 4096,
	CHECK_MAX_FUNCTIONS = 1000000,
	CHECK_MAX_LOOPS = 4096,
	CHECK_MAX_BOUNDARIES = 65536,
	CHECK_MAX_NODES = 16000000,
	CHECK_MAX_TREES = 2000000,
	CHECK_MAX_UNITS = 4000000,
	CHECK_MAX_GUARD_SETS = 65536,
	CHECK_MAX_TIMINGS = 50000,
	CHECK_MAX_OBJECTIVES = 65536,
	CHECK_MAX_TYPES = 65535,
	CHECK_MAX_GUARDS = 65535,
	CHECK_MAX_CONTEXTS = 1000000,
	CHECK_MAX_WEIGHTS = 16000000,
};

/* A static description of the first error, such as "a tree of no loop", or NULL. */
const char *check_samples(const struct samples *samples);
const char *check_model(const struct model *model, const struct samples *samples);

#endif /* _USER_STORE_PROFILE_CHECK_H */
