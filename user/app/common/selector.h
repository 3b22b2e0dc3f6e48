/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which program the operator means: -p PID, -e EXE or -- CMD [ARG...].
 */
#ifndef _USER_APP_COMMON_SELECTOR_H
#define _USER_APP_COMMON_SELECTOR_H

#include <limits.h>
#include <stdint.h>

#include "app/common/options.h"
#include "binary/file/elf.h"

struct selector {
	uint32_t pid; /* of -p, else 0 */
	const char *exe; /* of -e, else NULL */
	char **command; /* of --, else NULL */
	int fd; /* the open file of -e; -1 otherwise */
	char path[PATH_MAX]; /* the file, as far as it is known */
	char build_id[ELF_BUILD_ID_MAX]; /* of that file; "" if it has none */
};

extern const struct option_spec selector_options[];

/* Once options are parsed: the command, and that one thing was selected.  Returns 0 or CMD_USAGE. */
int selector_take_command(struct selector *selector, int argc, char **argv);

/*
 * Find and check what was selected: it exists and can be guarded.  Says what is
 * wrong in one line.  Returns 0, CMD_FAILED or CMD_IMPOSSIBLE (no permission).
 */
int selector_resolve(struct selector *selector);
void selector_deinit(struct selector *selector);

#endif /* _USER_APP_COMMON_SELECTOR_H */
