// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/scope-options.h"
#include "app/common/scope-processes.h"
#include "base/log.h"

/* Or both NULL. */
static bool is_equal(const char *a, const char *b)
{
	return !a == !b && (!a || !strcmp(a, b));
}

bool service_scope_is_any(const struct service_scope *scope)
{
	return !scope->unit && !scope->container && !scope->cgroup && !scope->user && !scope->args;
}

bool service_scope_is_same(const struct service_scope *scope, const struct service_scope *other)
{
	return is_equal(scope->unit, other->unit) && is_equal(scope->container, other->container) &&
	       is_equal(scope->cgroup, other->cgroup) && is_equal(scope->user, other->user) &&
	       is_equal(scope->args, other->args);
}

static char *copy(const char *text, int *ret)
{
	char *copied = text ? strdup(text) : NULL;

	if (text && !copied)
		*ret = -ENOMEM;
	return copied;
}

int service_scope_copy(struct service_scope *to, const struct service_scope *from)
{
	int ret = 0;

	*to = (struct service_scope){
		.unit = copy(from->unit, &ret),
		.container = copy(from->container, &ret),
		.cgroup = copy(from->cgroup, &ret),
		.user = copy(from->user, &ret),
		.args = copy(from->args, &ret),
	};
	return ret;
}

void service_scope_clear(struct service_scope *scope)
{
	free(scope->unit);
	free(scope->container);
	free(scope->cgroup);
	free(scope->user);
	free(scope->args);
	*scope = (struct service_scope){ 0 };
}

int service_scope_find(const struct service_scope *scope, struct armed_scope *ret)
{
	*ret = (struct armed_scope){
		.unit = scope->unit,
		.container = scope->container,
		.cgroup = scope->cgroup,
		.args = scope->args,
	};
	if (scope->user && scope_set_user(ret, scope->user)) {
		log_error("there is no user '%s'", scope->user);
		return CMD_FAILED;
	}
	return scope_find(ret);
}

/* The file of the program, as the first process in the scope has it that runs it. */
static int find_file(const struct armed_scope *scope, const char *program,
		     struct service_sighting *ret)
{
	const struct scope_process *found = NULL;
	struct scope_processes processes;
	int error = 0;

	if (scope_processes_get(scope, &processes))
		error = cmd_no_memory();
	else if (!processes.nr && (scope->unit || scope->container))
		error = scope_processes_none(scope);
	else if (program)
		found = scope_processes_find(&processes, program);
	if (found) {
		ret->dev = found->dev;
		ret->inode = found->inode;
	}
	scope_processes_free(&processes);
	return error;
}

int service_sighting_take(const struct service_scope *scope, const char *program,
			  struct service_sighting *ret)
{
	struct armed_scope armed;
	int error;

	*ret = (struct service_sighting){ 0 };
	error = service_scope_find(scope, &armed);
	if (!error)
		error = find_file(&armed, program, ret);
	ret->cgroup_path = armed.cgroup_path;
	armed.cgroup_path = NULL;
	scope_deinit(&armed);
	return error;
}

bool service_sighting_has_same(const struct service_sighting *before,
			       const struct service_sighting *now)
{
	return is_equal(before->cgroup_path, now->cgroup_path) &&
	       (!now->inode || (before->dev == now->dev && before->inode == now->inode));
}

void service_sighting_clear(struct service_sighting *sighting)
{
	free(sighting->cgroup_path);
	*sighting = (struct service_sighting){ 0 };
}
