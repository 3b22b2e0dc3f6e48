// SPDX-License-Identifier: GPL-2.0

#include "app/watch/request-alerts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/watch/diagnosis.h"
#include "base/duration.h"
#include "base/hash-index.h"
#include "base/time.h"
#include "data/histogram.h"
#include "link/link.h"
#include "out/address.h"
#include "out/alert/alert-request.h"
#include "out/request-report.h"
#include "out/text.h"

/* How often the target's requests are asked for, at most. */
#define USUAL_NS NSEC_PER_SEC

/* What is usual for the target's requests; what is not known is no error. */
static void add_usual(struct watching *watching, struct alert_request *alert)
{
	struct requests *requests = &watching->requests;
	uint32_t target_id = alert->record->target_id;
	uint64_t now_ns = time_now_ns();

	if (!watching->link)
		return;
	if (requests->target_id != target_id || now_ns - watching->requests_ns >= USUAL_NS) {
		memset(requests, 0, sizeof(*requests));
		if (link_requests(watching->link, target_id, requests))
			return;
		watching->requests_ns = now_ns;
	}
	alert->average = request_average(requests);
	alert->answered = requests->requests;
	alert->usual_ns = histogram_percentile(requests->hist, 500, requests->max_ns);
}

/* The same of those that units of the type have read in training. */
static void add_usual_of_type(struct watching *watching, struct alert_request *alert)
{
	const struct record *record = alert->record;
	const struct cached_profile *profile =
		profile_cache_find(&watching->cache, record->profile_id);
	const struct cached_type *type =
		profile && record->type_id ? cached_type_find(profile, record->type_id) : NULL;
	uint32_t part = record->request.part;

	if (!type || !type->requests)
		return;
	alert->type = type->name;
	alert->answered = type->requests;
	alert->usual_ns = type->request_usual_ns[REQUEST_PART_ALL];
	if (part > PERFGUARD_REQUEST_PART_ALL && part <= REQUEST_NR_PARTS)
		alert->usual_part_ns = type->request_usual_ns[part - 1];
}

static struct late_client *client_find(struct late_clients *clients, const struct record *record)
{
	for (uint32_t i = 0; i < clients->nr; i++)
		if (clients->of[i].target_id == record->target_id &&
		    clients->of[i].request.connection == record->request.connection)
			return &clients->of[i];
	return NULL;
}

static void client_remove(struct late_clients *clients, struct late_client *client)
{
	size_t behind = (size_t)(&clients->of[clients->nr] - client) - 1;

	memmove(client, client + 1, behind * sizeof(*client));
	clients->nr--;
}

/* Note whose request lasts, and forget it when it does not any more. */
static void note_client(struct late_clients *clients, const struct alert *where)
{
	const struct record *record = where->record;
	struct late_client *client = client_find(clients, record);

	if (client)
		client_remove(clients, client);
	if (record->request.state != PERFGUARD_REQUEST_STATE_LASTS)
		return;
	if (clients->nr == MAX_LATE_CLIENTS)
		client_remove(clients, clients->of);
	client = &clients->of[clients->nr++];
	*client = (struct late_client){
		.target_id = record->target_id,
		.pid = record->pid,
		.tid = record->tid,
		.unit = record->unit,
		.request = record->request,
	};
	memcpy(client->comm, record->comm, sizeof(client->comm));
	if (where->nr_stacks)
		hotpath_name(where->hotpath, client->function, sizeof(client->function));
}

/* The request that whom it waits for has of it, if that is late as well. */
static const struct late_client *find_there(const struct late_clients *clients,
					    const struct slow_request *request)
{
	for (uint32_t i = clients->nr; i--;)
		if (address_is_same(clients->of[i].request.client, request->via))
			return &clients->of[i];
	return NULL;
}

/* Follow it from one process to the next, as far as they are late with it, too. */
static void add_there(const struct late_clients *clients, struct alert_request *alert)
{
	const struct slow_request *request = &alert->record->request;

	while (alert->nr_there < MAX_THERE) {
		const struct late_client *there = find_there(clients, request);

		if (!there)
			break;
		alert->there[alert->nr_there++] = there;
		request = &there->request;
	}
}

static int print(struct watching *watching, const struct alert *where, bool is_again,
		 bool has_path, bool has_text)
{
	const struct record *record = where->record;
	const struct sunk_alert sunk = {
		.kind = alert_kind_name(record->kind), .exe = where->exe,
		.build_id = where->build_id, .pid = record->pid, .record = record,
		.is_over = record->request.state != PERFGUARD_REQUEST_STATE_LASTS,
	};
	struct alert_request alert = {
		.record = record,
		.exe = where->exe,
		.cgroup = where->cgroup,
		.where = where,
	};
	int ret = 0;

	add_there(&watching->late_clients, &alert);
	add_usual(watching, &alert);
	add_usual_of_type(watching, &alert);
	if (watching_json(watching))
		ret = alert_request_json(&watching->json, watching_json(watching), &alert);
	if (has_text && watching_text(watching))
		alert_request_text(watching_text(watching), &alert, is_again, has_path);
	return ret ?: watching_end_alert(watching, &sunk);
}

/*
 * Those of a target that spend most of their time in the same way; but one that takes ten times
 * as long is no more of the same.
 */
static struct fold_key key_of(const struct record *record)
{
	enum request_cause cause = alert_request_cause(&record->request);
	uint64_t hash = hash_fnv1a(HASH_FNV1A, &cause, sizeof(cause));
	uint32_t digits = 0;

	for (uint64_t ns = record->request.elapsed_ns; ns; ns /= 10)
		digits++;
	hash = hash_fnv1a(hash, &digits, sizeof(digits));
	/* Where it is for a peer, of which. */
	if (cause == REQUEST_PEER) {
		hash = hash_fnv1a(hash, record->request.peer, REQUESTS_ADDRESS_BYTES);
		hash = hash_fnv1a(hash, record->request.peer_name, REQUESTS_NAME_BYTES);
	}
	return (struct fold_key){ .target = record->target_id, .path = hash };
}

/* Returns true if it is folded into others. */
static bool fold(struct watching *watching, const struct alert *where, struct late_unit *late)
{
	const struct record *record = where->record;
	bool has_ended = record->request.state != PERFGUARD_REQUEST_STATE_LASTS;
	uint64_t elapsed_ns = record->request.elapsed_ns;
	const struct alert_request alert = { .record = record, .exe = where->exe };
	struct fold_subject subject = {
		.seq = record->seq,
		.pid = record->pid,
		.group = alert_request_group(&alert),
		.is_request = true,
	};
	const struct fold_key key = key_of(record);
	char label[PARAGRAPH_MAX];

	if (late->fold_id && fold_go_on(&watching->fold, late->fold_id, elapsed_ns, has_ended))
		return true;
	alert_request_label(&record->request, label, sizeof(label));
	subject.exe = where->exe ? strdup(where->exe) : NULL;
	subject.build_id = where->build_id ? strdup(where->build_id) : NULL;
	subject.comm = strdup(record->comm);
	subject.function = strdup(label);
	late->fold_id = fold_add(&watching->fold, &key, &subject, time_now_ns(), elapsed_ns,
				 has_ended);
	fold_subject_clear(&subject);
	return late->fold_id;
}

static int report(struct watching *watching, const struct alert *where, struct late_unit *late)
{
	uint64_t path = hotpath_hash(where->hotpath);
	int ret;

	note_client(&watching->late_clients, where);
	if (!late->is_counted)
		watching->nr_late++;
	late->is_counted = true;
	if (!late->is_printed && fold(watching, where, late))
		return watching->sink ? print(watching, where, false, false, false) : 0;
	ret = print(watching, where, late->is_printed,
		    !late->is_printed || path != late->printed_path, true);
	late->is_printed = true;
	late->printed_path = path;
	return ret;
}

int request_alerts_take(struct watching *watching, const struct record *record)
{
	/* No thread has the id 0, so none of them is a unit. */
	const struct record as_unit = {
		.target_id = record->target_id,
		.unit = record->request.connection,
	};
	struct late_unit *late = late_units_get(&watching->units, &as_unit);
	struct diagnosis diagnosis;
	int ret;

	if (!late)
		return -ENOMEM;
	/* The end of the one before it was lost. */
	if (late->printed_ns > record->request.elapsed_ns)
		late_unit_reset(late);
	late->printed_ns = record->request.elapsed_ns;
	ret = diagnosis_init(&diagnosis, &watching->identities, &watching->cache, record);
	diagnosis.alert.is_brief = watching->is_brief;
	if (!ret)
		ret = diagnosis_add(&diagnosis, watching->unwinder, late);
	if (!ret)
		ret = report(watching, &diagnosis.alert, late);
	diagnosis_deinit(&diagnosis);
	if (record->request.state != PERFGUARD_REQUEST_STATE_LASTS)
		late_units_remove(&watching->units, late);
	return ret;
}
