/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages for the operator, all on stderr unless somebody else takes them, one line each.  What others chose in
 * them (paths, names) cannot command the terminal.
 */
#ifndef _USER_BASE_LOG_H
#define _USER_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_PROGRESS };

/* Lines go to @write in place of stderr; with @has_progress all of them, else as they would to that. */
void log_set_writer(void (*write)(enum log_level level, const char *line), bool has_progress);

/* An error and how to resolve it. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A reservation about the result; the verb continues. */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress: only on a terminal, or after log_set_verbose(true). */
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether it would be printed now. */
bool log_wants_progress(void);

void log_set_verbose(bool verbose);

/* No progress is printed until it is wanted again: while something else has the terminal. */
void log_hold_progress(bool is_wanted);

/* The silence so far was nothing to be explained, as of one that waits for others. */
void log_forget_silence(void);

/* When the last message was printed, CLOCK_MONOTONIC; 0: none was. */
uint64_t log_last_ns(void);

/* Returns true if log_error() was called, so that an error is reported only once. */
bool log_has_error(void);

#endif /* _USER_BASE_LOG_H */
