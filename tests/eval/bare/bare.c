// SPDX-License-Identifier: GPL-2.0
/*
 * A uprobe whose handler does nothing, so that it can be measured what the
 * kernel's own part of a guard costs.
 */

#include "compat.h"

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/uprobes.h>

static char *path;
module_param(path, charp, 0);
MODULE_PARM_DESC(path, "File that is probed");

static ulong offset;
module_param(offset, ulong, 0);
MODULE_PARM_DESC(offset, "Where in the file");

static struct inode *inode;
static struct uprobe *handle;

static int bare_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	return 0;
}

static struct uprobe_consumer consumer = {
	.handler = bare_handler,
};

static int __init bare_init(void)
{
	struct path where;
	int ret = kern_path(path ?: "", LOOKUP_FOLLOW, &where);

	if (ret)
		return ret;
	inode = igrab(d_real_inode(where.dentry));
	path_put(&where);
	if (!inode)
		return -ENOENT;
	handle = pguard_uprobe_register(inode, offset, &consumer);
	if (!IS_ERR(handle))
		return 0;
	iput(inode);
	return PTR_ERR(handle);
}

static void __exit bare_exit(void)
{
	pguard_uprobe_unregister(handle, inode, offset, &consumer);
	pguard_uprobe_sync();
	iput(inode);
}

module_init(bare_init);
module_exit(bare_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A uprobe that does nothing");
