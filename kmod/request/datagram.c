// SPDX-License-Identifier: GPL-2.0

#include "request/datagram.h"

#include "target/thread.h"

#include <linux/ptrace.h>
#include <linux/socket.h>
#include <linux/timekeeping.h>
#include <linux/udp.h>
#include <linux/uaccess.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <asm/unistd.h>

/* A word of the user's memory; 0 if it cannot be read. */
static u64 word_at(u64 address)
{
	u64 ret;

	return copy_from_user_nofault(&ret, (const void __user *)address, sizeof(ret)) ? 0 : ret;
}

/* Where the user has the address of the other side of a call's message; 0 if he has none. */
static u64 name_of(const struct pt_regs *regs, u32 i)
{
	switch ((u32)regs->orig_ax) {
	case __NR_recvfrom:
	case __NR_sendto:
		return regs->r8;
	case __NR_recvmsg:
	case __NR_sendmsg:
		return word_at(regs->si + offsetof(struct user_msghdr, msg_name));
	case __NR_recvmmsg:
	case __NR_sendmmsg:
		return word_at(regs->si + i * sizeof(struct mmsghdr) +
			       offsetof(struct mmsghdr, msg_hdr.msg_name));
	}
	return 0;
}

/* Returns true if a read takes what it reads, and that is a datagram of the other side. */
static bool takes(const struct pt_regs *regs)
{
	switch ((u32)regs->orig_ax) {
	case __NR_recvfrom:
	case __NR_recvmmsg:
		return !(regs->r10 & (MSG_PEEK | MSG_ERRQUEUE));
	case __NR_recvmsg:
		return !(regs->dx & (MSG_PEEK | MSG_ERRQUEUE));
	}
	return true;
}

/* The address at some place of the user's; false if it is none, or cannot be read. */
static bool remote_at(u64 name, struct pguard_remote *ret)
{
	struct sockaddr_in6 address;
	const struct sockaddr_in *address4 = (void *)&address;
	const void __user *place = (const void __user *)name;

	/* So much of both has port and family, and of IPv4 all that there is. */
	if (copy_from_user_nofault(&address, place, offsetof(struct sockaddr_in6, sin6_addr)))
		return false;
	ret->port = address.sin6_port;
	switch (address.sin6_family) {
	case AF_INET:
		ipv6_addr_set_v4mapped(address4->sin_addr.s_addr, &ret->host);
		return true;
	case AF_INET6:
		place += offsetof(struct sockaddr_in6, sin6_addr);
		return !copy_from_user_nofault(&ret->host, place, sizeof(ret->host));
	}
	return false;
}

/* The side that a socket is connected to; false if it is not. */
static bool connected_to(const struct sock *sk, struct pguard_remote *ret)
{
	ret->port = READ_ONCE(inet_sk(sk)->inet_dport);
	if (sk->sk_family == AF_INET)
		ipv6_addr_set_v4mapped(READ_ONCE(inet_sk(sk)->inet_daddr), &ret->host);
#if IS_ENABLED(CONFIG_IPV6)
	else
		ret->host = sk->sk_v6_daddr;
#endif
	return ret->port;
}

/* How many messages current is about to write, as far as they are followed.  Context: any. */
u32 pguard_datagrams_written(const struct pt_regs *regs)
{
	return (u32)regs->orig_ax == __NR_sendmmsg ? regs->dx : 1;
}

/**
 * pguard_datagram_remote() - the other side of a datagram
 * @sk: of whose socket
 * @regs: current's, of the call that has read it, or is about to write it
 * @i: which of those that the call reads or writes
 * @is_read: which of both
 * @ret: filled in
 *
 * Context: current, in the call; preemptible or not; does not sleep.
 * Return: false if it is not known.
 */
bool pguard_datagram_remote(const struct sock *sk, const struct pt_regs *regs, u32 i, bool is_read,
			    struct pguard_remote *ret)
{
	u64 name;

	memset(ret, 0, sizeof(*ret));
	if (is_read && (!takes(regs) || connected_to(sk, ret)))
		return takes(regs);
	name = name_of(regs, i);
	return name ? remote_at(name, ret) : connected_to(sk, ret);
}

/* CLOCK_REALTIME when the first datagram came that nobody has read; 0 if that is not known. */
static ktime_t first_stamp(struct sock *sk)
{
	struct sk_buff_head *first = &udp_sk(sk)->reader_queue, *then = &sk->sk_receive_queue;
	const struct sk_buff *skb;
	unsigned long flags;
	ktime_t ret = 0;

	if (skb_queue_empty_lockless(first) && skb_queue_empty_lockless(then))
		return 0;
	/* As the kernel does when it looks for the first one; softirqs add to the second queue. */
	spin_lock_irqsave(&first->lock, flags);
	skb = skb_peek(first);
	if (skb)
		ret = skb->tstamp;
	spin_unlock_irqrestore(&first->lock, flags);
	if (skb)
		return ret;
	spin_lock_irqsave(&then->lock, flags);
	skb = skb_peek(then);
	if (skb)
		ret = skb->tstamp;
	spin_unlock_irqrestore(&then->lock, flags);
	return ret;
}

/**
 * pguard_datagram_arrival() - when a datagram came that current is about to read
 * @sk: where
 * @ret: of that socket; what the thread has waited is more by the datagram's age
 *
 * The kernel stamps what comes only while somebody on the machine wants it.
 *
 * Context: current, preemption off.
 */
void pguard_datagram_arrival(struct sock *sk, struct pguard_arrival *ret)
{
	ktime_t stamp = first_stamp(sk);
	s64 age = ktime_get_real() - stamp;

	/* Somebody may have set the clock meanwhile. */
	if (stamp && age > 0 && age < 3600 * NSEC_PER_SEC)
		ret->run_delay -= age;
}
