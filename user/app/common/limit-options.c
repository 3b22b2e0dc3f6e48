// SPDX-License-Identifier: GPL-2.0

#include "app/common/limit-options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "base/duration.h"

/* "TYPE=" and what is behind it; without one, all types are meant.  Returns 0 or -EINVAL. */
static int parse_type(const char *text, uint32_t *ret, const char **ret_rest)
{
	unsigned long type;
	char *end;

	*ret = 0;
	*ret_rest = text;
	if (!strchr(text, '='))
		return 0;
	errno = 0;
	type = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '=' || errno || !type || type > INT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)type;
	*ret_rest = end + 1;
	return 0;
}

int limit_options_add(struct limit_options *options, const char *text)
{
	struct limit_option *limit = &options->of[options->nr];
	const char *time;

	if (options->nr == LIMIT_OPTIONS_MAX)
		return -E2BIG;
	limit->limit_ns = 0;
	if (parse_type(text, &limit->type, &time) ||
	    (strcmp(time, "none") &&
	     (duration_parse(time, &limit->limit_ns) || !limit->limit_ns)))
		return -EINVAL;
	options->nr++;
	return 0;
}

int limit_option_parse(const struct option_use *use, void *to)
{
	int error = limit_options_add(to, use->text);

	if (error == -E2BIG)
		return cmd_usage(use->verb, "more than %d times %s", LIMIT_OPTIONS_MAX, use->name);
	if (error)
		return cmd_usage(use->verb, "%s is TIME, such as 100ms, or TYPE=TIME, not '%s'",
				 use->name, use->text);
	return 0;
}
