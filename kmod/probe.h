/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes: the kernel's breakpoints at the sites of targets.
 *
 * They come in batches, as the user orders them, and go all at once with their
 * target or before.  A batch keeps the file, and holds a reference to its
 * target.
 */
#ifndef _PGUARD_PROBE_H
#define _PGUARD_PROBE_H

#include <linux/types.h>

#include <linux/perfguard.h>

struct file;
struct netlink_ext_ack;
struct pguard_target;

/* What is wanted: @nr places in @file. */
struct pguard_probe_wish {
	struct file *file;
	const struct perfguard_site *sites;
	u32 nr;
	u32 flags;
};

int pguard_probes_add(struct pguard_target *target, const struct pguard_probe_wish *wish,
		      struct perfguard_site_refusal *refused, u32 *ret_nr_refused,
		      struct netlink_ext_ack *extack);
void pguard_probes_del(struct pguard_target *target);
void pguard_probes_tidy(void);

void pguard_probe_deinit(void);

#endif /* _PGUARD_PROBE_H */
