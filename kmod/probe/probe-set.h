/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probes of targets.
 *
 * They come in batches, as the user orders them, and go all at once with their
 * target or before.  A batch holds a reference to its target, and keeps the
 * file or, if it is of the guards of a profile, the profile.
 *
 * All is done by the holder of the target lock (target-lock.h), and without
 * pguard_control: it may take seconds.
 */
#ifndef _KMOD_PROBE_PROBE_SET_H
#define _KMOD_PROBE_PROBE_SET_H

#include <linux/types.h>

#include <linux/perfguard.h>

struct file;
struct netlink_ext_ack;
struct pguard_profile;
struct pguard_target;

/* What is wanted: @nr places in @file. */
struct pguard_probe_set_spec {
	struct file *file;
	const struct perfguard_site *sites;
	u32 nr;
	u32 flags;
	const bool *is_cancelled; /* set when no more are wanted; READ_ONCE */
};

int pguard_probe_set_add(struct pguard_target *target, const struct pguard_probe_set_spec *spec,
			 struct perfguard_site_refusal *refused, u32 *ret_nr_refused,
			 struct netlink_ext_ack *extack);
int pguard_probe_set_guard(struct pguard_target *target, struct pguard_profile *profile,
			   const bool *is_cancelled, struct netlink_ext_ack *extack);
void pguard_probe_set_del(struct pguard_target *target, const struct pguard_profile *profile);
void pguard_probe_set_del_all(struct pguard_target *target);
void pguard_probe_set_look(struct pguard_profile *profile);
void pguard_probe_set_tidy(void);

int pguard_probe_set_file_check(const struct file *file, struct netlink_ext_ack *extack);

void pguard_probe_set_deinit(void);

#endif /* _KMOD_PROBE_PROBE_SET_H */
