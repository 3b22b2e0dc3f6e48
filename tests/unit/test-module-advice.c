// SPDX-License-Identifier: GPL-2.0
/* What is missing of the module, step by step until it is only not loaded. */

#include "app/common/module-advice.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/command.h"
#include "tap.h"

#define RELEASE "6.1.0-9-amd64"

static char root[] = "/tmp/module-advice-XXXXXX";

/* Make a file below the root, and the directories before it. */
static void make(const char *path, const char *content)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	if (!file)
		exit(1);
	fputs(content, file);
	fclose(file);
}

static bool advises_trust(const char *wanted)
{
	char text[160];

	module_trust_advice(root, text, sizeof(text));
	diag("%s", text);
	return !strcmp(text, wanted);
}

static bool advises(const char *wanted)
{
	char text[160];

	module_advice(root, RELEASE, text, sizeof(text));
	diag("%s", text);
	return !strcmp(text, wanted);
}

int main(void)
{
	char command[64];

	plan(7);
	if (!mkdtemp(root))
		return 1;
	ok(advises("install it: apt install ./perfguard-dkms_*.deb"), "nothing is there");
	make("/usr/src/perfguard-" CMD_VERSION "/dkms.conf", "");
	ok(advises("install the kernel's headers: apt install linux-headers-" RELEASE),
	   "source, but no headers");
	make("/lib/modules/" RELEASE "/build/Makefile", "");
	make("/lib/modules/" RELEASE "/modules.dep",
	     "kernel/drivers/notperfguard.ko: kernel/perfguard.ko\n");
	ok(advises("build it: dkms install perfguard/" CMD_VERSION), "source and headers");
	make("/lib/modules/" RELEASE "/modules.dep",
	     "kernel/a.ko: kernel/b.ko\nupdates/dkms/perfguard.ko:\n");
	ok(advises("load it: modprobe perfguard"), "a module for this kernel");
	make("/lib/modules/" RELEASE "/modules.dep", "updates/perfguard.ko.xz: kernel/b.ko\n");
	ok(advises("load it: modprobe perfguard"), "a compressed one");
	ok(advises_trust("have DKMS sign it: apt install openssl, dkms build --force perfguard/" CMD_VERSION
			 ", dkms install --force perfguard/" CMD_VERSION), "signatures are wanted, and DKMS has no key");
	make("/var/lib/dkms/mok.pub", "");
	ok(advises_trust("let it trust the key of DKMS: mokutil --import /var/lib/dkms/mok.pub, then reboot"),
	   "signatures are wanted, and DKMS has one");
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command) ? 1 : tap_status();
}
