// SPDX-License-Identifier: GPL-2.0
/*
 * Delays a function of a program now and then, by computing or by sleeping at its entry, and
 * keeps which thread it delayed, when, and for how long: what a slow function is, without one.
 *
 * Delays are spread evenly over the powers of two from min_ns to max_ns.  /proc/delayer has a
 * line for each: CLOCK_MONOTONIC in ns, thread id, delay in ns.
 */

#include "compat.h"

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/seq_file.h>

enum { MAX_DELAYS = 16384, STEP_US = 5 };

static char *path;
module_param(path, charp, 0444);
static unsigned long offset;
module_param(offset, ulong, 0444);
static unsigned int min_ns = 10000, max_ns = 1000000;
module_param(min_ns, uint, 0444);
module_param(max_ns, uint, 0444);
static unsigned int every = 100;
module_param(every, uint, 0444);
MODULE_PARM_DESC(every, "delay one of so many calls");
static bool sleeps;
module_param(sleeps, bool, 0444);

struct delay {
	u64 time_ns;
	pid_t tid;
	u32 ns;
};

static struct delay delays[MAX_DELAYS];
static atomic_t nr_delays, nr_calls;
static struct path program;
static struct uprobe *uprobe;

static u32 draw(void)
{
	u32 octaves = ilog2(max_ns / min_ns), most = min_ns << get_random_u32() % octaves;

	return most + get_random_u32() % most;
}

/* Other threads may run between its steps, and their time is not counted. */
static void spin(u32 ns)
{
	u32 us;

	for (us = 0; us < ns / 1000; us += STEP_US) {
		udelay(STEP_US);
		cond_resched();
	}
}

static void nap(u32 ns)
{
	ktime_t time = ns_to_ktime(ns);

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&time, 0, HRTIMER_MODE_REL);
}

static int handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	u32 at, ns;

	if (atomic_inc_return(&nr_calls) % every)
		return 0;
	at = atomic_fetch_inc(&nr_delays);
	if (at >= MAX_DELAYS)
		return 0;
	ns = draw();
	delays[at] = (struct delay){ ktime_get_ns(), current->pid, ns };
	if (sleeps)
		nap(ns);
	else
		spin(ns);
	return 0;
}

static struct uprobe_consumer consumer = { .handler = handler };

static int delays_show(struct seq_file *file, void *unused)
{
	u32 i, nr = min_t(u32, atomic_read(&nr_delays), MAX_DELAYS);

	for (i = 0; i < nr; i++)
		seq_printf(file, "%llu %d %u\n", delays[i].time_ns, delays[i].tid, delays[i].ns);
	return 0;
}

static int __init delayer_init(void)
{
	int ret;

	if (!path || !every || min_ns < 1000 || max_ns < 2 * min_ns)
		return -EINVAL;
	ret = kern_path(path, LOOKUP_FOLLOW, &program);
	if (ret)
		return ret;
	uprobe = pguard_uprobe_register(d_real_inode(program.dentry), offset, &consumer);
	ret = PTR_ERR_OR_ZERO(uprobe);
	if (!ret && !proc_create_single("delayer", 0400, NULL, delays_show)) {
		pguard_uprobe_unregister(uprobe, d_real_inode(program.dentry), offset, &consumer);
		pguard_uprobe_sync();
		ret = -ENOMEM;
	}
	if (ret)
		path_put(&program);
	return ret;
}

static void __exit delayer_exit(void)
{
	remove_proc_entry("delayer", NULL);
	pguard_uprobe_unregister(uprobe, d_real_inode(program.dentry), offset, &consumer);
	pguard_uprobe_sync();
	path_put(&program);
}

module_init(delayer_init);
module_exit(delayer_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Delays a function of a program now and then");
