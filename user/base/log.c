// SPDX-License-Identifier: GPL-2.0

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"

/* The longest message names two paths. */
enum { LINE_MAX_BYTES = 16384 };

static bool is_verbose;
static bool has_error;

void log_set_verbose(bool verbose)
{
	is_verbose = verbose;
}

static void __attribute__((format(printf, 2, 0)))
print_line(const char *prefix, const char *format, va_list args)
{
	char line[LINE_MAX_BYTES];

	vsnprintf(line, sizeof(line), format, args);
	utf8_make_plain(line);
	/* After the buffered output of stdout. */
	fflush(stdout);
	fprintf(stderr, "pg-collect: %s%s\n", prefix, line);
}

void log_error(const char *format, ...)
{
	va_list args;

	has_error = true;
	va_start(args, format);
	print_line("", format, args);
	va_end(args);
}

bool log_has_error(void)
{
	return has_error;
}

void log_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("warning: ", format, args);
	va_end(args);
}

void log_progress(const char *format, ...)
{
	va_list args;

	if (!is_verbose && !isatty(STDERR_FILENO))
		return;
	va_start(args, format);
	print_line("", format, args);
	va_end(args);
}
