// SPDX-License-Identifier: GPL-2.0

#include "out/alert/alert-head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash-index.h"
#include "base/machine.h"
#include "data/alert-key.h"
#include "out/line.h"

enum { INCIDENT_MAX = MACHINE_LOAD_MAX + ALERT_INCIDENT_MAX + 2 };

enum journal_priority alert_severity(const char *kind, bool is_over)
{
	static const struct {
		const char *kind;
		enum journal_priority severity;
	} severities[] = {
		{ "late", JOURNAL_WARNING }, { "ended", JOURNAL_NOTICE },
		{ "novel", JOURNAL_NOTICE }, { "request", JOURNAL_WARNING },
		{ "repeated", JOURNAL_NOTICE }, { "lost", JOURNAL_ERROR },
		{ "level", JOURNAL_WARNING }, { "starved", JOURNAL_WARNING },
		{ "replaced", JOURNAL_ERROR }, { "slow", JOURNAL_INFO },
	};
	enum journal_priority ret = JOURNAL_WARNING;

	for (size_t i = 0; i < sizeof(severities) / sizeof(severities[0]); i++)
		if (!strcmp(severities[i].kind, kind))
			ret = severities[i].severity;
	return is_over && ret < JOURNAL_NOTICE ? JOURNAL_NOTICE : ret;
}

uint64_t alert_group(const char *kind, const char *exe, const char *build_id, uint32_t type,
		     uint64_t path)
{
	const char *const texts[] = { kind, exe ?: "", build_id ?: "" };
	uint64_t hash = HASH_FNV1A;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		hash = hash_fnv1a(hash, texts[i], strlen(texts[i]) + 1);
	hash = hash_fnv1a(hash, &type, sizeof(type));
	hash = hash_fnv1a(hash, &path, sizeof(path));
	return hash ?: 1;
}

static void put_key(struct json *json, const struct alert_head *head)
{
	/* One that is folded has the number of another. */
	bool has_number = strcmp(head->kind, "repeated") != 0;
	char key[ALERT_KEY_MAX];

	alert_key(line_machine()->load, head->kind, has_number ? head->seq : 0, head->time_ns, key);
	json_string(json, "key", key);
}

static void put_incident(struct json *json, const char *incident)
{
	char text[INCIDENT_MAX];

	snprintf(text, sizeof(text), "%s/%s", line_machine()->load, incident ?: "");
	json_string(json, "incident", incident ? text : NULL);
}

void alert_head_json(struct json *json, const struct alert_head *head)
{
	static const char *const names[] = {
		[JOURNAL_ERROR] = "error", [JOURNAL_WARNING] = "warning",
		[JOURNAL_NOTICE] = "notice", [JOURNAL_INFO] = "info",
	};
	char group[17];

	line_begin(json, head->kind, head->time_ns);
	json_u64_or_null(json, "seq", head->seq, head->seq);
	json_string(json, "severity", names[alert_severity(head->kind, head->is_over)]);
	put_key(json, head);
	put_incident(json, head->incident);
	snprintf(group, sizeof(group), "%016" PRIx64, head->group);
	json_string(json, "group", head->group ? group : NULL);
}
