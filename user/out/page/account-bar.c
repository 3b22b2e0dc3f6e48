// SPDX-License-Identifier: GPL-2.0

#include "out/page/account-bar.h"

#include "out/page/drawing.h"
#include "out/read/json-value.h"

void account_bar_put(FILE *file, const char *title, const json_t *account, uint64_t elapsed_ns)
{
	uint64_t io_ns = value_u64(account, "block_io"), blocked_ns = value_u64(account, "blocked");
	const struct bar_part parts[] = {
		{ "computing", "cpu", value_u64(account, "cpu") },
		{ "waiting for a CPU", "queue", value_u64(account, "runqueue") },
		{ "blocked", "blocked", blocked_ns > io_ns ? blocked_ns - io_ns : 0 },
		{ "waiting for a disk", "io", io_ns },
		{ "stopped", "stopped", value_u64(account, "stopped") },
	};
	uint64_t whole_ns = 0;

	/* Whoever wrote it: the sum has to be within 64 bits. */
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		whole_ns += parts[i].ns / 8;
	whole_ns = whole_ns * 8 > elapsed_ns ? whole_ns * 8 : elapsed_ns;
	drawing_bar(file, title, parts, sizeof(parts) / sizeof(parts[0]), whole_ns);
}
