/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of link share: one request and its answers.
 */
#ifndef _USER_LINK_NETLINK_H
#define _USER_LINK_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include "link/link-policy.h"
#include "link/link.h"

struct nl_sock;

struct link {
	struct nl_sock *socket; /* requests and dumps */
	struct nl_sock *wakeup; /* the multicast group, or NULL */
	struct nl_msg *request; /* begun and not yet sent, or NULL */
	int request_error; /* why a request that was begun is NULL */
	int family;
	bool keeps_messages; /* in the records */
	char error[512];
};

/* Called for each message of an answer; not called any more once it failed. */
typedef int (*netlink_fn)(struct nlattr *attrs, int len, void *arg);

/*
 * Begin a request, with @room bytes for its attributes beyond those of a few
 * words.  Errors of this and of the next ones are returned when it is sent.
 */
void netlink_begin(struct link *link, uint8_t command, int flags, size_t room);
void netlink_put(struct link *link, int attr, size_t size, const void *data);
void netlink_put_u32(struct link *link, int attr, uint32_t value);
void netlink_put_u64(struct link *link, int attr, uint64_t value);

/* The attributes of a scope. */
struct netlink_scope_attrs {
	int uid;
	int cgroup_id;
	int pids;
	int args;
};

enum { NETLINK_SCOPE_ROOM = 1024 };

/* A scope, NULL for all, by attributes of this set: TARGET or PROFILE. */
#define NETLINK_PUT_SCOPE(link, set, scope)                                       \
	netlink_put_scope(link, &(const struct netlink_scope_attrs){              \
					PERFGUARD_A_##set##_UID,                  \
					PERFGUARD_A_##set##_CGROUP_ID,            \
					PERFGUARD_A_##set##_SCOPE_PIDS,           \
					PERFGUARD_A_##set##_SCOPE_ARGS,           \
				}, scope)
void netlink_put_scope(struct link *link, const struct netlink_scope_attrs *attrs,
		       const struct armed_scope *scope);

/* Limit of attempts to read something. */
enum { NETLINK_TRIES = 20 };

/*
 * Send the request and read its answer to the end.  -EAGAIN for a request that
 * only reads: the state changed meanwhile, or the kernel had no memory for the
 * answer; repeat it.  -ENOBUFS for one that changes something: the kernel had
 * no memory, after several attempts if there is no @fn.
 */
int netlink_exchange(struct link *link, netlink_fn fn, void *arg);

int netlink_error(struct link *link, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Send the request; its answer of one message is stored in @object. */
int netlink_query(struct link *link, const struct decode_field *fields, void *object);

/* A request for a dump into an array. */
struct netlink_dump {
	uint8_t command;
	int attr; /* with value @id, if that is not 0 */
	uint32_t id;
	size_t size; /* of an element, which is zeroed at first */
	const struct decode_field *fields;
	/* Read what is not in @fields, or NULL. */
	int (*parse)(struct nlattr *attrs, int len, void *element);
	void (*clear)(void *element); /* or NULL */
};

/*
 * Set *@ret_elements to the array of *@ret_nr elements, which is to be freed; an
 * interrupted dump starts over.  On an error it is NULL.
 */
int netlink_dump(struct link *link, const struct netlink_dump *dump, void *ret_elements,
		 uint32_t *ret_nr);

#endif /* _USER_LINK_NETLINK_H */
