/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Test Anything Protocol: a plan, then a line for each check.
 */
#ifndef _PGUARD_TAP_H
#define _PGUARD_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned int tap_planned, tap_done, tap_failed;

static inline void plan(unsigned int checks)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	tap_planned = checks;
	printf("TAP version 13\n1..%u\n", checks);
}

__attribute__((format(printf, 2, 3)))
static inline bool ok(bool passed, const char *name, ...)
{
	va_list args;

	printf("%sok %u - ", passed ? "" : "not ", ++tap_done);
	va_start(args, name);
	vprintf(name, args);
	va_end(args);
	printf("\n");
	tap_failed += !passed;
	return passed;
}

__attribute__((format(printf, 1, 2)))
static inline void diag(const char *format, ...)
{
	va_list args;

	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* Count @checks as skipped, for lack of what @why says. */
static inline void skip(unsigned int checks, const char *why)
{
	while (checks--)
		printf("ok %u # SKIP %s\n", ++tap_done, why);
}

static inline int tap_status(void)
{
	return tap_failed || tap_done != tap_planned;
}

#endif /* _PGUARD_TAP_H */
