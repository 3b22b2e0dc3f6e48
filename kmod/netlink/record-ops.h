/* SPDX-License-Identifier: GPL-2.0 */
/* Records on their way to userland: dumps of the rings, and the bell. */
#ifndef _KMOD_NETLINK_RECORD_OPS_H
#define _KMOD_NETLINK_RECORD_OPS_H

struct genl_family;
struct netlink_callback;
struct pguard_ring;
struct sk_buff;

extern struct genl_family pguard_nl_family;

int pguard_record_dump_start(struct netlink_callback *cb);
int pguard_record_dump(struct pguard_ring *ring, int command, struct sk_buff *skb,
		       struct netlink_callback *cb);
int pguard_record_dump_done(struct netlink_callback *cb);

void pguard_record_ring_bell(void);
void pguard_record_silence(void);

#endif /* _KMOD_NETLINK_RECORD_OPS_H */
