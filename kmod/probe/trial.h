/* SPDX-License-Identifier: GPL-2.0 */
/* A trial at load: may the module carry out instructions on this kernel? */
#ifndef _KMOD_PROBE_TRIAL_H
#define _KMOD_PROBE_TRIAL_H

#include <linux/init.h>
#include <linux/types.h>

/*
 * enum perfguard_trial, and the positive error number where that is FAILED.  They do not
 * change once the module is loaded.
 */
extern u32 pguard_trial;
extern u32 pguard_trial_error;

int pguard_trial_init(void);
void pguard_trial_deinit(void);

#endif /* _KMOD_PROBE_TRIAL_H */
