/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The option --limit: limits of all of a unit's time that people set, of all types or of one.
 */
#ifndef _USER_APP_COMMON_LIMIT_OPTIONS_H
#define _USER_APP_COMMON_LIMIT_OPTIONS_H

#include <stdint.h>

enum { LIMIT_OPTIONS_MAX = 256 };

struct option_use;

struct limit_option {
	uint32_t type; /* its number; 0: all */
	uint64_t limit_ns; /* 0: none */
};

struct limit_options {
	struct limit_option of[LIMIT_OPTIONS_MAX];
	uint32_t nr;
};

/*
 * Add one: [TYPE=]TIME or [TYPE=]none.  Returns 0, -EINVAL, or -E2BIG if there are
 * LIMIT_OPTIONS_MAX already.
 */
int limit_options_add(struct limit_options *options, const char *text);

/* An option's parser, see options.h: [TYPE=]TIME or [TYPE=]none, once more each time. */
int limit_option_parse(const struct option_use *use, void *to);

#endif /* _USER_APP_COMMON_LIMIT_OPTIONS_H */
