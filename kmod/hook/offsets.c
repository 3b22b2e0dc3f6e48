// SPDX-License-Identifier: GPL-2.0
/* What stub.S needs to know about C structures; made into offsets.h. */

#define COMPILE_OFFSETS

#include <linux/kbuild.h>
#include <linux/sched.h>

int main(void);

int main(void)
{
	OFFSET(PGUARD_TASK_TGID, task_struct, tgid);
	return 0;
}
