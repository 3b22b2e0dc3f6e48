// SPDX-License-Identifier: GPL-2.0
/* Lengths and points of time, read and written. */

#include <string.h>

#include "base/time.h"
#include "base/duration.h"
#include "tap.h"

static bool reads(const char *text, uint64_t expected)
{
	uint64_t ns = 0;

	return !duration_parse(text, &ns) && ns == expected;
}

static bool refuses(const char *text)
{
	uint64_t ns;

	return duration_parse(text, &ns) < 0;
}

static bool is_moment(const char *text, const char *expected)
{
	char printed[TIME_TEXT_MAX];
	uint64_t ns;

	return !time_parse(text, &ns) && !strcmp(time_format(ns, printed), expected);
}

static bool is_no_moment(const char *text)
{
	uint64_t ns;

	return time_parse(text, &ns) < 0;
}

static bool prints(uint64_t ns, const char *expected)
{
	char text[DURATION_TEXT_MAX];

	if (!strcmp(duration_format(ns, text), expected))
		return true;
	diag("got %s", text);
	return false;
}

int main(void)
{
	char text[TIME_TEXT_MAX];

	plan(33);
	ok(reads("50ms", 50000000), "50ms");
	ok(reads("2s", 2000000000), "2s");
	ok(reads("300us", 300000), "300us");
	ok(reads("7ns", 7), "7ns");
	ok(reads("10", 10000000000), "plain seconds");
	ok(reads("0.5", 500000000), "half a second");
	ok(reads("1.5 ms", 1500000), "a space before the unit");
	ok(reads("2m", 120000000000) && reads("2min", 120000000000), "minutes");
	ok(reads("1h", 3600000000000), "an hour");
	ok(reads("0", 0), "nothing");
	ok(refuses(""), "no text");
	ok(refuses("-1s"), "a negative length");
	ok(refuses("s"), "a unit alone");
	ok(refuses("5x") && refuses("5mss"), "unknown units");
	ok(refuses("inf") && refuses("nan") && refuses("0x10"),
	   "what only strtod() understands");
	ok(refuses("1e30h"), "longer than can be represented");

	ok(is_moment("2024-02-29", "2024-02-29T00:00:00.000000000Z"), "a day");
	ok(is_moment("2024-01-31T23:59Z", "2024-01-31T23:59:00.000000000Z"), "a minute");
	ok(is_moment("2024-01-31T23:59:58.25Z", "2024-01-31T23:59:58.250000000Z"), "part of a second");
	ok(is_no_moment("2024-01-31T23:59") && is_no_moment("2024-01-31T23:59+01:00"),
	   "none but in UTC");
	ok(is_no_moment("2023-02-29") && is_no_moment("today") && is_no_moment("") &&
		   is_no_moment("2024-01-31 x") && is_no_moment("1969-01-01"), "no moment");

	ok(prints(0, "0 ns"), "0 ns");
	ok(prints(999, "999 ns"), "999 ns");
	ok(prints(1000, "1.00 us"), "1 us");
	ok(prints(1234567, "1.23 ms"), "1.23 ms");
	ok(prints(12345678, "12.3 ms"), "12.3 ms");
	ok(prints(123456789, "123 ms"), "123 ms");
	ok(prints(999999999, "1.00 s"), "rounding goes to the next unit");
	ok(prints(9999000, "10.0 ms"), "and to the next digit");
	ok(prints(90000000000, "90.0 s"), "90 s");

	ok(!strcmp(time_format(0, text), "1970-01-01T00:00:00.000000000Z"),
	   "RFC 3339 of the beginning");
	ok(!strcmp(time_format(UINT64_C(1709251199000000001), text),
		   "2024-02-29T23:59:59.000000001Z"), "of a leap day's end");
	ok(time_now_ns() <= time_now_ns(), "time does not run backwards");
	return tap_status();
}
