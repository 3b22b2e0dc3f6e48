// SPDX-License-Identifier: GPL-2.0
/*
 * Uprobes, and a return probe of a function of the kernel, whose handlers do
 * nothing: the cost of the kernel's own part of guarding.
 */

#include "compat.h"

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/slab.h>
#include <linux/uprobes.h>

enum { MAX_PROBES = 16, MAX_ACTIVE = 64 };

static char *path;
module_param(path, charp, 0);
MODULE_PARM_DESC(path, "File that is probed");

static ulong offsets[MAX_PROBES];
static uint nr_offsets;
module_param_array_named(offset, offsets, ulong, &nr_offsets, 0);
MODULE_PARM_DESC(offset, "Where in the file, at up to 16 places");

static uint nr;
module_param(nr, uint, 0);
MODULE_PARM_DESC(nr, "Install so many from that offset, remove them, and report the time");

static uint stride;
module_param(stride, uint, 0);
MODULE_PARM_DESC(stride, "Bytes from one of these to the next");

static ulong on_ns, off_ns;
module_param(on_ns, ulong, 0444);
module_param(off_ns, ulong, 0444);

static char *call;
module_param(call, charp, 0);
MODULE_PARM_DESC(call, "Function whose entry and return are probed, if any");

static struct inode *inode;

static struct bare_probe {
	struct uprobe_consumer consumer;
	struct uprobe *handle;
	u64 offset;
} *probes;
static uint nr_on;

static int bare_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	return 0;
}

static int bare_call(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return 0;
}

static struct kretprobe kretprobe = {
	.entry_handler = bare_call,
	.handler = bare_call,
	.maxactive = MAX_ACTIVE,
};

static int add_probes(uint wanted)
{
	struct bare_probe *probe;

	probes = kvcalloc(wanted ?: 1, sizeof(*probes), GFP_KERNEL);
	if (!probes)
		return -ENOMEM;
	for (; nr_on < wanted; nr_on++) {
		probe = &probes[nr_on];
		probe->consumer.handler = bare_handler;
		probe->offset = nr ? offsets[0] + (u64)nr_on * stride : offsets[nr_on];
		probe->handle = pguard_uprobe_register(inode, probe->offset, &probe->consumer);
		if (IS_ERR(probe->handle))
			return PTR_ERR(probe->handle);
	}
	return 0;
}

static void remove_probes(void)
{
	struct bare_probe *probe;

	for (probe = probes; probe < probes + nr_on; probe++)
		pguard_uprobe_unregister(probe->handle, inode, probe->offset, &probe->consumer);
	pguard_uprobe_sync();
	kvfree(probes);
	probes = NULL;
	nr_on = 0;
}

static void measure_probes(ktime_t start)
{
	ktime_t on = ktime_get();

	remove_probes();
	on_ns = ktime_sub(on, start);
	off_ns = ktime_sub(ktime_get(), on);
}

static int __init bare_init(void)
{
	ktime_t start = ktime_get();
	struct path where;
	int ret;

	ret = kern_path(path ?: "", LOOKUP_FOLLOW, &where);
	if (ret)
		return ret;
	inode = igrab(d_real_inode(where.dentry));
	path_put(&where);
	if (!inode)
		return -ENOENT;
	ret = add_probes(nr ?: nr_offsets);
	if (ret)
		goto err_probes;
	if (nr)
		measure_probes(start);
	if (call) {
		kretprobe.kp.symbol_name = call;
		ret = register_kretprobe(&kretprobe);
		if (ret)
			goto err_probes;
	}
	return 0;

err_probes:
	remove_probes();
	iput(inode);
	return ret;
}

static void __exit bare_exit(void)
{
	if (call)
		unregister_kretprobe(&kretprobe);
	remove_probes();
	iput(inode);
}

module_init(bare_init);
module_exit(bare_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Probes that do nothing");
