// SPDX-License-Identifier: GPL-2.0
/* A trace: all of it is read before its digest is compared. */

#include <stdio.h>

#include "fuzz.h"
#include "store/trace-file.h"

void fuzz_one(const uint8_t *bytes, size_t len)
{
	char path[32], why[TRACE_FILE_WHY_MAX];
	int fd = fuzz_file(bytes, len);
	struct trace trace;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!trace_file_load(path, &trace, why))
		trace_deinit(&trace);
	close(fd);
}
