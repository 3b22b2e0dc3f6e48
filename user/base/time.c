// SPDX-License-Identifier: GPL-2.0

#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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
