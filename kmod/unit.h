/* SPDX-License-Identifier: GPL-2.0 */
/* Units: their begin, their end, and the records about late ones. */
#ifndef _PGUARD_UNIT_H
#define _PGUARD_UNIT_H

#include "task.h"

void pguard_unit_start(struct pguard_task *state);
void pguard_unit_end(struct pguard_task *state);
void pguard_unit_drop(struct pguard_task *state);
struct pguard_record *pguard_unit_record(struct pguard_task *state, u64 unit,
					 u32 kind, u32 found_by, gfp_t gfp);
bool pguard_unit_report_allowed(struct pguard_task *state);

#endif /* _PGUARD_UNIT_H */
