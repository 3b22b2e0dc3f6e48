/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arm profiles, each alone: one that is refused does not keep the others back.
 */
#ifndef _USER_APP_ARM_ARM_FILES_H
#define _USER_APP_ARM_ARM_FILES_H

#include <stdint.h>

#include "app/common/limit-options.h"
#include "data/armed.h"

enum { ARM_DEFAULT_BUDGET_PPM = 20000 };

struct arm_files {
	char **paths; /* of the profiles */
	uint32_t nr;
	unsigned int is_paper; /* by the paper's rule of inference */
	struct armed_prices prices; /* the budget; the rest is measured */
	struct armed_scope scope; /* whose processes; its cgroup is looked up here */
	struct limit_options limits; /* beside those of the profiles */
	bool is_inline; /* guards become jumps where they can */
	bool follows_requests; /* by the limits that were learnt */
	uint64_t request_limit_ns; /* from when on each is late; 0: no such limit */
	char root[32]; /* where the paths of programs and libraries begin; "": by the scope */
};

struct arming;
struct link;

/*
 * One profile of them read and checked, with what the operator wants of it, once the cgroup of the
 * scope was found.  Returns 0 or an exit code; the error was reported.
 */
int arm_file_load(const struct arm_files *arm, const char *path, struct arming *arming);
/* And armed.  Returns 0 or an exit code; the error was reported. */
int arm_file(const struct arm_files *arm, struct arming *arming, struct link *link);

/* What --budget says: none, or per cent.  Returns 0 or -EINVAL. */
int arm_parse_budget(const char *text, uint32_t *ret_ppm);

/* Print what was armed.  Returns 0 or the worst exit code; errors were reported. */
int arm_files(struct arm_files *arm);

/*
 * The same of one profile; then watch its units for @span_ns, take the limits of this machine
 * into its file and arm it again, and so on, each time for twice as long, up to a day
 * (adapting.c).  Ends by a signal, or when it fails, as it does if the profile is disarmed.
 */
int arm_adapt(struct arm_files *arm, uint64_t span_ns);

#endif /* _USER_APP_ARM_ARM_FILES_H */
