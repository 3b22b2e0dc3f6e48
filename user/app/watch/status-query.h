/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that the module reports of itself, its targets and its profiles, and what
 * the profiles' files add to it.
 */
#ifndef _USER_APP_WATCH_STATUS_QUERY_H
#define _USER_APP_WATCH_STATUS_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "data/model.h"
#include "data/samples.h"
#include "link/link.h"
#include "out/fields.h"
#include "train/guards/novelty-floor.h"
#include "train/model/loading.h"

/* An armed profile; @known says whether its file is there, and unchanged. */
struct status_profile {
	const struct armed_profile *armed;
	struct armed_guard *guards;
	struct armed_type *types;
	uint32_t nr_guards;
	uint32_t nr_types;
	bool is_known; /* if not, @why says so, and the rest is empty */
	char *why;
	struct samples samples;
	struct model model;
	struct novelty_floors floors;
	struct loading loading;
};

struct status {
	struct stats stats;
	struct target *targets;
	struct process *processes;
	struct armed_profile *armed;
	struct status_profile *profiles; /* of @armed, those that are */
	uint32_t nr_targets;
	uint32_t nr_processes;
	uint32_t nr_armed;
	uint32_t nr_profiles;
	/* Set by the operator. */
	uint32_t max_types; /* to show of each loop */
	bool is_json;
};

/* What replaced the target's file, if something did. */
struct replaced;
void status_replaced(const struct status *status, const struct target *target,
		     struct replaced *ret);
/* The profile that guards the target, or NULL. */
const struct status_profile *status_profile_of(const struct status *status,
					       const struct target *target);

/* Of a struct target and a struct armed_profile, as JSON and text (status-json.c). */
extern const struct field status_target_fields[];
extern const struct field status_profile_fields[];

/* Hits of the guard that are planned for 1024 units; 0: no plan, or not known. */
uint32_t status_plan(const struct status_profile *profile, uint32_t guard);

/* The function that carries the guard, or SAMPLES_NONE. */
uint32_t status_function(const struct status_profile *profile, const struct armed_guard *guard);

/* The loop as 'show' counts them, for the module's number of it. */
uint32_t status_loop(const struct status_profile *profile, uint32_t loop_id);

/* The share of novel units that training expects; negative if not known. */
double status_expected(const struct status_profile *profile);

/* Return: true if there are more novel units than training lets expect, and not by chance. */
bool status_has_news(const struct status_profile *profile);

/* Ask the module and print.  Returns 0 or an exit code; the error was reported. */
int status_print(struct status *status);

void status_text(const struct status *status);
/* An armed profile of @target (status-profile.c).  @max_types: to show of each loop. */
void status_profile_text(const struct status_profile *profile, const struct target *target,
			 uint32_t max_types);
void status_json(const struct status *status);

#endif /* _USER_APP_WATCH_STATUS_QUERY_H */
