// SPDX-License-Identifier: GPL-2.0

#include "out/line.h"

#include <inttypes.h>
#include <limits.h>

#include "base/base-name.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/time.h"

static const struct machine_identity *of; /* see line_set_machine() */

void line_set_machine(const struct machine_identity *machine)
{
	of = machine;
}

const struct machine_identity *line_machine(void)
{
	return of ? of : machine_here();
}

void line_begin(struct json *json, const char *kind, uint64_t time_ns)
{
	const struct machine_identity *machine = line_machine();
	char time[TIME_TEXT_MAX];

	json_object(json, NULL);
	json_string(json, "kind", kind);
	json_u64(json, "schema", LINE_SCHEMA);
	json_string(json, "time", time_format(time_ns ? time_ns : time_wall_ns(), time));
	json_string(json, "host", machine->host[0] ? machine->host : NULL);
	json_string(json, "boot_id", machine->boot[0] ? machine->boot : NULL);
}

int line_end(struct json *json, FILE *file)
{
	json_end(json);
	return json_end_line(json, file);
}

void line_put_name(struct json *json, const char *module, uint64_t offset, const char *function)
{
	char place[PATH_MAX];

	snprintf(place, sizeof(place), "%s%s0x%" PRIx64, module ? base_name(module) : "",
		 module ? "+" : "", offset);
	json_string(json, "name", function ? function : place);
}

static void write_message(enum log_level level, const char *line)
{
	static const char *const kinds[] = {
		[LOG_LEVEL_ERROR] = "error",
		[LOG_LEVEL_WARNING] = "warning",
		[LOG_LEVEL_PROGRESS] = "progress",
	};
	struct json json = { 0 };

	/* After the buffered output of stdout. */
	fflush(stdout);
	line_begin(&json, kinds[level], 0);
	json_string(&json, kinds[level], line);
	line_end(&json, stderr);
	json_deinit(&json);
}

void line_take_log(void)
{
	log_set_writer(write_message, false);
}
