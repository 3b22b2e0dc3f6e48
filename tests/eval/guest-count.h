/* SPDX-License-Identifier: GPL-2.0 */
/* Marks of the program guest-mark for the plugin guest-count: displacements of a long nop. */
#ifndef _GUEST_COUNT_H
#define _GUEST_COUNT_H

#define GUEST_MARK_BEGIN	0x50470001
#define GUEST_MARK_END		0x50470002

#endif /* _GUEST_COUNT_H */
