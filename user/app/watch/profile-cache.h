/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cache of the armed profiles: names and habits of their types from their
 * files, and the times of their units now from the module.
 *
 * A profile whose file is gone, or is another one now, still has its types'
 * sums; only the names are missing, which is reported once.
 */
#ifndef _USER_APP_WATCH_PROFILE_CACHE_H
#define _USER_APP_WATCH_PROFILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/alert-record.h"
#include "out/alert/alert.h"
#include "out/alert/reason.h"
#include "out/alert/regression.h"
#include "out/alert/starvation.h"
#include "train/guards/visits.h"

struct armed_profile;
struct armed_type;
struct link;

struct cached_guard {
	char *module; /* NULL if not known, like the next one */
	char *function;
	uint64_t offset; /* in the file, of the function's first byte */
};

struct cached_type {
	struct alert_type type;
	char *name;
	uint32_t index; /* into the model's types; SAMPLES_NONE without one */
	uint32_t loop; /* as 'show' counts them; 0 without one */
	struct regression_trained trained;
	uint64_t limit_ns; /* of a unit's own time; 0: none */
	uint64_t requests; /* that its units have read in training, */
	uint64_t request_usual_ns[REQUEST_NR_PARTS]; /* and half of which took at most so long, by part */
	struct reason_normal normal; /* from the module's sums */
	struct regression regression;
};

struct cached_profile {
	uint32_t id;
	uint32_t target_id;
	char *path;
	char *exe; /* NULL if not known, like the next one */
	char *build_id;
	struct cached_type *types; /* by id */
	struct cached_guard *guards; /* by number in the module */
	struct visits visits;
	uint32_t nr_types;
	uint32_t nr_guards;
	uint32_t nr_visited; /* guards that training knows, the first ones */
	struct starvation_sums sums; /* of all its types, at the last look */
	struct starvation starvation; /* of these, for who asks for it of one profile */
	bool is_seen; /* in the last look */
};

struct profile_cache {
	struct cached_profile *profiles;
	uint32_t nr;
};

/*
 * Called for a type whose level has changed.  An error ends profile_cache_look(), which
 * returns it.
 */
typedef int (*profile_cache_level_fn)(const struct cached_profile *profile, const struct cached_type *type,
			      void *arg);

/*
 * Ask the module which profiles are armed, and load those that are new.
 * Returns 0 or the link's error.
 */
int profile_cache_refresh(struct profile_cache *cache, struct link *link);
/* The same for who has asked.  Returns 0 or -ENOMEM. */
int profile_cache_set(struct profile_cache *cache, const struct armed_profile *armed, uint32_t nr);

/*
 * Ask the module for the sums of all types.  @now_ns is CLOCK_REALTIME.
 * Returns 0, what @fn does or the link's error.
 */
int profile_cache_look(struct profile_cache *cache, struct link *link, uint64_t now_ns, profile_cache_level_fn fn,
	       void *arg);

/* The same of one profile for who has asked.  @fn may be NULL. */
int cached_profile_count(struct cached_profile *profile, const struct armed_type *armed, uint32_t nr,
			 uint64_t now_ns, profile_cache_level_fn fn, void *arg);

/* What the last look found, of all profiles. */
struct starvation_sums profile_cache_sums(const struct profile_cache *cache);

/* How soon the next look is worth it, by the type for which it is soonest (regression_step_ns()). */
uint64_t profile_cache_step_ns(const struct profile_cache *cache);

void profile_cache_deinit(struct profile_cache *cache);

/* NULL if it is not armed, or not yet known. */
struct cached_profile *profile_cache_find(const struct profile_cache *cache, uint32_t profile_id);
/* NULL if the profile does not have it. */
struct cached_type *cached_type_find(const struct cached_profile *profile, uint32_t type_id);

/* How the level of a type is reported; points to both.  @time_ns is CLOCK_REALTIME. */
struct alert_level cached_type_level(const struct cached_profile *profile,
				     const struct cached_type *type, uint64_t time_ns);

/* Fill in a context that a unit met, with the habits of @type if not NULL. */
void cached_profile_met(const struct cached_profile *profile, const struct cached_type *type,
	       const struct perfguard_met *met, struct alert_met *ret);

#endif /* _USER_APP_WATCH_PROFILE_CACHE_H */
