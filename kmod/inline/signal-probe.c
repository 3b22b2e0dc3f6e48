// SPDX-License-Identifier: GPL-2.0

#include "inline/signal-probe.h"

#include "inline/region-list.h"
#include "lib/tracepoint.h"

#include <linux/errno.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>

/* While it is registered. */
static struct tracepoint *signals;

static void probe_signal(void *data, int number, struct kernel_siginfo *info,
			 struct k_sigaction *action)
{
	pguard_region_list_signal(task_pt_regs(current)->ip);
}

/**
 * pguard_signal_probe_start() - see all signals from now on, if that is not so already
 *
 * Context: may sleep; serialized by the caller.
 * Return: 0, or an error of the tracepoint.
 */
int pguard_signal_probe_start(void)
{
	struct tracepoint *tracepoint;
	int ret;

	if (signals)
		return 0;
	tracepoint = pguard_tracepoint_find("signal_deliver");
	ret = tracepoint ? tracepoint_probe_register(tracepoint, probe_signal, NULL) : -ENOENT;
	if (!ret)
		signals = tracepoint;
	return ret;
}

/* Its last call may still run: tracepoint_synchronize_unregister().  Context: the same. */
void pguard_signal_probe_stop(void)
{
	if (signals)
		tracepoint_probe_unregister(signals, probe_signal, NULL);
	signals = NULL;
}
