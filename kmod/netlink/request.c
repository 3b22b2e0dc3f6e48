// SPDX-License-Identifier: GPL-2.0

/*
 * A request may take minutes, and generic netlink holds a lock while it calls a
 * doit: the registration of any family waits for that, and every other user of
 * generic netlink for the registration.  So a doit only checks its message, takes
 * what belongs to the sending task (files, credentials), and queues the request,
 * which a worker carries out.
 *
 * The doit returns -EINTR.  By this netlink leaves the acknowledgement to somebody
 * else, as for dumps; here it is sent when the request is done, behind the reply.
 * So senders see the same messages as if the doit had done the work.
 *
 * Requests of one socket are carried out one by one, in their order; those of
 * several sockets in parallel.  When a socket is closed, its requests that have
 * not begun are dropped, and the one that has is cancelled: it stops putting
 * probes on.  What it made nevertheless goes with the socket, as if it had been
 * there before.
 *
 * A request holds a reference to the module until it is done.
 */

#include "netlink/request.h"

#include "control/control.h"
#include "lib/refuse.h"
#include "netlink/policy.h"
#include "target/target.h"

#include <linux/cred.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/sock.h>

enum {
	MAX_WAITING = 16,	/* of one socket, without the one that is carried out */
	MAX_REQUESTS = 64,	/* of all sockets */
};

/*
 * A socket that sent a request.  All but @is_gone is of the holder of senders_lock,
 * @work runs while @is_busy.
 */
struct sender {
	struct list_head list;
	struct list_head waiting;
	struct work_struct work;
	struct sock *sk;
	u64 id;
	u32 nr_waiting;
	bool is_busy;
	bool is_gone;
};

static DEFINE_MUTEX(senders_lock);	/* innermost of the mutexes */
static LIST_HEAD(senders);
static u64 last_id;
static u32 nr_requests;
static struct workqueue_struct *workers;

static void sender_work(struct work_struct *work);

/* The sender of a socket, made if it is new; or NULL. */
static struct sender *sender_of(struct sock *sk)
{
	struct sender *sender;

	list_for_each_entry(sender, &senders, list)
		if (sender->sk == sk)
			return sender;
	sender = kzalloc(sizeof(*sender), GFP_KERNEL);
	if (!sender)
		return NULL;
	INIT_LIST_HEAD(&sender->waiting);
	INIT_WORK(&sender->work, sender_work);
	sock_hold(sk);
	sender->sk = sk;
	sender->id = ++last_id;
	list_add_tail(&sender->list, &senders);
	return sender;
}

static void sender_free(struct sender *sender)
{
	sock_put(sender->sk);
	kfree(sender);
}

static void request_free(struct pguard_request *request)
{
	nlmsg_free(request->reply);
	put_cred(request->cred);
	consume_skb(request->skb);
	kfree(request);
}

/* The request of a message, in no queue; takes ownership of @file if it succeeds. */
static struct pguard_request *request_new(struct sk_buff *skb, const struct genl_info *info,
					  struct file *file)
{
	const struct genl_ops *op = pguard_nl_ops;
	struct pguard_request *request;

	while (op->cmd != info->genlhdr->cmd)
		op++;
	request = kzalloc(struct_size(request, attrs, op->maxattr + 1), GFP_KERNEL);
	if (!request)
		return NULL;
	/* The message stays where it is: attributes and @info point into it. */
	request->skb = netlink_skb_clone(skb, GFP_KERNEL);
	if (!request->skb) {
		kfree(request);
		return NULL;
	}
	memcpy(request->attrs, info->attrs, (op->maxattr + 1) * sizeof(*request->attrs));
	request->info = *info;
	request->info.attrs = request->attrs;
	request->info.extack = &request->extack;
	request->cred = get_current_cred();
	request->pid = task_tgid_nr(current);
	get_task_comm(request->comm, current);
	request->file = file;
	return request;
}

/**
 * pguard_request_log() - say in the kernel's log who wanted what
 * @request: that was carried out
 * @what: as "armed"
 * @target_id: 0 for all targets
 * @name: of the profile, as its loader has it; NULL if it is of none
 *
 * Context: may sleep.
 */
void pguard_request_log(const struct pguard_request *request, const char *what, u32 target_id,
			const char *name)
{
	/* A service arms many at once. */
	static DEFINE_RATELIMIT_STATE(limit, 5 * HZ, 2 * PGUARD_MAX_TARGETS);
	size_t len = name ? strlen(name) : 0;
	char which[24] = "all targets";

	if (!__ratelimit(&limit))
		return;
	if (target_id)
		scnprintf(which, sizeof(which), "target %u", target_id);
	/* Names are others' choice. */
	pr_info("%s %s by %*pE, process %d, uid %u%s%*pE\n", which, what,
		(int)strnlen(request->comm, sizeof(request->comm)), request->comm, request->pid,
		from_kuid(&init_user_ns, request->cred->uid), name ? ": " : "", (int)len,
		name ?: "");
}

/* senders_lock is held. */
static int request_add(struct pguard_request *request, struct netlink_ext_ack *extack)
{
	struct sender *sender = sender_of(NETLINK_CB(request->skb).sk);

	if (!sender)
		return -ENOMEM;
	if (sender->nr_waiting >= MAX_WAITING || nr_requests >= MAX_REQUESTS)
		return pguard_refuse(extack, -EBUSY, "too many requests are being carried out");
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	request->sender = sender;
	request->owner = sender->id;
	request->is_cancelled = &sender->is_gone;
	list_add_tail(&request->list, &sender->waiting);
	sender->nr_waiting++;
	nr_requests++;
	if (!sender->is_busy)
		queue_work(workers, &sender->work);
	sender->is_busy = true;
	return 0;
}

/**
 * pguard_request_queue() - have a request carried out by a worker
 * @skb: the message, which was checked
 * @info: the same
 * @file: what @run finds in the request, or NULL; ownership goes over in any case
 * @run: carries it out and returns 0 or an error; may sleep, long; has the
 *	credentials of current
 *
 * Context: a doit; may sleep, for memory only.
 * Return: what the doit returns: -EINTR if the request will be acknowledged, else
 * an error.
 */
int pguard_request_queue(struct sk_buff *skb, const struct genl_info *info, struct file *file,
			 int (*run)(struct pguard_request *request))
{
	struct pguard_request *request = request_new(skb, info, file);
	int ret = -ENOMEM;

	if (request) {
		request->run = run;
		mutex_lock(&senders_lock);
		ret = request_add(request, info->extack);
		mutex_unlock(&senders_lock);
	}
	if (!ret)
		return -EINTR;
	if (file)
		fput(file);
	if (request)
		request_free(request);
	return ret;
}

/* The next request of a sender, or NULL; then its work ends, and is queued by the next one. */
static struct pguard_request *request_next(struct sender *sender)
{
	struct pguard_request *ret;
	bool is_over;

	mutex_lock(&senders_lock);
	ret = list_first_entry_or_null(&sender->waiting, struct pguard_request, list);
	if (ret) {
		list_del(&ret->list);
		sender->nr_waiting--;
	}
	sender->is_busy = ret;
	is_over = !ret && sender->is_gone;
	mutex_unlock(&senders_lock);
	if (is_over)
		sender_free(sender);
	return ret;
}

static void request_answer(struct pguard_request *request, int error)
{
	struct nlmsghdr *header = (struct nlmsghdr *)request->info.nlhdr;
	struct sk_buff *skb = request->skb;

	if (!error && request->reply) {
		nlmsg_end(request->reply, nlmsg_hdr(request->reply));
		error = genlmsg_reply(request->reply, &request->info);
		request->reply = NULL;
	}
	if (!error && !(header->nlmsg_flags & NLM_F_ACK))
		return;
	/* From where it is sent; a clone belongs to no socket. */
	skb->sk = genl_info_net(&request->info)->genl_sock;
	netlink_ack(skb, header, error, &request->extack);
	skb->sk = NULL;
}

static void request_do(struct pguard_request *request)
{
	struct sender *sender = request->sender;
	const struct cred *cred;
	bool is_gone;
	int ret = 0;

	if (!READ_ONCE(sender->is_gone)) {
		cred = override_creds(request->cred);
		ret = request->run(request);
		revert_creds(cred);
	}
	/* Before the answer: the sender may unmount its file system, or remove the module. */
	if (request->file)
		__fput_sync(request->file);
	mutex_lock(&senders_lock);
	nr_requests--;
	is_gone = sender->is_gone;
	mutex_unlock(&senders_lock);
	if (is_gone)
		pguard_orphan_add(request->owner);
	module_put(THIS_MODULE);
	if (!is_gone)
		request_answer(request, ret);
	request_free(request);
}

static void sender_work(struct work_struct *work)
{
	struct sender *sender = container_of(work, struct sender, work);
	struct pguard_request *request;

	while ((request = request_next(sender)))
		request_do(request);
}

/* Take a sender whose socket is closed out of the list; or NULL. */
static struct sender *sender_take(void)
{
	struct sender *sender;

	list_for_each_entry(sender, &senders, list) {
		if (!sock_flag(sender->sk, SOCK_DEAD))
			continue;
		list_del(&sender->list);
		WRITE_ONCE(sender->is_gone, true);
		return sender;
	}
	return NULL;
}

/**
 * pguard_request_release() - generic netlink sockets were closed
 *
 * Their requests are cancelled, and what they own is removed by a work.
 *
 * Context: may sleep, shortly.
 */
void pguard_request_release(void)
{
	struct sender *sender;

	mutex_lock(&senders_lock);
	while ((sender = sender_take())) {
		pguard_orphan_add(sender->id);
		if (!sender->is_busy)
			sender_free(sender);
	}
	mutex_unlock(&senders_lock);
}

int __init pguard_request_init(void)
{
	workers = alloc_workqueue("perfguard", WQ_UNBOUND, 0);
	return workers ? 0 : -ENOMEM;
}

/* No request comes any more.  A worker may still be sending its last answer. */
void pguard_request_deinit(void)
{
	struct sender *sender, *next;

	destroy_workqueue(workers);
	list_for_each_entry_safe(sender, next, &senders, list)
		sender_free(sender);
}
