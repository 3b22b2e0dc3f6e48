/* SPDX-License-Identifier: GPL-2.0 */
/* By what the program guest-mark tells the plugin guest-count: the displacement of a long nop. */
#ifndef _GUEST_COUNT_H
#define _GUEST_COUNT_H

#define GUEST_MARK_BEGIN	0x50470001
#define GUEST_MARK_END		0x50470002

#endif /* _GUEST_COUNT_H */
