// SPDX-License-Identifier: GPL-2.0

/*
 * Whether the kernel still trusts the TSC, which is the clock of units (lib/clock.h).  It may
 * cease to at any time, and notifies nobody, so this is polled while there is a target.
 *
 * If not, threads go the long way from their next hooked call on, and guards from the
 * governor's next look on (pguard_probe_look()).  Until then the fast path reads the TSC, which
 * is off by what it went wrong meanwhile.
 */

#include "control/control.h"

#include "lib/clock.h"
#include "target/target.h"

#include <linux/workqueue.h>

enum { PERIOD = HZ };

static void look(struct work_struct *work);
static DECLARE_DELAYED_WORK(clock_work, look);

static void look(struct work_struct *work)
{
	bool is_wanted;

	mutex_lock(&pguard_control);
	if (pguard_clock_check())
		pguard_targets_unsettle(0);
	is_wanted = !list_empty(&pguard_targets);
	mutex_unlock(&pguard_control);
	if (is_wanted)
		queue_delayed_work(system_dfl_wq, &clock_work, PERIOD);
}

/* There is a target: look now, and as long as there is one.  Context: any. */
void pguard_clock_watch_start(void)
{
	mod_delayed_work(system_dfl_wq, &clock_work, 0);
}

/* The module goes: there is no target.  pguard_control is not held. */
void pguard_clock_watch_deinit(void)
{
	cancel_delayed_work_sync(&clock_work);
}
