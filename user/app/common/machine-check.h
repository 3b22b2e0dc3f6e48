/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_APP_COMMON_MACHINE_CHECK_H
#define _USER_APP_COMMON_MACHINE_CHECK_H

#include <stdbool.h>

/* Print what speaks for and against perfguard on this machine.  Returns an enum cmd_exit. */
int machine_check(bool is_json);

#endif /* _USER_APP_COMMON_MACHINE_CHECK_H */
