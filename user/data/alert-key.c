// SPDX-License-Identifier: GPL-2.0

#include "data/alert-key.h"

#include <inttypes.h>
#include <stdio.h>

void alert_key(const char *load, const char *kind, uint64_t seq, uint64_t time_ns,
	       char ret[ALERT_KEY_MAX])
{
	snprintf(ret, ALERT_KEY_MAX, "%.95s/%.31s/%" PRIu64, load, kind, seq ? seq : time_ns);
}
