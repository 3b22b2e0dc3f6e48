// SPDX-License-Identifier: GPL-2.0
/*
 * The Trace Event Format, which Perfetto, Chromium and Speedscope open: late units are slices on
 * the track of their thread, and below each how its time divides, as slices one behind the other,
 * which is no order of time; requests are asynchronous slices, their parts likewise; stacks are
 * instant events.
 *
 * Equal numbers of processes are different ones on other machines, and after a boot.  The format has
 * no machines: to the numbers of each further one its own multiple of MACHINE_PIDS is added.
 */

#include "out/export/export-formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/hash-index.h"
#include "base/time.h"
#include "out/export/exported.h"
#include "out/json.h"

enum {
	MAX_STACK_TEXT = 64 * 1024,
	MACHINE_PIDS = 1 << 22, /* Linux has no larger ones */
	MAX_MACHINES = 1 << 9, /* so that they stay in 31 bits; the others share the last */
};

struct perfetto {
	FILE *file;
	struct json json;
	struct hash_index named; /* processes and threads that have a name */
	uint64_t origin_ns; /* CLOCK_REALTIME, of the time 0 */
	uint64_t nr_requests;
	struct hash_index machines; /* and boots of them */
	uint32_t first_pid; /* of the machine at hand */
	bool has_event;
	int error;
};

/* Microseconds since the origin; exact to the nanosecond for days. */
static void put_time(struct json *json, const char *key, uint64_t ns)
{
	json_double(json, key, (double)ns / NSEC_PER_USEC);
}

static void begin_event(struct perfetto *perfetto, const char *phase, const char *name,
			uint32_t pid, uint32_t tid)
{
	struct json *json = &perfetto->json;

	json_object(json, NULL);
	json_string(json, "ph", phase);
	json_string(json, "name", name);
	json_u64(json, "pid", perfetto->first_pid + pid);
	json_u64(json, "tid", perfetto->first_pid + tid);
}

/* A line each. */
static void end_event(struct perfetto *perfetto)
{
	json_end(&perfetto->json);
	fputs(perfetto->has_event ? "," : "", perfetto->file);
	perfetto->has_event = true;
	if (json_end_line(&perfetto->json, perfetto->file))
		perfetto->error = -ENOMEM;
}

static void put_name(struct perfetto *perfetto, const char *what, const char *name, uint32_t pid,
		     uint32_t tid)
{
	uint64_t hash = hash_mix(hash_mix(hash_fnv1a(HASH_FNV1A, what, strlen(what)),
					  perfetto->first_pid + pid), tid);
	uint32_t cursor = 0;

	if (hash_index_next(&perfetto->named, hash, &cursor) != HASH_INDEX_NONE)
		return;
	if (hash_index_add(&perfetto->named, hash))
		perfetto->error = -ENOMEM;
	begin_event(perfetto, "M", what, pid, tid);
	json_object(&perfetto->json, "args");
	json_string(&perfetto->json, "name", name);
	json_end(&perfetto->json);
	end_event(perfetto);
}

static void put_arguments(struct json *json, const struct exported *exported)
{
	json_object(json, "args");
	json_string(json, "kind", exported->kind);
	json_string(json, "type", *exported->type ? exported->type : NULL);
	json_string(json, "place", exported->place);
	json_string(json, "part", exported->part);
	json_u64_or_null(json, "limit_ns", exported->limit_ns, exported->limit_ns);
	json_u64_or_null(json, "unit", exported->unit, exported->unit);
	json_string(json, "incident", exported->incident);
	json_string(json, "host", exported->host);
	json_u64(json, "pid", exported->pid);
	json_bool(json, "ended", exported->has_ended);
	for (uint32_t i = 0; i < exported->nr_parts; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s_ns", exported->parts[i].name);
		json_u64(json, key, exported->parts[i].ns);
	}
	json_end(json);
}

/*
 * The begin or the end of a span: to a begin and a length, what is rounded would stick out of what it
 * is in.  Those of a unit are nested in their thread, those of a request have its id.
 */
static void begin_edge(struct perfetto *perfetto, const struct exported *exported, bool is_begin,
		       const char *name, uint64_t at_ns)
{
	bool is_request = exported->is_request;
	const char *phase = is_begin ? is_request ? "b" : "B" : is_request ? "e" : "E";

	begin_event(perfetto, phase, name, exported->pid, exported->tid);
	json_string(&perfetto->json, "cat", is_request ? "request" : "unit");
	if (is_request)
		json_u64(&perfetto->json, "id", perfetto->nr_requests);
	put_time(&perfetto->json, "ts", at_ns);
}

static void put_edge(struct perfetto *perfetto, const struct exported *exported, bool is_begin,
		     const char *name, uint64_t at_ns)
{
	begin_edge(perfetto, exported, is_begin, name, at_ns);
	end_event(perfetto);
}

/* The next part, from *@at_ns on: no longer than what is left until @end_ns. */
static uint64_t part_of(const struct exported_part *part, uint64_t at_ns, uint64_t end_ns)
{
	return part->ns < end_ns - at_ns ? part->ns : end_ns - at_ns;
}

static void put_span(struct perfetto *perfetto, const struct exported *exported, uint64_t at_ns)
{
	uint64_t end_ns = at_ns + exported->elapsed_ns;
	char name[EXPORTED_NAME_MAX], part[64];

	perfetto->nr_requests += exported->is_request;
	snprintf(name, sizeof(name), "%s: %s", exported->kind, exported->place);
	begin_edge(perfetto, exported, true, name, at_ns);
	put_arguments(&perfetto->json, exported);
	end_event(perfetto);
	for (uint32_t i = 0; i < exported->nr_parts; i++) {
		uint64_t ns = part_of(&exported->parts[i], at_ns, end_ns);

		snprintf(part, sizeof(part), "sum: %s", exported->parts[i].name);
		put_edge(perfetto, exported, true, part, at_ns);
		at_ns += ns;
		put_edge(perfetto, exported, false, part, at_ns);
	}
	begin_edge(perfetto, exported, false, name, end_ns);
	/* Speedscope finds the begin of a unit by these. */
	if (!exported->is_request)
		put_arguments(&perfetto->json, exported);
	end_event(perfetto);
}

/* All functions in a text, the innermost first. */
static void put_stack_text(struct json *json, const struct exported_stack *stack)
{
	char *text = NULL, name[EXPORTED_NAME_MAX];
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return;
	for (uint32_t i = 0; i < stack->nr_frames && ftell(file) < MAX_STACK_TEXT; i++)
		fprintf(file, "%s%s", i ? " < " : "", exported_frame_name(&stack->frames[i], name));
	if (!fclose(file))
		json_string(json, "stack", text);
	free(text);
}

static void put_stack(struct perfetto *perfetto, const struct exported *exported,
		      const struct exported_stack *stack, uint64_t otherwise_ns)
{
	uint64_t at_ns = stack->wall_ns >= perfetto->origin_ns ?
				 stack->wall_ns - perfetto->origin_ns : otherwise_ns;
	char name[EXPORTED_NAME_MAX];

	begin_event(perfetto, "i", exported_frame_name(&stack->frames[0], name), exported->pid,
		    stack->tid);
	json_string(&perfetto->json, "cat", "stack");
	json_string(&perfetto->json, "s", "t");
	put_time(&perfetto->json, "ts", at_ns);
	json_object(&perfetto->json, "args");
	put_stack_text(&perfetto->json, stack);
	json_string(&perfetto->json, "syscall", stack->syscall);
	json_u64(&perfetto->json, "stands_for_ns", stack->ns);
	json_end(&perfetto->json);
	end_event(perfetto);
}

static int find_machine(struct perfetto *perfetto, const struct exported *exported)
{
	const char *host = exported->host ?: "", *boot = exported->boot ?: "";
	uint64_t hash = hash_fnv1a(HASH_FNV1A, host, strlen(host) + 1);
	uint32_t machine;

	if (hash_index_get(&perfetto->machines, hash_fnv1a(hash, boot, strlen(boot)), &machine))
		return -ENOMEM;
	perfetto->first_pid = MACHINE_PIDS * (machine < MAX_MACHINES ? machine : MAX_MACHINES - 1);
	return 0;
}

static int find_origin(const struct exported *exported, void *arg)
{
	struct perfetto *perfetto = arg;

	if (exported->begin_ns && (!perfetto->origin_ns || exported->begin_ns < perfetto->origin_ns))
		perfetto->origin_ns = exported->begin_ns;
	return find_machine(perfetto, exported);
}

/* Where there are several, a process has its machine's name, too. */
static void put_process_name(struct perfetto *perfetto, const struct exported *exported)
{
	char name[EXPORTED_NAME_MAX];

	snprintf(name, sizeof(name), perfetto->machines.nr > 1 && exported->host ? "%s on %s" : "%s",
		 exported->program, exported->host);
	put_name(perfetto, "process_name", name, exported->pid, exported->pid);
}

static int put_one(const struct exported *exported, void *arg)
{
	struct perfetto *perfetto = arg;
	uint64_t at_ns = exported->begin_ns - perfetto->origin_ns;

	/* Of a line without a time it is not known where it belongs. */
	if (!exported->begin_ns)
		return 0;
	if (find_machine(perfetto, exported))
		return -ENOMEM;
	put_process_name(perfetto, exported);
	if (*exported->comm)
		put_name(perfetto, "thread_name", exported->comm, exported->pid, exported->tid);
	put_span(perfetto, exported, at_ns);
	for (uint32_t i = 0; i < exported->nr_stacks; i++)
		put_stack(perfetto, exported, &exported->stacks[i],
			  at_ns + exported->elapsed_ns);
	return perfetto->error;
}

int export_perfetto(FILE *file, const struct incidents *incidents)
{
	struct perfetto perfetto = { .file = file };
	char time[TIME_TEXT_MAX];
	int ret = exported_each(incidents, find_origin, &perfetto);

	fprintf(file, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"begin\":\"%s\"},\"traceEvents\":[\n",
		time_format(perfetto.origin_ns, time));
	if (!ret)
		ret = exported_each(incidents, put_one, &perfetto);
	fputs("]}\n", file);
	json_deinit(&perfetto.json);
	hash_index_deinit(&perfetto.named);
	hash_index_deinit(&perfetto.machines);
	return ret;
}
