/* SPDX-License-Identifier: GPL-2.0 */
/* The overdue watch: finds late units from outside, while they last. */
#ifndef _PGUARD_WATCH_H
#define _PGUARD_WATCH_H

int pguard_watch_init(void);
void pguard_watch_start(void);
void pguard_watch_flush(void);
void pguard_watch_stop(void);
void pguard_watch_deinit(void);

#endif /* _PGUARD_WATCH_H */
