/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_BASE_PENDING_H
#define _USER_BASE_PENDING_H

#include <stdbool.h>

/*
 * True if a signal that ends us waits to be read: SIGINT, SIGTERM or SIGHUP.  Verbs block
 * them and read them in their main loop; whoever keeps that waiting has to look.
 */
bool pending_end(void);

/* From now on SIGHUP does not end us: a service reloads by it. */
void pending_reload_by_hup(void);

#endif /* _USER_BASE_PENDING_H */
