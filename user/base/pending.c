// SPDX-License-Identifier: GPL-2.0

#include "base/pending.h"

#include <signal.h>

static bool reloads_by_hup;

bool pending_end(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) == 1 ||
				     sigismember(&set, SIGTERM) == 1 ||
				     (!reloads_by_hup && sigismember(&set, SIGHUP) == 1));
}

void pending_reload_by_hup(void)
{
	reloads_by_hup = true;
}
