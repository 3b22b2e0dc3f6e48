/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_BASE_CAPABILITIES_H
#define _USER_BASE_CAPABILITIES_H

/* From now on this thread, and those that it starts, have none.  Returns 0 or a negative errno. */
int capabilities_drop(void);

#endif /* _USER_BASE_CAPABILITIES_H */
