/* SPDX-License-Identifier: GPL-2.0 */
/* The overdue watch: finds late units from outside, while they last. */
#ifndef _KMOD_UNIT_WATCHDOG_H
#define _KMOD_UNIT_WATCHDOG_H

int pguard_watchdog_init(void);
void pguard_watchdog_start(void);
void pguard_watchdog_flush(void);
void pguard_watchdog_stop(void);
void pguard_watchdog_deinit(void);

#endif /* _KMOD_UNIT_WATCHDOG_H */
