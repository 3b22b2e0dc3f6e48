// SPDX-License-Identifier: GPL-2.0

#include "base/pending.h"

#include <signal.h>

bool pending_end(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) == 1 ||
				     sigismember(&set, SIGTERM) == 1 ||
				     sigismember(&set, SIGHUP) == 1);
}
