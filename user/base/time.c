// SPDX-License-Identifier: GPL-2.0

#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

uint64_t time_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t time_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

void time_sleep_until(uint64_t until_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(until_ns % NSEC_PER_SEC),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

char *time_format(uint64_t wall_ns, char text[TIME_TEXT_MAX])
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm day;
	size_t len;

	gmtime_r(&seconds, &day);
	len = strftime(text, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &day);
	snprintf(text + len, TIME_TEXT_MAX - len, ".%09" PRIu64 "Z",
		 wall_ns % NSEC_PER_SEC);
	return text;
}

/* ".5" is half a second.  Returns what is behind it. */
static const char *parse_fraction(const char *text, uint64_t *ret_ns)
{
	uint64_t unit = NSEC_PER_SEC;

	*ret_ns = 0;
	if (*text != '.')
		return text;
	while (*++text >= '0' && *text <= '9') {
		unit /= 10;
		*ret_ns += (uint64_t)(*text - '0') * unit;
	}
	return text;
}

int time_parse(const char *text, uint64_t *ret_wall_ns)
{
	static const char *const formats[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d" };
	const char *rest = NULL;
	struct tm day, before;
	uint64_t ns = 0;
	time_t seconds;

	for (int i = 0; i < 3 && !rest; i++) {
		day = (struct tm){ 0 };
		rest = strptime(text, formats[i], &day);
		if (rest && !i)
			rest = parse_fraction(rest, &ns);
		if (rest && strcmp(rest, i == 2 ? "" : "Z"))
			rest = NULL;
	}
	if (!rest)
		return -EINVAL;
	/* A day that the month does not have becomes one of the next. */
	before = day;
	seconds = timegm(&day);
	if (seconds < 0 || before.tm_mday != day.tm_mday)
		return -EINVAL;
	*ret_wall_ns = (uint64_t)seconds * NSEC_PER_SEC + ns;
	return 0;
}

char *time_format_local(uint64_t wall_ns, char text[TIME_TEXT_MAX])
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm day;
	size_t len;

	localtime_r(&seconds, &day);
	len = strftime(text, TIME_TEXT_MAX, "%H:%M:%S", &day);
	snprintf(text + len, TIME_TEXT_MAX - len, ".%03" PRIu64,
		 wall_ns % NSEC_PER_SEC / NSEC_PER_MSEC);
	return text;
}
