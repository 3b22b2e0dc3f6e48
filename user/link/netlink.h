/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of link share: one request and its answers.
 */
#ifndef _USER_LINK_NETLINK_H
#define _USER_LINK_NETLINK_H

#include <stdint.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include "link/link.h"

struct nl_sock;

struct link {
	struct nl_sock *socket; /* requests and dumps */
	struct nl_sock *bell; /* the multicast group, or NULL */
	int family;
	char error[512];
};

/* Called for each message of an answer; not called any more once it failed. */
typedef int (*netlink_fn)(struct nlattr *attrs, int len, void *arg);

/* A request to fill in, or NULL with the error set. */
struct nl_msg *netlink_request(struct link *link, uint8_t command, int flags);

/* A reading is started over so often. */
enum { NETLINK_TRIES = 20 };

/*
 * Send a request and see its answer to the end; frees @msg.  -EAGAIN for a
 * reading: what it told changed meanwhile, or the kernel had no memory for it,
 * so ask again.  -ENOBUFS for an order: the kernel had none, however often asked;
 * one without @fn is given again by itself.
 */
int netlink_exchange(struct link *link, struct nl_msg *msg, netlink_fn fn,
		     void *arg);

/* Free @msg, whose attributes had no room; returns -EMSGSIZE. */
int netlink_overflow(struct link *link, struct nl_msg *msg);

int netlink_error(struct link *link, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * A dump into an array.  netlink_dump() calls the parser for each message
 * with room for one more element, which is zeroed; after an interrupted dump
 * the elements are cleared and it starts over.
 */
struct netlink_array {
	void *elements;
	uint32_t nr;
	uint32_t max;
	size_t size; /* of an element */
	int (*parse)(struct nlattr *attrs, int len, void *element);
	void (*clear)(void *element); /* or NULL */
};

/* @request makes the request's message, anew for each try. */
int netlink_dump(struct link *link,
		 struct nl_msg *(*request)(struct link *link, uint32_t id),
		 uint32_t id, struct netlink_array *array);

/* The attribute's value, or 0 without it. */
uint32_t netlink_u32(struct nlattr *attr);
uint64_t netlink_u64(struct nlattr *attr);
/* Copy a string, cut to @size; "" without it. */
void netlink_string(struct nlattr *attr, char *text, size_t size);

#endif /* _USER_LINK_NETLINK_H */
