// SPDX-License-Identifier: GPL-2.0

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/time.h"
#include "base/utf8.h"

/* The longest message names two paths. */
enum { LINE_MAX_BYTES = 16384 };

static bool is_verbose;
static bool is_held;
static bool has_error;
static bool writer_has_progress;
static uint64_t last_ns;
static void (*writer)(enum log_level level, const char *line);

void log_set_verbose(bool verbose)
{
	is_verbose = verbose;
}

void log_hold_progress(bool is_wanted)
{
	is_held = is_wanted;
}

void log_forget_silence(void)
{
	__atomic_store_n(&last_ns, time_now_ns(), __ATOMIC_RELAXED);
}

void log_set_writer(void (*write)(enum log_level level, const char *line), bool has_progress)
{
	writer_has_progress = has_progress;
	writer = write;
}

static void __attribute__((format(printf, 2, 0)))
print_line(enum log_level level, const char *format, va_list args)
{
	const char *prefix = level == LOG_LEVEL_WARNING ? "warning: " : "";
	char line[LINE_MAX_BYTES];

	log_forget_silence();
	vsnprintf(line, sizeof(line), format, args);
	utf8_make_plain(line);
	if (writer) {
		writer(level, line);
		return;
	}
	/* After the buffered output of stdout. */
	fflush(stdout);
	fprintf(stderr, "pg-collect: %s%s\n", prefix, line);
}

void log_error(const char *format, ...)
{
	va_list args;

	has_error = true;
	va_start(args, format);
	print_line(LOG_LEVEL_ERROR, format, args);
	va_end(args);
}

uint64_t log_last_ns(void)
{
	return __atomic_load_n(&last_ns, __ATOMIC_RELAXED);
}

bool log_has_error(void)
{
	return has_error;
}

void log_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(LOG_LEVEL_WARNING, format, args);
	va_end(args);
}

bool log_wants_progress(void)
{
	return !is_held && (is_verbose || writer_has_progress || isatty(STDERR_FILENO));
}

void log_progress(const char *format, ...)
{
	va_list args;

	if (!log_wants_progress())
		return;
	va_start(args, format);
	print_line(LOG_LEVEL_PROGRESS, format, args);
	va_end(args);
}
