// SPDX-License-Identifier: GPL-2.0
/*
 * All of a batch are published at once, and then their acknowledgments are waited for, so there
 * are never more than a batch in flight.  Where the connection breaks meanwhile, or no answer
 * comes, those behind the first one that was not acknowledged are sent again, and the stream
 * leaves out what it has got already, by their keys.
 *
 * A subject that no stream takes is answered at once by a server with JetStream ("no responders"):
 * only then it is tried to make the stream, which needs a permission that machines need not have.
 */

#include "net/nats-alerts.h"

#include <inttypes.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/pending.h"
#include "base/time.h"
#include "net/nats-link.h"

enum {
	LOOK_MS = 200, /* whether all are acknowledged, how often */
	/* Of a message, beside the alert: its subject and its key. */
	HEADER_BYTES = 512,
};

#define ACK_NS (10 * NSEC_PER_SEC)
#define SECONDS(s) ((s) * INT64_C(1000000000))
#define STREAM_AGE_NS SECONDS(30 * 24 * 3600)
#define STREAM_WINDOW_NS SECONDS(3600)

enum message_state { UNKNOWN, ACKNOWLEDGED, REFUSED };

struct nats_alerts {
	struct transport transport;
	const struct nats_settings *settings;
	char *subject; /* of the alerts of this machine */
	natsConnection *connection;
	jsCtx *js;
	pthread_mutex_t lock; /* of what follows, which a thread of the library writes */
	const natsMsg *messages[SPOOL_BATCH_ALERTS];
	enum message_state states[SPOOL_BATCH_ALERTS];
	uint32_t nr;
	bool has_no_stream;
	char why[TRANSPORT_WHY_MAX];
};

/* In a thread of the library: the message is ours again. */
static void on_answer(jsCtx *js, natsMsg *message, jsPubAck *ack, jsPubAckErr *error, void *arg)
{
	struct nats_alerts *alerts = arg;
	uint32_t i = 0;

	(void)js;
	pthread_mutex_lock(&alerts->lock);
	while (i < alerts->nr && alerts->messages[i] != message)
		i++;
	if (i < alerts->nr)
		alerts->messages[i] = NULL; /* its memory may be the next one's */
	if (i < alerts->nr && ack)
		alerts->states[i] = ACKNOWLEDGED;
	if (error) {
		snprintf(alerts->why, sizeof(alerts->why), "%s",
			 error->ErrText ? error->ErrText : NATS_CALL(natsStatus_GetText)(error->Err));
		alerts->has_no_stream |= error->Err == NATS_NO_RESPONDERS;
		if (i < alerts->nr && error->ErrCode == JSStreamMessageExceedsMaximumErr)
			alerts->states[i] = REFUSED;
	}
	pthread_mutex_unlock(&alerts->lock);
	NATS_CALL(natsMsg_Destroy)(message);
}

static void disconnect(struct nats_alerts *alerts)
{
	NATS_CALL(jsCtx_Destroy)(alerts->js);
	NATS_CALL(natsConnection_Destroy)(alerts->connection);
	alerts->js = NULL;
	alerts->connection = NULL;
}

static bool connect_now(struct nats_alerts *alerts, struct passing *ret)
{
	jsOptions options;
	natsStatus status;

	if (nats_link_open(alerts->settings, &alerts->connection, ret->why, sizeof(ret->why)))
		return false;
	NATS_CALL(jsOptions_Init)(&options);
	options.PublishAsync.MaxPending = SPOOL_BATCH_ALERTS;
	options.PublishAsync.AckHandler = on_answer;
	options.PublishAsync.AckHandlerClosure = alerts;
	status = NATS_CALL(natsConnection_JetStream)(&alerts->js, alerts->connection, &options);
	if (status == NATS_OK)
		return true;
	snprintf(ret->why, sizeof(ret->why), "no JetStream: %s", NATS_CALL(natsStatus_GetText)(status));
	disconnect(alerts);
	return false;
}

/* What is published while there is no connection would only wait in the library. */
static bool is_connected(struct nats_alerts *alerts, struct passing *ret)
{
	const char *error = NULL;

	if (!alerts->connection)
		return connect_now(alerts, ret);
	if (NATS_CALL(natsConnection_Status)(alerts->connection) == NATS_CONN_STATUS_CONNECTED)
		return true;
	NATS_CALL(natsConnection_GetLastError)(alerts->connection, &error);
	snprintf(ret->why, sizeof(ret->why), "no connection to %s%s%s", nats_link_name(alerts->settings),
		 error && *error ? ": " : "", error ? error : "");
	/* As with a key that is refused twice: the library has given up. */
	if (NATS_CALL(natsConnection_IsClosed)(alerts->connection))
		disconnect(alerts);
	else
		ret->wait_ns = NSEC_PER_SEC;
	return false;
}

static void make_stream(struct nats_alerts *alerts)
{
	jsStreamConfig config;
	jsStreamInfo *info = NULL;
	char subjects[256];
	const char *list[] = { subjects };
	jsErrCode code = 0;
	natsStatus status;

	snprintf(subjects, sizeof(subjects), "%s.alerts.>", alerts->settings->subject);
	NATS_CALL(jsStreamConfig_Init)(&config);
	config.Name = alerts->settings->stream;
	config.Subjects = list;
	config.SubjectsLen = 1;
	config.Storage = js_FileStorage;
	config.Discard = js_DiscardOld;
	config.MaxAge = STREAM_AGE_NS;
	config.Duplicates = STREAM_WINDOW_NS;
	status = NATS_CALL(js_AddStream)(&info, alerts->js, &config, NULL, &code);
	NATS_CALL(jsStreamInfo_Destroy)(info);
	if (status != NATS_OK)
		snprintf(alerts->why, sizeof(alerts->why),
			 "no stream takes %s, and %s cannot be made: %s", subjects,
			 alerts->settings->stream, NATS_CALL(natsStatus_GetText)(status));
	else
		snprintf(alerts->why, sizeof(alerts->why), "the stream %s was made",
			 alerts->settings->stream);
}

/* Returns NATS_OK, also for what is too large for the server, which is not sent. */
static natsStatus publish(struct nats_alerts *alerts, const struct spool_alert *alert, uint32_t at)
{
	size_t len = strlen(alert->json);
	jsPubOptions options;
	natsMsg *message = NULL;
	natsStatus status;

	if ((int64_t)len + HEADER_BYTES > NATS_CALL(natsConnection_GetMaxPayload)(alerts->connection)) {
		alerts->states[at] = REFUSED;
		return NATS_OK;
	}
	NATS_CALL(jsPubOptions_Init)(&options);
	options.MsgId = alert->key;
	status = NATS_CALL(natsMsg_Create)(&message, alerts->subject, NULL, alert->json, (int)len);
	if (status != NATS_OK)
		return status;
	pthread_mutex_lock(&alerts->lock);
	alerts->messages[at] = message;
	pthread_mutex_unlock(&alerts->lock);
	status = NATS_CALL(js_PublishMsgAsync)(alerts->js, &message, &options);
	NATS_CALL(natsMsg_Destroy)(message);
	return status;
}

/* Returns false if no answer comes any more, or nobody is to wait for one. */
static bool is_answer_expected(const struct nats_alerts *alerts, uint64_t end_ns,
			       struct passing *ret)
{
	if (pending_end()) {
		ret->is_interrupted = true;
		return false;
	}
	return time_now_ns() < end_ns &&
	       NATS_CALL(natsConnection_Status)(alerts->connection) == NATS_CONN_STATUS_CONNECTED;
}

/* Until all were answered, the connection is gone, or nothing comes any more. */
static void wait_for_answers(struct nats_alerts *alerts, struct passing *ret)
{
	uint64_t end_ns = time_now_ns() + ACK_NS;
	natsMsgList rest = { 0 };
	jsPubOptions options;

	NATS_CALL(jsPubOptions_Init)(&options);
	options.MaxWait = LOOK_MS;
	while (NATS_CALL(js_PublishAsyncComplete)(alerts->js, &options) == NATS_TIMEOUT) {
		if (is_answer_expected(alerts, end_ns, ret))
			continue;
		pthread_mutex_lock(&alerts->lock);
		if (!alerts->why[0])
			snprintf(alerts->why, sizeof(alerts->why), "no acknowledgment from %s",
				 nats_link_name(alerts->settings));
		pthread_mutex_unlock(&alerts->lock);
		break;
	}
	/* No answer to these is handed to us from here on. */
	if (NATS_CALL(js_PublishAsyncGetPendingList)(&rest, alerts->js) == NATS_OK)
		NATS_CALL(natsMsgList_Destroy)(&rest);
}

static void begin(struct nats_alerts *alerts)
{
	pthread_mutex_lock(&alerts->lock);
	memset(alerts->messages, 0, sizeof(alerts->messages));
	memset(alerts->states, 0, sizeof(alerts->states));
	alerts->nr = SPOOL_BATCH_ALERTS;
	alerts->has_no_stream = false;
	alerts->why[0] = '\0';
	pthread_mutex_unlock(&alerts->lock);
}

static void sum_up(struct nats_alerts *alerts, uint32_t nr, struct passing *ret)
{
	pthread_mutex_lock(&alerts->lock);
	while (ret->nr_done < nr && alerts->states[ret->nr_done] != UNKNOWN)
		ret->nr_refused += alerts->states[ret->nr_done++] == REFUSED;
	alerts->nr = 0;
	pthread_mutex_unlock(&alerts->lock);
	if (ret->nr_done < nr || ret->nr_refused)
		snprintf(ret->why, sizeof(ret->why), "%s",
			 alerts->why[0]	   ? alerts->why :
			 ret->nr_refused ? "larger than the server takes" : "not acknowledged");
}

static void pass(struct transport *transport, const struct spool_batch *batch, struct passing *ret)
{
	struct nats_alerts *alerts = (struct nats_alerts *)transport;
	natsStatus status = NATS_OK;

	if (!is_connected(alerts, ret))
		return;
	begin(alerts);
	for (uint32_t i = 0; i < batch->nr && status == NATS_OK; i++)
		status = publish(alerts, &batch->alerts[i], i);
	wait_for_answers(alerts, ret);
	if (status != NATS_OK && !alerts->why[0])
		snprintf(alerts->why, sizeof(alerts->why), "cannot publish: %s",
			 NATS_CALL(natsStatus_GetText)(status));
	if (alerts->has_no_stream)
		make_stream(alerts);
	sum_up(alerts, batch->nr, ret);
}

static void close_alerts(struct transport *transport)
{
	struct nats_alerts *alerts = (struct nats_alerts *)transport;

	disconnect(alerts);
	NATS_CALL(nats_Close)();
	pthread_mutex_destroy(&alerts->lock);
	free(alerts->subject);
	free(alerts);
}

struct transport *nats_alerts_new(const struct nats_settings *settings, const char *machine)
{
	struct nats_alerts *alerts;

	if (library_load(&nats_library))
		return NULL;
	alerts = calloc(1, sizeof(*alerts));
	if (!alerts || asprintf(&alerts->subject, "%s.alerts.%s", settings->subject, machine) < 0) {
		free(alerts);
		return NULL;
	}
	alerts->transport = (struct transport){ .pass = pass, .close = close_alerts };
	alerts->settings = settings;
	pthread_mutex_init(&alerts->lock, NULL);
	return &alerts->transport;
}
