/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What 'diff' prints: how a profile differs from another one, or from what is counted now.
 */
#ifndef _USER_APP_LEARN_COMPARING_H
#define _USER_APP_LEARN_COMPARING_H

#include <stdbool.h>

struct comparing {
	const char *before;
	const char *after; /* NULL if live */
	bool is_live;
	bool is_json;
};

/* Returns 0 or an exit code; the error was reported. */
int comparing_run(const struct comparing *comparing);

#endif /* _USER_APP_LEARN_COMPARING_H */
