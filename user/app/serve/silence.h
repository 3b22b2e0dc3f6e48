/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alerts that the operator does not want to be woken by, until a moment.  They are spooled all
 * the same.
 */
#ifndef _USER_APP_SERVE_SILENCE_H
#define _USER_APP_SERVE_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct sunk_alert;

struct silence {
	uint64_t until_ns; /* CLOCK_REALTIME */
	char *program; /* its path, or the name of its file; "*": any */
	uint32_t type; /* of its units; 0: all */
};

/* "UNTIL PROGRAM [TYPE]", UNTIL as time_parse() has it.  Returns 0, -EINVAL or -ENOMEM. */
int silence_parse(const char *text, struct silence *ret);
void silence_clear(struct silence *silence);

bool silence_covers(const struct silence *silence, const struct sunk_alert *alert, uint64_t now_ns);

#endif /* _USER_APP_SERVE_SILENCE_H */
