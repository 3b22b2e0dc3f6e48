/* SPDX-License-Identifier: GPL-2.0 */
/* Requests that workers carry out. */
#ifndef _KMOD_NETLINK_REQUEST_H
#define _KMOD_NETLINK_REQUEST_H

#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <net/genetlink.h>

struct cred;
struct file;
struct sender;

/**
 * struct pguard_request - a request that was accepted
 * @info: of its message; @attrs and @extack of it are the request's own
 * @owner: number of the sender's socket, never 0 and never used again
 * @is_cancelled: set when the sender's socket is closed; READ_ONCE
 * @file: the sender's, that the message names, or NULL
 * @reply: to be sent when the request succeeds, or NULL; from pguard_nl_reply_new()
 */
struct pguard_request {
	struct genl_info info;
	u64 owner;
	const bool *is_cancelled;
	struct file *file;
	struct sk_buff *reply;
	/* private: */
	struct list_head list;
	struct sender *sender;
	int (*run)(struct pguard_request *request);
	struct netlink_ext_ack extack;
	struct sk_buff *skb;
	const struct cred *cred;
	pid_t pid;	/* of the sending process, in the first namespace */
	char comm[TASK_COMM_LEN];
	struct nlattr *attrs[];
};

int pguard_request_queue(struct sk_buff *skb, const struct genl_info *info, struct file *file,
			 int (*run)(struct pguard_request *request));
void pguard_request_log(const struct pguard_request *request, const char *what, u32 target_id,
			const char *name);
void pguard_request_release(void);
int pguard_request_init(void);
void pguard_request_deinit(void);

#endif /* _KMOD_NETLINK_REQUEST_H */
