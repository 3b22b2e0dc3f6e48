/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_APP_COMMON_MODULE_ADVICE_H
#define _USER_APP_COMMON_MODULE_ADVICE_H

#include <stddef.h>

/*
 * The command that brings this kernel one step nearer to a module that is
 * loaded, by what is there: "load it: modprobe perfguard".  @root is before all
 * paths, as "" or a directory of a test.  Documentation/install.md explains the
 * same commands.
 */
void module_advice(const char *root, const char *release, char *text, size_t size);

/* The same where the kernel loads only modules that are signed with a key it trusts. */
void module_trust_advice(const char *root, char *text, size_t size);

#endif /* _USER_APP_COMMON_MODULE_ADVICE_H */
