/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why the module leaves the breakpoints of a process where there were to be jumps.
 */
#ifndef _USER_APP_COMMON_INLINE_REFUSAL_H
#define _USER_APP_COMMON_INLINE_REFUSAL_H

#include <stdint.h>

/* The reason of an enum perfguard_inline_refusal, as the rest of a sentence; lent. */
const char *inline_refusal_text(uint32_t refusal);

#endif /* _USER_APP_COMMON_INLINE_REFUSAL_H */
