// SPDX-License-Identifier: GPL-2.0

#include "out/read/incident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "out/read/json-value.h"
#include "out/read/read-path.h"

/* The begin of a request is converted to this clock each time it is reported. */
#define BEGIN_JITTER_NS NSEC_PER_MSEC
#define BEGIN_BUCKET_NS (16 * NSEC_PER_MSEC)

enum {
	MAX_INCIDENTS = 50 * 1000,
	MAX_KEPT_BYTES = 64 * 1024 * 1024, /* of lines */
};

const char *incident_kind_name(enum incident_kind kind)
{
	static const char *const names[INCIDENT_NR_KINDS] = {
		[INCIDENT_LATE] = "late unit",
		[INCIDENT_NOVEL] = "novel unit",
		[INCIDENT_STOPPED] = "stopped unit",
		[INCIDENT_SLOW] = "slow unit",
		[INCIDENT_REQUEST] = "late request",
		[INCIDENT_SLOW_REQUEST] = "slow request",
	};

	return names[kind];
}

bool incident_is_of(const char *kind)
{
	static const char *const kinds[] = {
		"late", "ended", "novel", "slow", "request", "slow-request",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? hash_fnv1a(hash, text, strlen(text) + 1) : hash_fnv1a(hash, "\1", 1);
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
	return hash_fnv1a(hash, &number, sizeof(number));
}

static enum incident_kind kind_of(const json_t *object, const char *name)
{
	const char *part = value_text(object, "part");

	if (!strcmp(name, "request"))
		return INCIDENT_REQUEST;
	if (!strcmp(name, "slow-request"))
		return INCIDENT_SLOW_REQUEST;
	if (!strcmp(name, "novel"))
		return INCIDENT_NOVEL;
	if (!strcmp(name, "slow"))
		return INCIDENT_SLOW;
	return part && !strcmp(part, "stopped") ? INCIDENT_STOPPED : INCIDENT_LATE;
}

/* @begin_ns is of a request. */
static uint64_t id_of(const json_t *object, enum incident_kind kind, uint64_t begin_ns)
{
	uint64_t hash = hash_number(hash_text(HASH_FNV1A, value_text(object, "boot_id")),
				    value_u64(object, "pid"));

	if (!incident_is_request(kind))
		return hash_number(hash_number(hash_number(hash, kind == INCIDENT_NOVEL),
					       value_u64(object, "tid")),
				   value_u64(object, "unit"));
	return hash_number(hash_text(hash, value_text(object, "client")),
			   begin_ns / BEGIN_BUCKET_NS);
}

/* What one that has no group by its functions is alike by. */
static uint64_t group_base(const json_t *object, enum incident_kind kind)
{
	uint64_t hash = hash_text(hash_number(HASH_FNV1A, kind), value_text(object, "exe"));
	const json_t *there = json_object_get(object, "there");

	hash = hash_number(hash, value_u64(object, "type"));
	if (!incident_is_request(kind))
		return hash;
	hash = hash_text(hash, value_text(object, "cause"));
	for (; there; there = json_object_get(there, "there"))
		hash = hash_text(hash_text(hash, value_text(there, "cause")),
				 value_text(there, "function"));
	return hash;
}

/* Returns 0 or -ENOMEM. */
static int set_group(struct incident *incident, const json_t *object)
{
	const char *cause = value_text(object, "cause");
	bool has_path = incident_is_request(incident->kind)
				? cause && !strcmp(cause, INCIDENT_IN_UNITS)
				: incident->kind != INCIDENT_STOPPED;
	bool is_known = cause && !has_path;
	uint64_t path = 0;
	int ret = 0;

	if (has_path)
		ret = read_path_hash(object, &path);
	/* A line that does not show where it was knows no better than those before it. */
	if (!ret && (path || is_known || !incident->group))
		incident->group = hash_number(group_base(object, incident->kind), path);
	return ret;
}

static uint64_t limited_ns(const json_t *object, enum incident_kind kind, uint64_t elapsed_ns)
{
	const json_t *account = json_object_get(object, "time_ns");
	const char *part = value_text(object, "part");
	uint64_t other_ns;

	if (kind == INCIDENT_REQUEST)
		return value_is_number(object, "part_ns") ? value_u64(object, "part_ns")
							  : elapsed_ns;
	if (!part || !json_is_object(account) || !strcmp(part, "all"))
		return elapsed_ns;
	if (strcmp(part, "own") != 0)
		return value_is_number(account, part) ? value_u64(account, part) : elapsed_ns;
	other_ns = value_u64(account, "runqueue") + value_u64(account, "stopped");
	return elapsed_ns > other_ns ? elapsed_ns - other_ns : elapsed_ns;
}

static bool is_over(const json_t *object, enum incident_kind kind, const char *name)
{
	const char *state = value_text(object, "state");

	if (kind == INCIDENT_REQUEST)
		return state && strcmp(state, "lasts") != 0;
	return strcmp(name, "late") != 0 && !value_is_true(object, "running");
}

static int update(struct incident *incident, const json_t *object, const char *name)
{
	const json_t *account = json_object_get(object, "time_ns");
	uint64_t time_ns = value_time(object, "time"), elapsed_ns, limit_ns;
	bool is_request = incident_is_request(incident->kind);

	elapsed_ns = is_request ? value_u64(account, "elapsed") : value_u64(object, "elapsed_ns");
	limit_ns = value_u64(object, "threshold_ns");
	if (!incident->begin_ns)
		incident->begin_ns = is_request ? value_time(object, "begin") :
				     time_ns > elapsed_ns ? time_ns - elapsed_ns : time_ns;
	if (!incident->seq)
		incident->seq = value_u64(object, "seq");
	if (elapsed_ns > incident->elapsed_ns)
		incident->elapsed_ns = elapsed_ns;
	if (limit_ns)
		incident->factor = (double)limited_ns(object, incident->kind, elapsed_ns) /
				   (double)limit_ns;
	incident->has_ended |= is_over(object, incident->kind, name);
	return set_group(incident, object);
}

static void drop_lines(struct incidents *incidents, struct incident *incident)
{
	for (uint32_t i = incident->last_line; i != HASH_INDEX_NONE;
	     i = incidents->lines[i].before) {
		incidents->kept_bytes -= incidents->lines[i].len;
		free(incidents->lines[i].text);
		incidents->lines[i].text = NULL;
	}
	incident->last_line = HASH_INDEX_NONE;
}

/* Those of a group are together, the slowest that has lines first. */
static int order(const void *a, const void *b, void *arg)
{
	const struct incidents *incidents = arg;
	const struct incident *one = &incidents->of[*(const uint32_t *)a];
	const struct incident *other = &incidents->of[*(const uint32_t *)b];

	return order_of(one->group, other->group) ?: order_of(other->elapsed_ns, one->elapsed_ns);
}

/* Only the slowest of each group keeps its lines, and those that last. */
static int drop_needless(struct incidents *incidents)
{
	uint32_t *by_group;

	if (array_new(by_group, incidents->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < incidents->nr; i++)
		by_group[i] = i;
	qsort_r(by_group, incidents->nr, sizeof(*by_group), order, incidents);
	for (uint32_t i = 1; i < incidents->nr; i++) {
		struct incident *incident = &incidents->of[by_group[i]];

		if (incident->has_ended &&
		    incident->group == incidents->of[by_group[i - 1]].group)
			drop_lines(incidents, incident);
	}
	free(by_group);
	return 0;
}

static int keep_line(struct incidents *incidents, struct incident *incident, const char *text,
		     size_t len)
{
	struct incident_line *line;

	if (incidents->kept_bytes + len > MAX_KEPT_BYTES && !incidents->is_full) {
		if (drop_needless(incidents))
			return -ENOMEM;
		/* Else the next search would come too soon. */
		incidents->is_full = incidents->kept_bytes > MAX_KEPT_BYTES / 2;
	}
	if (incidents->is_full)
		return 0;
	if (array_grow(incidents->lines, incidents->nr_lines, incidents->max_lines))
		return -ENOMEM;
	line = &incidents->lines[incidents->nr_lines];
	*line = (struct incident_line){ malloc(len), len, incident->last_line };
	if (!line->text)
		return -ENOMEM;
	memcpy(line->text, text, len);
	incident->last_line = incidents->nr_lines++;
	incidents->kept_bytes += len;
	return 0;
}

/* One with this id, and of requests one that began then; HASH_INDEX_NONE if there is none. */
static uint32_t find(const struct incidents *incidents, uint64_t id, enum incident_kind kind,
		     uint64_t begin_ns)
{
	uint32_t cursor = 0, found;

	while ((found = hash_index_next(&incidents->by_id, id, &cursor)) != HASH_INDEX_NONE) {
		uint64_t there_ns = incidents->of[found].begin_ns;

		if (!incident_is_request(kind) || (there_ns <= begin_ns + BEGIN_JITTER_NS &&
						   begin_ns <= there_ns + BEGIN_JITTER_NS))
			break;
	}
	return found;
}

static int find_or_add(struct incidents *incidents, const json_t *object, enum incident_kind kind,
		       struct incident **ret)
{
	uint64_t begin_ns = incident_is_request(kind) ? value_time(object, "begin") : 0;
	uint64_t id = id_of(object, kind, begin_ns);
	uint32_t found = find(incidents, id, kind, begin_ns);

	/* It may be in the bucket before, or behind. */
	if (found == HASH_INDEX_NONE && begin_ns > BEGIN_JITTER_NS)
		found = find(incidents, id_of(object, kind, begin_ns - BEGIN_JITTER_NS), kind,
			     begin_ns);
	if (found == HASH_INDEX_NONE && begin_ns)
		found = find(incidents, id_of(object, kind, begin_ns + BEGIN_JITTER_NS), kind,
			     begin_ns);
	*ret = NULL;
	if (found == HASH_INDEX_NONE && incidents->nr < MAX_INCIDENTS) {
		if (array_grow(incidents->of, incidents->nr, incidents->max) ||
		    hash_index_add(&incidents->by_id, id))
			return -ENOMEM;
		found = incidents->nr++;
		incidents->of[found] = (struct incident){
			.kind = kind,
			.last_line = HASH_INDEX_NONE,
		};
	}
	if (found != HASH_INDEX_NONE)
		*ret = &incidents->of[found];
	return 0;
}

int incidents_add(struct incidents *incidents, const json_t *object, const char *text, size_t len)
{
	const char *name = value_text(object, "kind");
	enum incident_kind kind = kind_of(object, name);
	struct incident *incident;

	if (find_or_add(incidents, object, kind, &incident))
		return -ENOMEM;
	if (!incident) {
		incidents->nr_left_out++;
		return 0;
	}
	/* An audit lists at its end what was late meanwhile. */
	if (kind == INCIDENT_LATE || kind == INCIDENT_REQUEST)
		incident->kind = kind;
	if (update(incident, object, name))
		return -ENOMEM;
	return keep_line(incidents, incident, text, len);
}

void incidents_deinit(struct incidents *incidents)
{
	for (uint32_t i = 0; i < incidents->nr_lines; i++)
		free(incidents->lines[i].text);
	free(incidents->lines);
	free(incidents->of);
	hash_index_deinit(&incidents->by_id);
	memset(incidents, 0, sizeof(*incidents));
}
