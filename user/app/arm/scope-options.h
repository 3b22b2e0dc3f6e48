/* SPDX-License-Identifier: GPL-2.0 */
/* The options that limit an order to a cgroup or to a user. */
#ifndef _USER_APP_ARM_SCOPE_OPTIONS_H
#define _USER_APP_ARM_SCOPE_OPTIONS_H

#include "app/common/options.h"
#include "data/armed.h"

/* Of a struct armed_scope. */
extern const struct option_spec scope_options[];

/* A user by name, or by number.  Returns 0 or -ENOENT. */
int scope_set_user(struct armed_scope *scope, const char *name);

/* Look up the cgroup that was named, if one was.  Returns 0 or an exit code, reported. */
int scope_find(struct armed_scope *scope);

#endif /* _USER_APP_ARM_SCOPE_OPTIONS_H */
