/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From records to what 'watch' prints: each late unit once when it becomes
 * late, in short when more is heard of it, and once when it ends; equal ones
 * folded, and those of a type that is slow as a whole left to one line of it.
 *
 * Functions return 0; -EIO if stdout cannot be written, which stdio knows;
 * -ENOMEM; or another error of the link.
 */
#ifndef _USER_APP_WATCH_WATCHING_H
#define _USER_APP_WATCH_WATCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "app/common/identity.h"
#include "app/watch/alert-sink.h"
#include "app/watch/cpu-users.h"
#include "app/watch/late-units.h"
#include "app/watch/profile-cache.h"
#include "app/watch/replacements.h"
#include "data/requests.h"
#include "out/alert/alert-request.h"
#include "out/alert/fold.h"
#include "out/json.h"

struct link;
struct unwinder;

enum { MAX_LATE_CLIENTS = 64 };

/* Late requests that last; of very many the oldest go. */
struct late_clients {
	struct late_client of[MAX_LATE_CLIENTS];
	uint32_t nr;
};

struct watching {
	bool is_json;
	bool is_brief; /* JSON: without stacks, functions and contexts */
	struct alert_sink *sink; /* NULL: they go to stdout, by is_json */
	uint32_t nr_late; /* late units so far, each counted once */
	struct link *link; /* NULL: what is armed is not known */
	struct unwinder *unwinder;
	struct identities identities;
	struct json json;
	struct late_units units;
	struct profile_cache cache;
	struct fold fold;
	struct starvation starvation;
	struct replacements replacements;
	struct cpu_users users; /* when it was found; without users once it is printed */
	uint64_t alerted_ns; /* CLOCK_MONOTONIC: the last alert */
	uint64_t put_off_ns; /* the module put a request off last */
	uint64_t refreshed_ns; /* the armed profiles were asked for */
	uint64_t looked_ns; /* the sums of their types were */
	struct late_clients late_clients; /* of all targets */
	struct requests requests; /* of the target of which one was late last, and */
	uint64_t requests_ns; /* when they were asked for */
};

/* @window_ns: equal alerts within it are folded; 0: none are. */
int watching_init(struct watching *watching, struct link *link, uint64_t window_ns, bool is_json);
void watching_deinit(struct watching *watching);

int watching_take(struct watching *watching, const struct record *record);

/* Folded windows, levels.  To be called again when watching_wait_ns() are over. */
int watching_tick(struct watching *watching);
uint64_t watching_wait_ns(const struct watching *watching);

/* Where the text of an alert goes, and its JSON; NULL: it is not wanted. */
FILE *watching_text(const struct watching *watching);
FILE *watching_json(const struct watching *watching);
/* Both are written.  Returns 0, -EIO or what the sink does. */
int watching_end_alert(struct watching *watching, const struct sunk_alert *alert);

/* Print what is still folded. */
int watching_finish(struct watching *watching);

#endif /* _USER_APP_WATCH_WATCHING_H */
