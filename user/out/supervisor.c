// SPDX-License-Identifier: GPL-2.0

#include "out/supervisor.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "base/time.h"

void supervisor_ready(const char *status)
{
	sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void supervisor_status(const char *status)
{
	sd_notifyf(0, "STATUS=%s", status);
}

void supervisor_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, time_now_ns() / 1000);
}

void supervisor_stopping(const char *status)
{
	sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status);
}

void supervisor_watchdog(void)
{
	sd_notify(0, "WATCHDOG=1");
}

uint64_t supervisor_watchdog_ns(void)
{
	uint64_t us;

	return sd_watchdog_enabled(0, &us) > 0 ? us * 1000 : 0;
}
