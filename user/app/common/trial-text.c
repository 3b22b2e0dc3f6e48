// SPDX-License-Identifier: GPL-2.0

#include "app/common/trial-text.h"

#include <stdio.h>
#include <string.h>

#include "link/link.h"

bool trial_text(const struct stats *stats, char *text, size_t size)
{
	switch (stats->trial) {
	case PERFGUARD_TRIAL_ONCE:
		snprintf(text, size, "this kernel leaves instructions under guards to the module");
		return true;
	case PERFGUARD_TRIAL_AGAIN:
		snprintf(text, size, "guards are single-stepped (slow): this kernel executes again "
				     "what the module has carried out");
		return false;
	}
	snprintf(text, size, "guards are single-stepped (slow): the trial of this kernel at load "
			     "failed: %s", strerror((int)stats->trial_error));
	return false;
}
