/* SPDX-License-Identifier: GPL-2.0 */
/*
 * With whom datagrams are exchanged, by one socket, and when they came.
 *
 * A socket that is not connected has no other side: the kernel says whose datagram it was as the
 * call returns, in the user's memory, and takes the address of what is sent from there.  There
 * it is read, too, without faulting.  It is a key, and what is reported; nothing else
 * depends on it.
 */
#ifndef _KMOD_REQUEST_DATAGRAM_H
#define _KMOD_REQUEST_DATAGRAM_H

#include <linux/in6.h>
#include <linux/types.h>
#include <net/sock.h>

struct pguard_arrival;
struct pt_regs;

enum { PGUARD_MAX_MESSAGES = 16 };	/* of a call that has several */

/* The other side; hashed as it is. */
struct pguard_remote {
	struct in6_addr host;	/* of IPv4 a mapped one */
	__be16 port;
	u16 zero;
};

static inline bool pguard_is_datagram(const struct sock *sk)
{
	return sk->sk_type == SOCK_DGRAM && sk->sk_protocol == IPPROTO_UDP &&
	       (sk->sk_family == AF_INET || sk->sk_family == AF_INET6);
}

u32 pguard_datagrams_written(const struct pt_regs *regs);
bool pguard_datagram_remote(const struct sock *sk, const struct pt_regs *regs, u32 i, bool is_read,
			    struct pguard_remote *ret);
void pguard_datagram_arrival(struct sock *sk, struct pguard_arrival *ret);

#endif /* _KMOD_REQUEST_DATAGRAM_H */
