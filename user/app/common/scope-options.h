/* SPDX-License-Identifier: GPL-2.0 */
/* The options that limit an order to some processes; what several of them allow is meant. */
#ifndef _USER_APP_COMMON_SCOPE_OPTIONS_H
#define _USER_APP_COMMON_SCOPE_OPTIONS_H

#include <stdbool.h>

#include "app/common/options.h"
#include "data/armed.h"

/* Of a struct armed_scope. */
extern const struct option_spec scope_options[];

#define SCOPE_MAX_ARGS_TEXT "255" /* ARMED_SCOPE_MAX_ARGS */

/* Whether it has a length that --args takes. */
bool scope_are_args(const char *text);

/* A user by name, or by number.  Returns 0 or -ENOENT. */
int scope_set_user(struct armed_scope *scope, const char *name);

/*
 * Look up the cgroup that was named, by its path, unit or container, if one was.  Returns 0 or an
 * exit code, reported; scope_deinit() in either case.
 */
int scope_find(struct armed_scope *scope);
void scope_deinit(struct armed_scope *scope);

/* Is it all processes? */
bool scope_is_any(const struct armed_scope *scope);

#endif /* _USER_APP_COMMON_SCOPE_OPTIONS_H */
