/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The profiles of the service's directory, armed, each alone: one that is refused does not keep
 * the others back.
 *
 * Arming what is armed already replaces its profile in the module, in one step, so what was
 * guarded is guarded all the time.
 */
#ifndef _USER_APP_SERVE_SERVICE_ARMING_H
#define _USER_APP_SERVE_SERVICE_ARMING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/common/child.h"
#include "app/serve/service-config.h"
#include "data/armed.h"

struct link;

/* A profile of the directory. */
struct service_profile {
	char *path;
	const struct service_settings *settings;
	char *program; /* its path; NULL: not known */
	bool is_armed;
	uint32_t target_id; /* once it was armed */
	char *waits_for; /* who is not there, in words; NULL: it does not wait */
	struct service_sighting sighting; /* whom it meant when it was armed, or refused, last */
	uint64_t wait_ns; /* until the next look at whom it means, while nobody is there; else 0 */
	uint64_t due_ns; /* when the next one is, CLOCK_MONOTONIC; UINT64_MAX: it means everybody */
	dev_t dev; /* of the program's file, as the next */
	ino_t inode;
	struct child learner; /* of the limits of this machine; without a pid there is none */
	uint64_t span_ns; /* for which it learns them */
};

struct service_profiles {
	struct service_profile *of;
	uint32_t nr;
	uint32_t nr_armed;
	struct armed_prices prices; /* measured when they are needed first */
	bool has_prices;
};

/*
 * Arm what is in the directory now, and disarm what was there before and is not any more.  What is
 * wrong was reported.  @alive is called now and then.  Returns 0, or an exit code if nothing at
 * all can be armed: the module does not answer.
 */
int service_arm(struct service_profiles *profiles, const struct service_config *config,
		struct link *link, void (*alive)(void));

/* A learner has ended: arm its profile with what it has learnt, and begin the next. */
void service_arm_learnt(struct service_profiles *profiles, struct link *link);

/* The file of a program was replaced: arm its profile again. */
void service_arm_program(struct service_profiles *profiles, const char *program, struct link *link);

/*
 * Look whom those mean that are for some processes alone, where it is time for that.  Arm what
 * waited for them, and again where they run another file than before, as in a container that was
 * made from another image.
 */
void service_arm_scopes(struct service_profiles *profiles, struct link *link, uint64_t now_ns);

/* Returns when it is next, or UINT64_MAX. */
uint64_t service_arm_due(const struct service_profiles *profiles);

/* How many of them wait for their processes. */
uint32_t service_arm_waiting(const struct service_profiles *profiles);

/* Add to @text which wait, and for whom. */
void service_arm_describe(const struct service_profiles *profiles, char *text, size_t size);

/* Disarm all of them, unless they are kept.  And forget them. */
void service_disarm(struct service_profiles *profiles, struct link *link, bool is_kept);

#endif /* _USER_APP_SERVE_SERVICE_ARMING_H */
