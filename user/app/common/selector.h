/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which processes the operator means: those that run a file, in a scope, or -- CMD [ARG...].
 */
#ifndef _USER_APP_COMMON_SELECTOR_H
#define _USER_APP_COMMON_SELECTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "app/common/options.h"
#include "binary/file/elf.h"
#include "data/armed.h"

struct selector {
	const char *exe; /* of -e, else NULL */
	struct armed_scope scope; /* all else */
	uint32_t canary; /* of the processes only so many, by chance; 0: all */
	char **command; /* of --, else NULL */
	uint32_t pid; /* the process, whatever it executes: nothing else was given; else 0 */
	int fd; /* the open file that they run; -1 for a process or a command */
	char path[PATH_MAX]; /* the file, as far as it is known */
	char build_id[ELF_BUILD_ID_MAX]; /* of that file; "" if it has none */
};

/* Of a struct selector, with scope_options of its scope. */
extern const struct option_spec selector_options[];

/* Was anything selected, command aside? */
bool selector_is_given(const struct selector *selector);

/* Once options are parsed: the command, and that something was selected.  Returns 0 or CMD_USAGE. */
int selector_take_command(struct selector *selector, int argc, char **argv);

/*
 * Find and check what was selected: it exists and can be guarded.  Says what is
 * wrong in one line.  Returns 0, CMD_FAILED or CMD_IMPOSSIBLE (no permission).
 */
int selector_resolve(struct selector *selector);
void selector_deinit(struct selector *selector);

#endif /* _USER_APP_COMMON_SELECTOR_H */
