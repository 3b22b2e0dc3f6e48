// SPDX-License-Identifier: GPL-2.0
/*
 * Values are made by json_pack() alone: other functions of jansson have names that ours have, too
 * (out/json.h).
 */

#include "net/otlp-request.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base-name.h"
#include "base/time.h"
#include "base/utf8.h"

/* Of the data model of logs. */
enum severity { INFO = 9, WARN = 13, ERROR = 17 };

static const struct kind_severity {
	const char *kind;
	enum severity severity;
} severities[] = {
	{ "late", WARN }, { "ended", INFO }, { "novel", INFO }, { "request", WARN },
	{ "repeated", INFO }, { "lost", ERROR }, { "level", WARN }, { "starved", WARN },
	{ "replaced", ERROR },
};

static enum severity severity_of(const char *kind)
{
	for (size_t i = 0; i < sizeof(severities) / sizeof(severities[0]); i++)
		if (!strcmp(severities[i].kind, kind))
			return severities[i].severity;
	return WARN;
}

static const char *severity_name(enum severity severity)
{
	return severity == INFO ? "INFO" : severity == WARN ? "WARN" : "ERROR";
}

/* 64 bits are decimal strings in the JSON of protocol buffers. */
static json_t *number_text(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return json_pack("s", text);
}

/* Paths are any bytes: what is not UTF-8 becomes '?'. */
static json_t *text_value(const char *text)
{
	size_t len = strlen(text), at = 0;
	char *valid = strdup(text);
	json_t *ret;

	while (valid && at < len) {
		uint32_t character;
		size_t size = utf8_decode(text + at, len - at, &character);

		if (character == UTF8_INVALID)
			valid[at] = '?';
		at += size;
	}
	ret = valid ? json_pack("{s:s}", "stringValue", valid) : NULL;
	free(valid);
	return ret;
}

static void add_value(json_t *attributes, const char *key, json_t *value)
{
	json_array_append_new(attributes, json_pack("{s:s, s:o}", "key", key, "value", value));
}

static void add_text(json_t *attributes, const char *key, const char *value)
{
	if (value)
		add_value(attributes, key, text_value(value));
}

static json_t *any_value(const json_t *value);

static json_t *array_value(const json_t *value)
{
	json_t *values = json_pack("[]");
	const json_t *one;
	size_t i;

	json_array_foreach(value, i, one)
		json_array_append_new(values, any_value(one));
	return json_pack("{s:{s:o}}", "arrayValue", "values", values);
}

static json_t *list_value(const json_t *value)
{
	json_t *values = json_pack("[]");
	const char *key;
	json_t *one;

	json_object_foreach((json_t *)value, key, one)
		add_value(values, key, any_value(one));
	return json_pack("{s:{s:o}}", "kvlistValue", "values", values);
}

/* AnyValue; of null it is empty. */
static json_t *any_value(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return text_value(json_string_value(value));
	case JSON_INTEGER:
		return json_pack("{s:o}", "intValue",
				 number_text((uint64_t)json_integer_value(value)));
	case JSON_REAL:
		return json_pack("{s:f}", "doubleValue", json_real_value(value));
	case JSON_TRUE:
	case JSON_FALSE:
		return json_pack("{s:b}", "boolValue", json_is_true(value));
	case JSON_ARRAY:
		return array_value(value);
	case JSON_OBJECT:
		return list_value(value);
	default:
		return json_pack("{}");
	}
}

/* What the alert's JSON has: a few things have names that others know. */
static void add_own(json_t *attributes, const json_t *object)
{
	static const char *const known[][2] = {
		{ "pid", "process.pid" }, { "tid", "thread.id" }, { "comm", "thread.name" },
	};
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value) {
		char name[160];

		snprintf(name, sizeof(name), "perfguard.%s", key);
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (!strcmp(key, known[i][0]))
				snprintf(name, sizeof(name), "%s", known[i][1]);
		if (!json_is_null(value))
			add_value(attributes, name, any_value(value));
	}
}

static json_t *log_record(const struct spool_alert *alert)
{
	enum severity severity = severity_of(alert->kind);
	json_t *attributes = json_pack("[]");
	/* A number from 2^63 on is none for it, but as a real one. */
	json_t *object = json_loads(alert->json, 0, NULL) ?:
			 json_loads(alert->json, JSON_DECODE_INT_AS_REAL, NULL);
	char event[64];

	snprintf(event, sizeof(event), "perfguard.%s", alert->kind);
	add_text(attributes, "log.record.uid", alert->key);
	add_text(attributes, "process.executable.path", alert->exe);
	add_text(attributes, "process.executable.build_id.gnu", alert->build_id);
	if (json_is_object(object))
		add_own(attributes, object);
	json_decref(object);
	return json_pack("{s:o, s:o, s:i, s:s, s:o, s:s, s:o}", "timeUnixNano",
			 number_text(alert->time_ns), "observedTimeUnixNano",
			 number_text(time_wall_ns()), "severityNumber", (int)severity, "severityText",
			 severity_name(severity), "body", text_value(alert->text), "eventName", event,
			 "attributes", attributes);
}

static json_t *resource_logs(const char *service, const struct otlp_source *source)
{
	json_t *attributes = json_pack("[]");

	add_text(attributes, "service.name", service);
	add_text(attributes, "host.name", source->host);
	add_text(attributes, "host.id", source->machine);
	add_text(attributes, "os.type", "linux");
	return json_pack("{s:{s:o}, s:[{s:{s:s, s:s}, s:[]}]}", "resource", "attributes", attributes,
			 "scopeLogs", "scope", "name", "perfguard", "version", source->version,
			 "logRecords");
}

/* The list of records of this service in the request: it is the resource that they are of. */
static json_t *records_of(json_t *all, const char *service, const struct otlp_source *source)
{
	json_t *one = NULL;
	size_t i;

	json_array_foreach(all, i, one) {
		const json_t *name = json_object_get(json_array_get(json_object_get(json_object_get(
			one, "resource"), "attributes"), 0), "value");

		if (!strcmp(json_string_value(json_object_get(name, "stringValue")) ?: "", service))
			break;
	}
	if (i == json_array_size(all)) {
		one = resource_logs(service, source);
		json_array_append_new(all, one);
	}
	return json_object_get(json_array_get(json_object_get(one, "scopeLogs"), 0), "logRecords");
}

char *otlp_request(const struct spool_batch *batch, const struct otlp_source *source,
		   uint32_t *ret_nr)
{
	json_t *all = json_pack("[]"), *request;
	char *text;

	*ret_nr = 0;
	for (uint32_t i = 0; i < batch->nr; i++) {
		const struct spool_alert *alert = &batch->alerts[i];
		const char *service = alert->exe ? base_name(alert->exe) : "perfguard";

		if (alert->is_silenced || !alert->text[0])
			continue;
		json_array_append_new(records_of(all, service, source), log_record(alert));
		++*ret_nr;
	}
	request = json_pack("{s:o}", "resourceLogs", all);
	text = json_dumps(request, JSON_COMPACT);
	json_decref(request);
	return text;
}

uint64_t otlp_rejected(const char *text, size_t len, char *why, size_t size)
{
	json_t *answer = json_loadb(text, len, 0, NULL);
	const json_t *partial = json_object_get(answer, "partialSuccess");
	const json_t *number = json_object_get(partial, "rejectedLogRecords");
	const char *message = json_string_value(json_object_get(partial, "errorMessage"));
	long long ret = 0;

	if (json_is_integer(number))
		ret = json_integer_value(number);
	else if (json_is_string(number))
		ret = strtoll(json_string_value(number), NULL, 10);
	snprintf(why, size, "%s", message ? message : "");
	json_decref(answer);
	return ret > 0 ? (uint64_t)ret : 0;
}
