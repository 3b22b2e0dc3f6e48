// SPDX-License-Identifier: GPL-2.0

#include "base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	return syscall(__NR_capset, &header, none) ? -errno : 0;
}
