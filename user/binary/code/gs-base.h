/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does code use the base of gs?  Inline recording finds a thread's records by it, so that is
 * refused for a program that has a use of its own: one that sets the base cannot be noticed
 * when it does so.
 */
#ifndef _USER_BINARY_CODE_GS_BASE_H
#define _USER_BINARY_CODE_GS_BASE_H

#include <stdbool.h>

struct functions;

/* True if an instruction of a function accesses memory by gs, or sets its base. */
bool gs_base_is_used(const struct functions *functions);

#endif /* _USER_BINARY_CODE_GS_BASE_H */
