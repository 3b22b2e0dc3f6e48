/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The configuration the running kernel was built with.
 */
#ifndef _USER_APP_COMMON_KCONFIG_H
#define _USER_APP_COMMON_KCONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct kconfig {
	char *text;
};

/*
 * Read it from /proc/config.gz or from a file of the @release.  Returns 0 or
 * -ENOENT if there is none that can be read.
 */
int kconfig_load(struct kconfig *config, const char *release);
void kconfig_deinit(struct kconfig *config);

/* Return: true if @option ("CONFIG_X") is y or m. */
bool kconfig_is_set(const struct kconfig *config, const char *option);

#endif /* _USER_APP_COMMON_KCONFIG_H */
