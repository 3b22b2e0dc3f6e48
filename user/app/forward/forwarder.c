// SPDX-License-Identifier: GPL-2.0

#include "app/forward/forwarder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/signals.h"
#include "app/serve/service-config.h"
#include "base/back-off.h"
#include "base/background.h"
#include "base/capabilities.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "net/nats-alerts.h"
#include "net/otlp-alerts.h"
#include "out/machine-id.h"
#include "store/spool-cursor.h"

const char *const forward_names[NR_FORWARDS + 1] = {
	[FORWARD_NATS] = "nats", [FORWARD_OTLP] = "otlp",
};

/* How often it looks for new alerts. */
#define LOOK_NS (NSEC_PER_SEC / 2)
/* Between two attempts: the first, twice as long each time, and never longer than the last. */
#define FIRST_WAIT_NS (NSEC_PER_SEC / 2)
#define LAST_WAIT_NS (60 * NSEC_PER_SEC)
/* Of what the other side wants, at most. */
#define MOST_WAIT_NS (3600 * NSEC_PER_SEC)

struct forwarder {
	const struct forwarder_options *options;
	struct service_config config;
	const char *name;
	char machine[MACHINE_ID_MAX];
	int signals;
	struct spool_cursor *cursor;
	struct transport *transport;
	struct spool_batch batch;
	uint64_t wait_ns; /* before the last attempt; 0: it succeeded */
	char state[TRANSPORT_WHY_MAX + 64]; /* as the spool has it */
};

/* Wait so long.  Return: true if a signal came that ends us. */
static bool rest(const struct forwarder *forwarder, uint64_t ns)
{
	struct pollfd poll_fd = { .fd = forwarder->signals, .events = POLLIN };
	uint64_t now_ns = time_now_ns(), end_ns = now_ns + ns;
	int signal = 0;

	do {
		poll(&poll_fd, 1, (int)((end_ns - now_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
		signal = signals_next(forwarder->signals);
		now_ns = time_now_ns();
	} while ((!signal || signal == SIGCHLD) && now_ns < end_ns);
	return signal && signal != SIGCHLD;
}

/* Machines that lost one server together come back one by one. */
static uint64_t jitter(uint64_t ns)
{
	return ns / 2 + (uint64_t)random() % (ns / 2 + 1);
}

static void say(struct forwarder *forwarder, const char *state, bool is_retry)
{
	char plain[sizeof(forwarder->state)];

	snprintf(plain, sizeof(plain), "%s", state);
	if (!strcmp(plain, forwarder->state) && !is_retry)
		return;
	if (is_retry && strcmp(plain, forwarder->state))
		log_warning("%s: %s; it is tried again", forwarder->name, plain);
	if (!spool_cursor_say(forwarder->cursor, plain, is_retry))
		memcpy(forwarder->state, plain, sizeof(plain));
}

/* Return: how long to wait now. */
static uint64_t back_off(struct forwarder *forwarder, const char *why, uint64_t wanted_ns)
{
	say(forwarder, why, true);
	forwarder->wait_ns = back_off_next(forwarder->wait_ns, FIRST_WAIT_NS, LAST_WAIT_NS);
	if (wanted_ns > MOST_WAIT_NS)
		wanted_ns = MOST_WAIT_NS;
	/* What the other side wants is a floor, not a time at which all have to come. */
	return wanted_ns ? wanted_ns + jitter(FIRST_WAIT_NS) : jitter(forwarder->wait_ns);
}

/*
 * Pass on what is in the batch.  Returns how long to wait now, 0: there may be more at once.
 */
static uint64_t pass_on(struct forwarder *forwarder)
{
	struct passing passing = { .nr_done = 0 };
	char why[SPOOL_WHY_MAX];

	forwarder->transport->pass(forwarder->transport, &forwarder->batch, &passing);
	if (passing.nr_refused)
		log_error("%s: %u alerts were refused, and are not sent again: %s", forwarder->name,
			  passing.nr_refused, passing.why);
	/* Where this cannot be written they are sent once more. */
	if (spool_cursor_advance(forwarder->cursor, &forwarder->batch, passing.nr_done,
				 passing.nr_refused, passing.nr_left_out, why))
		return back_off(forwarder, why, 0);
	if (passing.nr_done < forwarder->batch.nr && passing.is_interrupted) {
		say(forwarder, "ended before an answer came: what was sent is sent again", false);
		return 0;
	}
	if (passing.nr_done < forwarder->batch.nr)
		return back_off(forwarder, passing.why, passing.wait_ns);
	if (forwarder->wait_ns)
		log_progress("%s: it goes on", forwarder->name);
	forwarder->wait_ns = 0;
	say(forwarder, passing.nr_refused ? passing.why : "passing on", false);
	return 0;
}

static int loop(struct forwarder *forwarder)
{
	char why[SPOOL_WHY_MAX];
	uint64_t wait_ns = 0;

	while (!rest(forwarder, wait_ns)) {
		int error = spool_cursor_read(forwarder->cursor, &forwarder->batch, why);

		wait_ns = LOOK_NS;
		if (error && error != -EBUSY) {
			log_error("%s", why);
			return CMD_FAILED;
		}
		if (forwarder->batch.nr)
			wait_ns = pass_on(forwarder);
		else if (forwarder->options->is_once && !error)
			return CMD_OK;
		spool_batch_clear(&forwarder->batch);
	}
	return CMD_OK;
}

static struct transport *make_transport(const struct forwarder *forwarder,
					char why[TRANSPORT_WHY_MAX])
{
	const struct service_forwarding *wanted = &forwarder->config.forwarding;

	snprintf(why, TRANSPORT_WHY_MAX, "out of memory");
	if (forwarder->options->to == FORWARD_OTLP)
		return otlp_alerts_new(&wanted->otlp, forwarder->machine, CMD_VERSION, why);
	return nats_alerts_new(&wanted->nats, forwarder->machine);
}

static int begin(struct forwarder *forwarder)
{
	const struct forwarder_options *options = forwarder->options;
	const struct service_forwarding *wanted = &forwarder->config.forwarding;
	const char *spool = options->spool ? options->spool : forwarder->config.spool;
	char why[SPOOL_WHY_MAX];

	forwarder->name = forward_names[options->to];
	if (!(options->to == FORWARD_OTLP ? wanted->otlp.url : wanted->nats.servers)) {
		log_error("%s: there is no line '%s = ...'", options->config, forwarder->name);
		return CMD_USAGE;
	}
	if (!spool) {
		log_error("%s: there is no spool whose alerts could be passed on", options->config);
		return CMD_USAGE;
	}
	if (wanted->machine)
		snprintf(forwarder->machine, sizeof(forwarder->machine), "%s", wanted->machine);
	else
		machine_id(forwarder->machine);
	if (spool_cursor_open(spool, forwarder->name, &forwarder->cursor, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	forwarder->transport = make_transport(forwarder, why);
	if (!forwarder->transport) {
		log_error("%s: %s", forwarder->name, why);
		return CMD_FAILED;
	}
	return CMD_OK;
}

static int confine_self(const struct forwarder_options *options)
{
	int error = capabilities_drop();

	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error = -errno;
	if (!error && options->is_child && prctl(PR_SET_PDEATHSIG, SIGTERM))
		error = -errno;
	if (!error)
		return 0;
	log_error("cannot give up capabilities: %s", strerror(-error));
	return CMD_FAILED;
}

int forwarder_run(const struct forwarder_options *options)
{
	static struct forwarder forwarder;
	int ret = service_config_read(options->config, &forwarder.config);

	forwarder.options = options;
	if (!ret)
		ret = confine_self(options);
	background_enter();
	srandom((unsigned int)time_now_ns() ^ (unsigned int)getpid());
	/* Before the libraries have threads, which inherit what is blocked. */
	forwarder.signals = signals_open();
	if (!ret && forwarder.signals < 0) {
		log_error("cannot read signals: %s", strerror(-forwarder.signals));
		ret = CMD_FAILED;
	}
	if (!ret)
		ret = begin(&forwarder) ?: loop(&forwarder);
	if (forwarder.transport)
		forwarder.transport->close(forwarder.transport);
	spool_cursor_close(forwarder.cursor);
	service_config_deinit(&forwarder.config);
	return ret;
}
