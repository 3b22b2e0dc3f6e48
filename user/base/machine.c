// SPDX-License-Identifier: GPL-2.0

#include "base/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_boot(char boot[MACHINE_BOOT_MAX])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file)
		return;
	if (fgets(boot, MACHINE_BOOT_MAX, file))
		boot[strcspn(boot, "\n")] = '\0';
	fclose(file);
}

const struct machine_identity *machine_here(void)
{
	static struct machine_identity here;
	struct stat st;

	if (here.load[0])
		return &here;
	if (gethostname(here.host, sizeof(here.host) - 1))
		here.host[0] = '\0';
	read_boot(here.boot);
	/* When the module is loaded the kernel makes a new directory for it, with a new inode. */
	if (stat("/sys/module/perfguard", &st))
		st.st_ino = 0;
	snprintf(here.load, sizeof(here.load), "%s/%ju", here.boot, (uintmax_t)st.st_ino);
	return &here;
}
