// SPDX-License-Identifier: GPL-2.0

#include "app/common/command.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "link/link.h"
#include "store/file.h"

int cmd_usage(const char *verb, const char *format, ...)
{
	char text[384];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_error("%s: %s; see 'pg-collect %s --help'", verb, text, verb);
	return CMD_USAGE;
}

int cmd_check_output(const char *path)
{
	char why[FILE_WHY_MAX];

	if (!file_check_replace(path, why))
		return 0;
	log_error("%s", why);
	return CMD_FAILED;
}

int cmd_exit_of(int error)
{
	switch (error) {
	case -ENOENT: /* no module */
	case -ENOSYS: /* a kernel too old */
	case -EOPNOTSUPP: /* a kernel or module without what is needed */
	case -EPERM:
	case -EACCES:
		return CMD_IMPOSSIBLE;
	}
	return CMD_FAILED;
}

int cmd_open_link(struct link **ret)
{
	int error = link_open(ret);
	int code;

	if (!error)
		return 0;
	log_error("%s", link_error(*ret));
	code = cmd_exit_of(error);
	link_close(*ret);
	*ret = NULL;
	return code;
}

/* The module has a path only for a target that was given as a file. */
static int name_target(struct target *target)
{
	char path[64], exe[PATH_MAX];
	ssize_t len;
	char *copy;

	if (!target->pid || target->path[0] == '/')
		return 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", target->pid);
	len = readlink(path, exe, sizeof(exe) - 1);
	if (len < 0)
		return 0;
	exe[len] = '\0';
	copy = strdup(exe);
	if (!copy)
		return -ENOMEM;
	free(target->path);
	target->path = copy;
	return 0;
}

int cmd_targets(struct link *link, struct target **ret, uint32_t *ret_nr)
{
	int error = link_targets(link, ret, ret_nr);

	for (uint32_t i = 0; !error && i < *ret_nr; i++)
		error = name_target(&(*ret)[i]);
	return error;
}

int cmd_link_failed(const struct link *link, int error, const char *what)
{
	log_error("%s: %s", what, link_error(link));
	/* Of a request, ENOENT means its object, not the module. */
	return error == -ENOENT ? CMD_FAILED : cmd_exit_of(error);
}

int cmd_no_memory(void)
{
	log_error("out of memory");
	return CMD_FAILED;
}

int cmd_failed(const struct link *link, int error, const char *what)
{
	return error == -ENOMEM ? cmd_no_memory() : cmd_link_failed(link, error, what);
}

void cmd_put_off(const struct link *link, uint64_t *last_ns)
{
	uint64_t now_ns = time_now_ns();

	if (!*last_ns || now_ns - *last_ns > 10 * NSEC_PER_SEC)
		log_warning("%s; asking again", link_error(link));
	*last_ns = now_ns;
}
