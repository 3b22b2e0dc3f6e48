// SPDX-License-Identifier: GPL-2.0

#include "control/control.h"
#include "hook/hook.h"
#include "lib/clock.h"
#include "netlink/family.h"
#include "probe/inlining.h"
#include "probe/trial.h"
#include "profile/inference.h"
#include "profile/profile.h"
#include "report/alert-record.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/unit.h"

#include <linux/module.h>

/* In the order in which they begin; they end in the reverse one. */
static const struct {
	int (*init)(void);
	void (*deinit)(void);
} parts[] __refconst = {
	{ pguard_hook_init },
	/* These free what all of the others gave back. */
	{ pguard_inference_init, pguard_inference_deinit },
	{ pguard_thread_init, pguard_thread_deinit },
	/* Threads' states and images hold them. */
	{ pguard_profile_init, pguard_profile_deinit },
	{ pguard_alert_record_init, pguard_alert_record_deinit },
	{ pguard_watchdog_init, pguard_watchdog_deinit },
	/* What targets had mapped is unmapped; it held the module. */
	{ NULL, pguard_inlining_deinit },
	{ NULL, pguard_target_deinit },
	/* What it left running is waited for before the last of the module's text. */
	{ pguard_trial_init, pguard_trial_deinit },
	{ pguard_stream_init, pguard_stream_deinit },
	{ pguard_netlink_init, pguard_netlink_deinit },
};

/* The first @nr have begun. */
static void parts_deinit(u32 nr)
{
	while (nr--)
		if (parts[nr].deinit)
			parts[nr].deinit();
}

static int __init perfguard_init(void)
{
	u32 i;
	int ret;

	pguard_clock_init();
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		ret = parts[i].init ? parts[i].init() : 0;
		if (ret) {
			parts_deinit(i);
			return ret;
		}
	}
	return 0;
}

static void __exit perfguard_exit(void)
{
	parts_deinit(ARRAY_SIZE(parts));
}

module_init(perfguard_init);
module_exit(perfguard_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reports units of work of unmodified programs that take too long");
MODULE_AUTHOR("The perfguard authors");
