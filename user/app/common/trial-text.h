/* SPDX-License-Identifier: GPL-2.0 */
/* What the module's trial of the kernel at load has shown, in a line. */
#ifndef _USER_APP_COMMON_TRIAL_TEXT_H
#define _USER_APP_COMMON_TRIAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct stats;

/* Return: true if the module carries out instructions, so that guards are cheap. */
bool trial_text(const struct stats *stats, char *text, size_t size);

#endif /* _USER_APP_COMMON_TRIAL_TEXT_H */
