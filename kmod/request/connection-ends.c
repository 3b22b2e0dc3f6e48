// SPDX-License-Identifier: GPL-2.0

#include "request/connection-ends.h"

#include <linux/pid.h>
#include <linux/sock_diag.h>
#include <net/af_unix.h>
#include <net/inet_sock.h>
#include <net/sock.h>

/* The table they are in is zeroed, and used by nobody yet. */
void pguard_socket_names_init(struct pguard_socket_names *names)
{
	spin_lock_init(&names->lock);
}

/* That of a number, or NULL.  Context: any. */
const struct pguard_socket_name *pguard_socket_name(const struct pguard_socket_names *names,
						    u32 name)
{
	/* Pairs with name_number(). */
	u32 nr = smp_load_acquire(&names->nr);

	return name && name <= nr ? &names->of[name - 1] : NULL;
}

/* The number of a name, which is added if it is new; 0 if there is no room. */
static u16 name_number(struct pguard_socket_names *names, const struct pguard_socket_name *name)
{
	u32 i;

	spin_lock(&names->lock);
	for (i = 0; i < names->nr; i++)
		if (!memcmp(&names->of[i], name, sizeof(*name)))
			break;
	if (i == names->nr && i < PGUARD_SOCKET_NAMES) {
		names->of[i] = *name;
		/* Who reads does not lock. */
		smp_store_release(&names->nr, i + 1);
	}
	spin_unlock(&names->lock);
	return i < PGUARD_SOCKET_NAMES ? i + 1 : 0;
}

/* What a socket is bound to, which it stays; NULL: to nothing. */
static const struct unix_address *bound_to(const struct sock *sk)
{
	/* Pairs with what binds it, which does not lock who reads. */
	return smp_load_acquire(&unix_sk(sk)->addr);
}

/* An accepted socket has the name of the one that listens; who connects mostly has none. */
enum pguard_local_side pguard_local_side(struct sock *sk)
{
	bool is_here = bound_to(sk), is_there;
	const struct sock *other;

	unix_state_lock(sk);
	other = unix_peer(sk);
	is_there = other && bound_to(other);
	unix_state_unlock(sk);
	if (is_here == is_there)
		return PGUARD_LOCAL_ANY;
	return is_there ? PGUARD_LOCAL_CONNECTED : PGUARD_LOCAL_ACCEPTED;
}

/* The name of the socket that this one is connected to, as a number. */
static u16 other_name(struct sock *sk, struct pguard_socket_names *names)
{
	const struct unix_address *address;
	struct pguard_socket_name name = { };
	const struct sock *other;

	/* It has a reference to the other one as long as it is connected. */
	unix_state_lock(sk);
	other = unix_peer(sk);
	address = other ? bound_to(other) : NULL;
	if (address)
		memcpy(name.path, address->name->sun_path,
		       clamp_t(int, address->len - (int)offsetof(struct sockaddr_un, sun_path), 0,
			       sizeof(name.path)));
	unix_state_unlock(sk);
	return address ? name_number(names, &name) : 0;
}

/* Who connected or listened, as seen from the first PID namespace; 0: it is not known. */
static u32 other_pid(struct sock *sk)
{
	u32 ret;

	spin_lock(&sk->sk_peer_lock);
	ret = pid_nr(sk->sk_peer_pid);
	spin_unlock(&sk->sk_peer_lock);
	return ret;
}

/* An end of a connection, of IP; of another family nothing but that. */
static void end_of(const struct sock *sk, enum pguard_end end, struct pguard_peer_address *ret)
{
	bool is_own = end == PGUARD_END_OWN;
	const struct inet_sock *inet = inet_sk(sk);

	memset(ret, 0, sizeof(*ret));
	ret->family = sk->sk_family;
	switch (sk->sk_family) {
	case AF_INET:
		ret->port = is_own ? inet->inet_sport : inet->inet_dport;
		ret->host = is_own ? inet->inet_saddr : inet->inet_daddr;
		break;
#if IS_ENABLED(CONFIG_IPV6)
	case AF_INET6:
		ret->port = is_own ? inet->inet_sport : inet->inet_dport;
		ret->host6 = is_own ? sk->sk_v6_rcv_saddr : sk->sk_v6_daddr;
		break;
#endif
	}
}

/**
 * pguard_peer_address_of() - the other end of a connection to a peer
 * @sk: the own one
 * @names: to which the name is added, if it has one
 * @ret: filled in
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_peer_address_of(struct sock *sk, struct pguard_socket_names *names,
			    struct pguard_peer_address *ret)
{
	end_of(sk, PGUARD_END_OTHER, ret);
	if (ret->family != AF_UNIX)
		return;
	ret->name = other_name(sk, names);
	ret->pid = other_pid(sk);
}

/* As it is reported.  Context: any. */
void pguard_address_put(const struct pguard_peer_address *peer, struct pguard_address *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->any.sa_family = peer->family;
	switch (peer->family) {
	case AF_INET:
		ret->in.sin_port = peer->port;
		ret->in.sin_addr.s_addr = peer->host;
		break;
	case AF_INET6:
		ret->in6.sin6_port = peer->port;
		ret->in6.sin6_addr = peer->host6;
		break;
	case AF_UNIX:
		ret->local.pid = peer->pid;
		ret->local.by_signal = peer->name == PGUARD_BY_SIGNAL;
		break;
	}
}

static u64 cookie_of(struct sock *sk)
{
	u32 cookie[2];

	sock_diag_save_cookie(sk, cookie);
	return (u64)cookie[1] << 32 | cookie[0];
}

/* Of the other end of a connection by local sockets; else 0.  Context: any but interrupts. */
u64 pguard_other_cookie(struct sock *sk)
{
	struct sock *other;
	u64 ret;

	if (sk->sk_family != AF_UNIX)
		return 0;
	unix_state_lock(sk);
	other = unix_peer(sk);
	ret = other ? cookie_of(other) : 0;
	unix_state_unlock(sk);
	return ret;
}

static void describe_local(struct sock *sk, enum pguard_end end,
			   struct perfguard_local_address *ret)
{
	u64 cookie = end == PGUARD_END_OWN ? cookie_of(sk) : pguard_other_cookie(sk);

	if (end == PGUARD_END_OTHER)
		ret->pid = other_pid(sk);
	ret->cookie_low = lower_32_bits(cookie);
	ret->cookie_high = upper_32_bits(cookie);
}

/**
 * pguard_address_describe() - an end of a connection, as it is reported
 * @sk: the own one
 * @end: which
 * @ret: filled in
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_address_describe(struct sock *sk, enum pguard_end end, struct pguard_address *ret)
{
	struct pguard_peer_address address;

	end_of(sk, end, &address);
	pguard_address_put(&address, ret);
	if (address.family == AF_UNIX)
		describe_local(sk, end, &ret->local);
}
