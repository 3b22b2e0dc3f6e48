/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is known of the armed profiles: names and habits of their types from
 * their files, how their units go now from the module.
 *
 * A profile whose file is gone, or is another one now, still has its types'
 * sums; only the names are missing, which is told once.
 */
#ifndef _USER_APP_WATCH_PROFILE_CACHE_H
#define _USER_APP_WATCH_PROFILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/alert-record.h"
#include "out/alert/alert.h"
#include "out/alert/reason.h"
#include "out/alert/regression.h"
#include "train/guards/visits.h"

struct link;

struct known_guard {
	char *module; /* NULL if not known, like the next one */
	char *function;
	uint64_t offset; /* in the file, of the function's first byte */
};

struct known_type {
	struct alert_type type;
	char *name;
	uint32_t index; /* into the model's types; SAMPLES_NONE without one */
	double trained_ns;
	uint64_t threshold_ns;
	struct reason_normal normal; /* from the module's sums */
	struct drift drift;
};

struct known_profile {
	uint32_t id;
	uint32_t target_id;
	char *path;
	char *exe; /* NULL if not known */
	struct known_type *types; /* by id */
	struct known_guard *guards; /* by number in the module */
	struct visits visits;
	uint32_t nr_types;
	uint32_t nr_guards;
	uint32_t nr_visited; /* guards that training knows, the first ones */
	bool is_seen; /* in the last look */
};

struct known {
	struct known_profile *profiles;
	uint32_t nr;
};

/*
 * Called for a type whose level has changed.  An error ends known_look(), which
 * returns it.
 */
typedef int (*known_level_fn)(const struct known_profile *profile, const struct known_type *type,
			      void *arg);

/*
 * Ask the module which profiles are armed, and load those that are new.
 * Returns 0 or the link's error.
 */
int known_refresh(struct known *known, struct link *link);

/*
 * Ask the module for the sums of all types.  @now_ns is CLOCK_REALTIME.
 * Returns 0, what @fn does or the link's error.
 */
int known_look(struct known *known, struct link *link, uint64_t now_ns, known_level_fn fn,
	       void *arg);

/* Is any type slow as a whole now? */
bool known_has_level(const struct known *known);

void known_deinit(struct known *known);

/* NULL if it is not armed, or not yet known. */
struct known_profile *known_find(const struct known *known, uint32_t profile_id);
/* NULL if the profile does not have it. */
struct known_type *known_type(const struct known_profile *profile, uint32_t type_id);

/* What is known of a context that a unit met, of @type if not NULL. */
void known_met(const struct known_profile *profile, const struct known_type *type,
	       const struct perfguard_met *met, struct alert_met *ret);

#endif /* _USER_APP_WATCH_PROFILE_CACHE_H */
