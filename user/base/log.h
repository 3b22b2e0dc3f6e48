/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages for the operator, all on stderr, one line each.
 */
#ifndef _USER_BASE_LOG_H
#define _USER_BASE_LOG_H

#include <stdbool.h>

/* What went wrong and what to do about it. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Something the result should be read with; the verb goes on. */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress: only on a terminal, or after log_set_verbose(true). */
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

void log_set_verbose(bool verbose);

/* Whether log_error() was called: one thing that went wrong is told once. */
bool log_has_error(void);

#endif /* _USER_BASE_LOG_H */
