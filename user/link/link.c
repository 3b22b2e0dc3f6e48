// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

/* One message of a dump is at most 32 KiB today; be ready for larger ones. */
#define MESSAGE_BYTES (128 * 1024)
/* Buffer for unread wakeups; beyond that the kernel reports ENOBUFS. */
#define WAKEUP_BYTES (4 * 1024 * 1024)

#define OLDEST_MAJOR 6
#define OLDEST_MINOR 1

static struct nl_sock *open_socket(struct link *link)
{
	struct nl_sock *socket = nl_socket_alloc();
	int on = 1;
	int ret;

	if (!socket) {
		netlink_error(link, 0, "out of memory");
		return NULL;
	}
	ret = genl_connect(socket);
	if (ret < 0) {
		netlink_error(link, 0, "cannot open a netlink socket: %s",
			      nl_geterror(ret));
		nl_socket_free(socket);
		return NULL;
	}
	/* Texts with refusals, and no copy of our request in them. */
	setsockopt(nl_socket_get_fd(socket), SOL_NETLINK, NETLINK_EXT_ACK, &on,
		   sizeof(on));
	setsockopt(nl_socket_get_fd(socket), SOL_NETLINK, NETLINK_CAP_ACK, &on,
		   sizeof(on));
	nl_socket_disable_seq_check(socket);
	nl_socket_disable_msg_peek(socket);
	nl_socket_set_msg_buf_size(socket, MESSAGE_BYTES);
	return socket;
}

/* The reason for which the kernel does not have the family. */
static int explain_no_family(struct link *link)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	uname(&name);
	if (sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	    (major < OLDEST_MAJOR ||
	     (major == OLDEST_MAJOR && minor < OLDEST_MINOR)))
		return netlink_error(link, -ENOSYS,
				     "kernel %s is too old: the perfguard module needs %u.%u or newer",
				     name.release, OLDEST_MAJOR, OLDEST_MINOR);
	if (!access("/sys/module/" PERFGUARD_FAMILY_NAME, F_OK))
		return netlink_error(link, -ENOENT,
				     "the perfguard module is loaded, but does not answer here; run this in the initial network namespace");
	return netlink_error(link, -ENOENT,
			     "the perfguard module is not loaded; load it with 'modprobe perfguard'");
}

int link_open(struct link **ret)
{
	struct link *link = calloc(1, sizeof(*link));

	*ret = link;
	if (!link)
		return -ENOMEM;
	link->socket = open_socket(link);
	if (!link->socket)
		return -EIO;
	link->family = genl_ctrl_resolve(link->socket, PERFGUARD_FAMILY_NAME);
	if (link->family >= 0)
		return 0;
	if (link->family == -NLE_OBJ_NOTFOUND)
		return explain_no_family(link);
	return netlink_error(link, -EIO, "cannot ask for the module: %s",
			     nl_geterror(link->family));
}

void link_close(struct link *link)
{
	if (!link)
		return;
	nl_socket_free(link->wakeup);
	nl_socket_free(link->socket);
	free(link);
}

const char *link_error(const struct link *link)
{
	return link ? link->error : "out of memory";
}

int link_wakeup_open(struct link *link)
{
	struct nl_sock *wakeup;
	int bytes = WAKEUP_BYTES;
	int group, ret;

	group = genl_ctrl_resolve_grp(link->socket, PERFGUARD_FAMILY_NAME,
				      PERFGUARD_MCGRP_ALERTS);
	if (group < 0)
		return netlink_error(link, -ENOENT,
				     "the module has no alerts to listen to: %s",
				     nl_geterror(group));
	wakeup = open_socket(link);
	if (!wakeup)
		return -EIO;
	setsockopt(nl_socket_get_fd(wakeup), SOL_SOCKET, SO_RCVBUFFORCE, &bytes,
		   sizeof(bytes));
	ret = nl_socket_add_memberships(wakeup, group, 0);
	if (ret < 0) {
		nl_socket_free(wakeup);
		if (ret == -NLE_PERM)
			return netlink_error(link, -EPERM,
					     "not permitted to listen to alerts; run this as root");
		return netlink_error(link, -EIO,
				     "cannot listen to alerts: %s",
				     nl_geterror(ret));
	}
	nl_socket_set_nonblocking(wakeup);
	link->wakeup = wakeup;
	return 0;
}

int link_wakeup_fd(const struct link *link)
{
	return nl_socket_get_fd(link->wakeup);
}

/*
 * The contents are not read: link_alerts() has them with the stacks.  So
 * ENOBUFS, too, only means that there are new alerts.
 */
void link_wakeup_clear(struct link *link)
{
	char byte;

	while (recv(link_wakeup_fd(link), &byte, sizeof(byte),
		    MSG_DONTWAIT | MSG_TRUNC) >= 0 ||
	       errno == ENOBUFS || errno == EINTR)
		;
}
