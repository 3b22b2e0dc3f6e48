// SPDX-License-Identifier: GPL-2.0

#include "trainstream/stream-device.h"

#include "compat.h"
#include "target/image.h"
#include "trainstream/stream.h"

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>

static unsigned int stream_mib = 32;

static int stream_mib_set(const char *value, const struct kernel_param *param)
{
	return param_set_uint_minmax(value, param, 1, PGUARD_STREAM_MAX_MIB);
}

static const struct kernel_param_ops stream_mib_ops = {
	.set = stream_mib_set,
	.get = param_get_uint,
};

module_param_cb(stream_mib, &stream_mib_ops, &stream_mib, 0644);
MODULE_PARM_DESC(stream_mib,
		 "MiB of the training stream for each CPU, taken while it is open (1 to 1024)");

/* Somebody has the device open. */
static atomic_t taken = ATOMIC_INIT(0);

static int device_open(struct inode *inode, struct file *file)
{
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (atomic_cmpxchg(&taken, 0, 1))
		return -EBUSY;
	ret = mutex_lock_killable(&pguard_control) ? -EINTR : 0;
	if (!ret) {
		ret = pguard_stream_start(READ_ONCE(stream_mib));
		if (!ret)
			pguard_targets_unsettle(PERFGUARD_TARGET_FLAGS_RECORD);
		mutex_unlock(&pguard_control);
	}
	if (ret)
		atomic_set(&taken, 0);
	return ret ?: nonseekable_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	pguard_stream_stop();
	atomic_set(&taken, 0);
	return 0;
}

static ssize_t device_read(struct file *file, char __user *buffer, size_t size, loff_t *offset)
{
	ssize_t ret;

	if (size < sizeof(struct perfguard_event))
		return -EINVAL;
	while (!(ret = pguard_stream_read(buffer, size))) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = pguard_stream_wait();
		if (ret)
			break;
	}
	return ret;
}

static __poll_t device_poll(struct file *file, struct poll_table_struct *table)
{
	return pguard_stream_poll(file, table);
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.poll = device_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = PERFGUARD_FAMILY_NAME,
	.mode = 0600,
	.fops = &device_fops,
};

int __init pguard_stream_device_init(void)
{
	return misc_register(&device);
}

void pguard_stream_device_deinit(void)
{
	misc_deregister(&device);
}
