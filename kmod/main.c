// SPDX-License-Identifier: GPL-2.0

#include "control/activate.h"
#include "control/target-request.h"
#include "hook/hook.h"
#include "lib/clock.h"
#include "netlink/family.h"
#include "profile/inference.h"
#include "profile/profile.h"
#include "report/alert-record.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/watchdog.h"

#include <linux/module.h>

static int __init perfguard_init(void)
{
	int ret;

	pguard_clock_init();
	ret = pguard_hook_init();
	if (ret)
		goto err_hook;
	ret = pguard_inference_init();
	if (ret)
		goto err_hook;
	ret = pguard_thread_init();
	if (ret)
		goto err_task;
	ret = pguard_profile_init();
	if (ret)
		goto err_profile;
	pguard_alert_record_init();
	ret = pguard_watchdog_init();
	if (ret)
		goto err_watch;
	ret = pguard_stream_init();
	if (ret)
		goto err_device;
	ret = pguard_netlink_init();
	if (ret)
		goto err_netlink;
	return 0;

err_netlink:
	pguard_stream_deinit();
err_device:
	pguard_watchdog_deinit();
err_watch:
	pguard_alert_record_deinit();
	pguard_profile_deinit();
err_profile:
	pguard_thread_deinit();
err_task:
	pguard_inference_deinit();
err_hook:
	return ret;
}

static void __exit perfguard_exit(void)
{
	pguard_netlink_deinit();
	pguard_stream_deinit();
	pguard_activate_deinit();
	pguard_target_deinit();
	pguard_watchdog_deinit();
	pguard_alert_record_deinit();
	/* Threads' states and images held them. */
	pguard_profile_deinit();
	/* Last: what all of them gave back is freed. */
	pguard_thread_deinit();
	pguard_inference_deinit();
}

module_init(perfguard_init);
module_exit(perfguard_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reports units of work of unmodified programs that take too long");
MODULE_AUTHOR("The perfguard authors");
