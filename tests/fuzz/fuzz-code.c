// SPDX-License-Identifier: GPL-2.0
/* The code of a file: functions, control flow, jump tables, places for probes. */

#include "binary/code/code-map.h"
#include "fuzz.h"

enum { MAX_FUNCTIONS = 64 };

void fuzz_one(const uint8_t *bytes, size_t len)
{
	struct samples_function described;
	struct code_map_call call;
	struct code_map *code;

	if (code_map_open(fuzz_file(bytes, len), "fuzz", &code))
		return;
	for (uint32_t i = 0; i < code->functions.nr && i < MAX_FUNCTIONS; i++) {
		const struct function *function = &code->functions.entries[i];

		if (!code_map_describe(code, function, 0, &described))
			free(described.name);
		for (uint64_t at = 0; at < function->size && at < 64; at++)
			code_map_call_at(code, function->offset + at, &call);
	}
	code_map_close(code);
}
