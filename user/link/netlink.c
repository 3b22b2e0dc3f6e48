// SPDX-License-Identifier: GPL-2.0
/*
 * One request at a time: send it, then read until its acknowledgement, its
 * error or, for a dump, its end.  An answer is always read to the end, even
 * after an error, so that nothing of it is left for the next request.
 */

#include "link/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/errno.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/long-step.h"

/*
 * While the kernel has no memory, a request that changes something is repeated
 * after delays, each of which is twice as long as the last; one that only reads
 * fails with -EAGAIN after the first delay.
 */
enum { SHORTAGE_TRIES = 6, SHORTAGE_DELAY_US = 10000 };

struct exchange {
	struct link *link;
	uint32_t seq;
	netlink_fn fn;
	void *arg;
	bool is_done;
	bool is_interrupted;
	int error; /* of the kernel */
	int fn_error;
};

int netlink_error(struct link *link, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(link->error, sizeof(link->error), format, args);
	va_end(args);
	return error;
}

/* The kernel's errno and, if it gave one, its text, which is @skip bytes into the message. */
static void note_error(struct exchange *exchange, struct nlmsghdr *hdr, int skip, int error)
{
	struct nlattr *text = NULL;
	struct link *link = exchange->link;

	exchange->is_done = true;
	exchange->error = error;
	if (!error)
		return;
	if (hdr->nlmsg_flags & NLM_F_ACK_TLVS && nlmsg_datalen(hdr) > skip)
		text = nla_find((void *)((char *)nlmsg_data(hdr) + skip), nlmsg_datalen(hdr) - skip,
				NLMSGERR_ATTR_MSG);
	if (text && nla_len(text) > 0)
		netlink_error(link, 0, "%.*s", nla_len(text), (const char *)nla_data(text));
	else if (error == -EPERM || error == -EACCES)
		netlink_error(link, 0,
			      "not permitted: the module wants CAP_SYS_ADMIN in the initial user namespace; run this as root");
	else
		netlink_error(link, 0, "the module says: %s", strerror(-error));
}

static int on_error(struct sockaddr_nl *address, struct nlmsgerr *error,
		    void *arg)
{
	struct nlmsghdr *hdr = (void *)((char *)error - NLMSG_HDRLEN);
	int skip = sizeof(*error);
	struct exchange *exchange = arg;

	(void)address;
	if (hdr->nlmsg_seq != exchange->seq)
		return NL_SKIP;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += (int)error->msg.nlmsg_len - NLMSG_HDRLEN;
	note_error(exchange, hdr, NLMSG_ALIGN(skip), error->error);
	return NL_SKIP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct exchange *exchange = arg;

	if (nlmsg_hdr(msg)->nlmsg_seq == exchange->seq)
		exchange->is_done = true;
	return NL_SKIP;
}

/* The end of a dump has its error, which libnl ignores. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct exchange *exchange = arg;
	int error = 0;

	if (hdr->nlmsg_seq != exchange->seq)
		return NL_SKIP;
	if (nlmsg_datalen(hdr) >= (int)sizeof(int))
		memcpy(&error, nlmsg_data(hdr), sizeof(int));
	note_error(exchange, hdr, NLMSG_ALIGN(sizeof(int)), error < 0 ? error : 0);
	return NL_SKIP;
}

static int on_interrupted(struct nl_msg *msg, void *arg)
{
	struct exchange *exchange = arg;

	if (nlmsg_hdr(msg)->nlmsg_seq == exchange->seq)
		exchange->is_interrupted = true;
	return NL_OK;
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct exchange *exchange = arg;
	struct genlmsghdr *genl;

	if (hdr->nlmsg_seq != exchange->seq || exchange->fn_error ||
	    !exchange->fn || !genlmsg_valid_hdr(hdr, 0))
		return NL_SKIP;
	genl = genlmsg_hdr(hdr);
	exchange->fn_error = exchange->fn(genlmsg_attrdata(genl, 0),
					  genlmsg_attrlen(genl, 0),
					  exchange->arg);
	return NL_OK;
}

void netlink_begin(struct link *link, uint8_t command, int flags, size_t room)
{
	/* Those of a few words take less than 512 bytes, a path 4096. */
	struct nl_msg *msg = nlmsg_alloc_size(8192 + room);

	link->request = msg;
	if (msg && genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, link->family, 0, flags, command,
			       PERFGUARD_FAMILY_VERSION))
		return;
	nlmsg_free(msg);
	link->request = NULL;
	link->request_error = netlink_error(link, -ENOMEM, "out of memory");
}

void netlink_put(struct link *link, int attr, size_t size, const void *data)
{
	if (!link->request || !nla_put(link->request, attr, (int)size, data))
		return;
	nlmsg_free(link->request);
	link->request = NULL;
	link->request_error = netlink_error(link, -EMSGSIZE, "too much for one request");
}

void netlink_put_u32(struct link *link, int attr, uint32_t value)
{
	netlink_put(link, attr, sizeof(value), &value);
}

void netlink_put_u64(struct link *link, int attr, uint64_t value)
{
	netlink_put(link, attr, sizeof(value), &value);
}

void netlink_put_scope(struct link *link, const struct netlink_scope_attrs *attrs,
		       const struct armed_scope *scope)
{
	if (!scope)
		return;
	if (scope->has_uid)
		netlink_put_u32(link, attrs->uid, scope->uid);
	if (scope->cgroup_id)
		netlink_put_u64(link, attrs->cgroup_id, scope->cgroup_id);
	if (scope->nr_pids)
		netlink_put(link, attrs->pids, scope->nr_pids * sizeof(*scope->pids), scope->pids);
	if (scope->args)
		netlink_put(link, attrs->args, strlen(scope->args) + 1, scope->args);
}

static int on_any_seq(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;
}

static int receive(struct link *link, struct exchange *exchange)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_CUSTOM);
	int ret;

	if (!cb)
		return netlink_error(link, -ENOMEM, "out of memory");
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, exchange);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, exchange);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, exchange);
	nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, exchange);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_message, exchange);
	/* The callbacks check the number: after a shortage old answers may arrive. */
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, on_any_seq, NULL);

	while (!exchange->is_done) {
		ret = nl_recvmsgs(link->socket, cb);
		if (ret >= 0 || exchange->is_done)
			continue;
		nl_cb_put(cb);
		return netlink_error(link, ret == -NLE_NOMEM ? -ENOBUFS : -EIO,
				     "cannot read the module's answer: %s",
				     nl_geterror(ret));
	}
	nl_cb_put(cb);
	if (exchange->error)
		return exchange->error;
	return exchange->fn_error;
}

static int exchange_once(struct exchange *exchange, struct nl_msg *msg)
{
	struct link *link = exchange->link;
	int ret;

	link->error[0] = '\0';
	nlmsg_hdr(msg)->nlmsg_seq = NL_AUTO_SEQ;
	ret = nl_send_auto(link->socket, msg);
	exchange->seq = nlmsg_hdr(msg)->nlmsg_seq;
	exchange->is_done = false;
	exchange->is_interrupted = false;
	exchange->error = 0;
	exchange->fn_error = 0;
	if (ret < 0)
		return netlink_error(link, ret == -NLE_NOMEM ? -ENOBUFS : -EIO,
				     "cannot ask the module: %s", nl_geterror(ret));
	ret = receive(link, exchange);
	if (ret && !link->error[0])
		netlink_error(link, ret, "%s", strerror(-ret));
	if (!ret && exchange->is_interrupted)
		return netlink_error(link, -EAGAIN,
				     "the module's state changed while it was read");
	/* -ENOMEM without an error of the kernel is this program's own. */
	return ret == -ENOMEM && exchange->error ? -ENOBUFS : ret;
}

/* Return: true if a request changes nothing. */
static bool is_reading(struct nl_msg *msg)
{
	const struct nlmsghdr *hdr = nlmsg_hdr(msg);
	const struct genlmsghdr *genl = nlmsg_data(hdr);

	return (hdr->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP ||
	       genl->cmd == PERFGUARD_CMD_STATS_GET;
}

static int exchange_patiently(struct exchange *exchange, struct nl_msg *msg, bool reads)
{
	int ret = 0;

	for (int i = 0; i < SHORTAGE_TRIES; i++) {
		if (i)
			usleep(SHORTAGE_DELAY_US << (i - 1));
		ret = exchange_once(exchange, msg);
		/* With an answer expected, or without an error of the kernel, it may be done. */
		if (reads || exchange->fn || ret != -ENOBUFS || !exchange->error)
			break;
	}
	return ret;
}

int netlink_exchange(struct link *link, netlink_fn fn, void *arg)
{
	struct exchange exchange = { .link = link, .fn = fn, .arg = arg };
	struct nl_msg *msg = link->request;
	bool reads;
	int ret;

	if (!msg)
		return link->request_error;
	link->request = NULL;
	reads = is_reading(msg);
	/* Guards are put on and taken off within, and others may be at it. */
	long_step_begin("waiting for the module");
	ret = exchange_patiently(&exchange, msg, reads);
	long_step_end();
	nlmsg_free(msg);
	if (!reads || (ret != -ENOBUFS && ret != -EBUSY))
		return ret;
	/* -EBUSY is due to the previous dump, whose rest was not read. */
	if (ret == -EBUSY)
		netlink_error(link, 0, "no memory for the module's answer");
	usleep(SHORTAGE_DELAY_US);
	return -EAGAIN;
}

struct query {
	const struct decode_field *fields;
	void *object;
};

static int on_answer(struct nlattr *attrs, int len, void *arg)
{
	struct query *query = arg;

	return decode_attrs(query->fields, attrs, len, query->object);
}

int netlink_query(struct link *link, const struct decode_field *fields, void *object)
{
	struct query query = { fields, object };

	return netlink_exchange(link, on_answer, &query);
}

struct dumped {
	const struct netlink_dump *dump;
	char *elements;
	uint32_t nr;
	size_t max;
};

static int add_element(struct nlattr *attrs, int len, void *arg)
{
	struct dumped *array = arg;
	const struct netlink_dump *dump = array->dump;
	void *element;
	int ret;

	if (array->nr == array->max &&
	    array_double(&array->elements, array->nr + 1, &array->max, dump->size))
		return -ENOMEM;
	element = array->elements + array->nr * dump->size;
	memset(element, 0, dump->size);
	ret = decode_attrs(dump->fields, attrs, len, element);
	if (!ret && dump->parse)
		ret = dump->parse(attrs, len, element);
	/* A message that cannot be read is skipped, as an unknown attribute is. */
	if (ret == -EBADMSG) {
		if (dump->clear)
			dump->clear(element);
		return 0;
	}
	array->nr++;
	return ret;
}

static void clear_elements(struct dumped *array)
{
	for (uint32_t i = 0; array->dump->clear && i < array->nr; i++)
		array->dump->clear(array->elements + i * array->dump->size);
	array->nr = 0;
}

int netlink_dump(struct link *link, const struct netlink_dump *dump, void *ret_elements,
		 uint32_t *ret_nr)
{
	struct dumped array = { .dump = dump };
	int ret = -EAGAIN;

	for (int i = 0; i < NETLINK_TRIES && ret == -EAGAIN; i++) {
		clear_elements(&array);
		netlink_begin(link, dump->command, NLM_F_DUMP, 0);
		if (dump->id)
			netlink_put_u32(link, dump->attr, dump->id);
		ret = netlink_exchange(link, add_element, &array);
	}
	if (ret) {
		clear_elements(&array);
		free(array.elements);
		array.elements = NULL;
	}
	*ret_nr = array.nr;
	memcpy(ret_elements, &array.elements, sizeof(array.elements));
	return ret;
}
