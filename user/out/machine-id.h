/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_OUT_MACHINE_ID_H
#define _USER_OUT_MACHINE_ID_H

enum { MACHINE_ID_MAX = 33 };

/*
 * The id of this machine among those that run perfguard, 32 hexadecimal digits: that of
 * machine-id(5), which is not to be shown to others, hashed with ours.  "unknown" if there is none.
 */
void machine_id(char ret[MACHINE_ID_MAX]);

#endif /* _USER_OUT_MACHINE_ID_H */
