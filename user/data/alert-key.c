// SPDX-License-Identifier: GPL-2.0

#include "data/alert-key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void alert_key(const char *machine, const char *load, uint64_t seq, uint64_t id, uint64_t time_ns,
	       char ret[ALERT_KEY_MAX])
{
	char *slash;
	int len = snprintf(ret, ALERT_KEY_MAX, "%.64s:%.64s:", machine, load);

	slash = strchr(ret, '/');
	if (slash)
		*slash = ':';
	if (seq)
		snprintf(ret + len, ALERT_KEY_MAX - (size_t)len, "%" PRIu64, seq);
	else
		snprintf(ret + len, ALERT_KEY_MAX - (size_t)len, "at-%" PRIu64 "-%" PRIu64, time_ns, id);
}
