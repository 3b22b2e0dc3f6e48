// SPDX-License-Identifier: GPL-2.0
/* What a trace says of a program that maps a file while it is recorded. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/record/recording-tables.h"
#include "store/trace-file.h"
#include "tap.h"

static char program_path[] = "/program", library_path[] = "/library";

int main(void)
{
	char path[] = "/tmp/test-recording.XXXXXX", why[TRACE_FILE_WHY_MAX] = "";
	struct program_file files[] = { { .path = program_path }, { .path = library_path } };
	struct trace_mapping mappings[] = {
		{ .image = 1, .object = 1, .start = 0x8000, .end = 0x9000 },
		{ .image = 1, .object = 0, .start = 0x1000, .end = 0x2000 },
	};
	struct recording recording = {
		.program = { .files = files, .nr_files = 1, .mappings = &mappings[1],
			     .nr_mappings = 1 },
	};
	struct trace *trace = &recording.trace;
	struct trace read = { 0 };
	int fd = mkstemp(path);

	plan(5);
	ok(!recording_describe(&recording) && trace->nr_objects == 1 && trace->nr_mappings == 1,
	   "a program of one file");
	free(trace->calls);
	recording.program.nr_files = 2;
	recording.program.mappings = mappings;
	recording.program.nr_mappings = 2;
	ok(!recording_describe(&recording) && trace->nr_objects == 2 &&
	   !strcmp(trace->objects[0].path, program_path) &&
	   !strcmp(trace->objects[1].path, library_path), "what it maps later is named, too");
	ok(trace->nr_mappings == 2 && trace->mappings[0].object == 0 &&
	   trace->mappings[1].object == 1, "as mappings know it");
	ok(fd >= 0 && !trace_file_save(path, trace, why), "such a trace can be saved");
	ok(!trace_file_load(path, &read, why) && read.nr_objects == 2, "and read");
	if (*why)
		diag("%s", why);
	trace_deinit(trace);
	trace_deinit(&read);
	close(fd);
	unlink(path);
	return tap_status();
}
