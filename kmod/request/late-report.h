/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports about requests that take longer than their target's limit.
 *
 * A work does it, while a request lasts, again whenever its time has doubled, and
 * once it has its answer, or its client has hung up.
 */
#ifndef _KMOD_REQUEST_LATE_REPORT_H
#define _KMOD_REQUEST_LATE_REPORT_H

#include <linux/types.h>

struct pguard_connection_table;
struct work_struct;

void pguard_late_report_watch(struct work_struct *work);
void pguard_late_report_update(struct pguard_connection_table *table);
void pguard_late_report_set_limit(struct pguard_connection_table *table, u64 limit_ns);

#endif /* _KMOD_REQUEST_LATE_REPORT_H */
