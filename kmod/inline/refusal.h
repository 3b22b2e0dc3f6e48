/* SPDX-License-Identifier: GPL-2.0 */
/* Processes whose instructions stay as they are. */
#ifndef _KMOD_INLINE_REFUSAL_H
#define _KMOD_INLINE_REFUSAL_H

#include <linux/types.h>

u32 pguard_inline_refusal(void);

#endif /* _KMOD_INLINE_REFUSAL_H */
