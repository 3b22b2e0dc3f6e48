// SPDX-License-Identifier: GPL-2.0

#include "app/common/module-advice.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"

#define DKMS_NAME "perfguard/" CMD_VERSION

/* Return: true if modprobe finds the module; it may be compressed. */
static bool is_installed(const char *root, const char *release)
{
	char line[4096];
	bool is_found = false;
	FILE *file;

	snprintf(line, sizeof(line), "%s/lib/modules/%s/modules.dep", root, release);
	file = fopen(line, "re");
	while (file && !is_found && fgets(line, sizeof(line), file)) {
		/* "updates/dkms/perfguard.ko.xz: other.ko ..." */
		line[strcspn(line, ":")] = '\0';
		is_found = strstr(line, "/perfguard.ko");
	}
	if (file)
		fclose(file);
	return is_found;
}

void module_advice(const char *root, const char *release, char *text, size_t size)
{
	char source[256], headers[256];

	snprintf(source, sizeof(source), "%s/usr/src/perfguard-" CMD_VERSION "/dkms.conf", root);
	snprintf(headers, sizeof(headers), "%s/lib/modules/%s/build/Makefile", root, release);
	if (is_installed(root, release))
		snprintf(text, size, "load it: modprobe perfguard");
	else if (access(source, F_OK))
		snprintf(text, size, "install it: apt install ./perfguard-dkms_*.deb");
	else if (access(headers, F_OK))
		snprintf(text, size, "install the kernel's headers: apt install linux-headers-%s", release);
	else
		snprintf(text, size, "build it: dkms install " DKMS_NAME);
}

void module_trust_advice(const char *root, char *text, size_t size)
{
	char key[256];

	snprintf(key, sizeof(key), "%s/var/lib/dkms/mok.pub", root);
	if (access(key, F_OK))
		snprintf(text, size, "have DKMS sign it: apt install openssl, dkms build --force " DKMS_NAME
			 ", dkms install --force " DKMS_NAME);
	else
		snprintf(text, size, "let it trust the key of DKMS: mokutil --import /var/lib/dkms/mok.pub, then reboot");
}
