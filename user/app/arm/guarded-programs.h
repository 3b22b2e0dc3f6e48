/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One file may run many programs that have nothing in common, as that of an interpreter
 * does, and all of its processes are guarded.
 */
#ifndef _USER_APP_ARM_GUARDED_PROGRAMS_H
#define _USER_APP_ARM_GUARDED_PROGRAMS_H

#include <stdint.h>

struct link;

/* Print how many command lines and users the target's processes have, if several. */
void guarded_programs_text(struct link *link, uint32_t target_id);

#endif /* _USER_APP_ARM_GUARDED_PROGRAMS_H */
