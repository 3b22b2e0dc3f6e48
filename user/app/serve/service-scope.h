/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose processes a profile of the service guards: what the options of the commands choose them
 * by, as the configuration has it, and whom that means at a moment.
 */
#ifndef _USER_APP_SERVE_SERVICE_SCOPE_H
#define _USER_APP_SERVE_SERVICE_SCOPE_H

#include <stdbool.h>
#include <sys/types.h>

#include "data/armed.h"

/* Each NULL: any; of the first three at most one is set. */
struct service_scope {
	char *unit;
	char *container;
	char *cgroup;
	char *user;
	char *args;
};

bool service_scope_is_any(const struct service_scope *scope);
bool service_scope_is_same(const struct service_scope *scope, const struct service_scope *other);

/* Returns 0 or -ENOMEM; service_scope_clear() in either case. */
int service_scope_copy(struct service_scope *to, const struct service_scope *from);
void service_scope_clear(struct service_scope *scope);

/*
 * As a command has it that is given these options: with its user and its cgroup looked up.
 * Returns 0 or an exit code, reported; scope_deinit() in either case.
 */
int service_scope_find(const struct service_scope *scope, struct armed_scope *ret);

/* Whom it means: where it changes, what is armed is to be armed again. */
struct service_sighting {
	char *cgroup_path; /* NULL: of any */
	dev_t dev; /* of the program's file as one of the processes has it, as the next; 0: none runs it */
	ino_t inode;
};

/*
 * Look who it is.  @program: the path of the program; NULL: not known yet, then nobody runs it.
 * Returns 0 or an exit code, reported, if there is no such unit, container, cgroup or user, or no
 * process in the unit or container; service_sighting_clear() in either case.
 */
int service_sighting_take(const struct service_scope *scope, const char *program,
			  struct service_sighting *ret);
/* Whether @now, whoever may run the program later, is what @before was. */
bool service_sighting_has_same(const struct service_sighting *before,
			       const struct service_sighting *now);
void service_sighting_clear(struct service_sighting *sighting);

#endif /* _USER_APP_SERVE_SERVICE_SCOPE_H */
