/* SPDX-License-Identifier: GPL-2.0 */
/* From what was loaded of a profile to the tables that threads work with. */
#ifndef _KMOD_PROFILE_TABLES_H
#define _KMOD_PROFILE_TABLES_H

struct netlink_ext_ack;
struct pguard_profile;

int pguard_tables_make(struct pguard_profile *profile, struct netlink_ext_ack *extack);

#endif /* _KMOD_PROFILE_TABLES_H */
