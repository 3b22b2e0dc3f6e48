// SPDX-License-Identifier: GPL-2.0
/*
 * Alert records as messages of the module: attributes behind one another, in
 * several messages.  A message's length is in its first two bytes.
 */

#include <netlink/attr.h>
#include <string.h>

#include "fuzz.h"
#include "link/assembler.h"

static int take(struct record *record, void *arg)
{
	uint64_t *sum = arg;

	/* All of its memory is there. */
	for (uint32_t i = 0; i < record->nr_stacks; i++)
		for (uint32_t j = 0; j < record->stacks[i].size; j++)
			*sum += record->stacks[i].bytes[j];
	record_clear(record);
	return 0;
}

void fuzz_one(const uint8_t *bytes, size_t len)
{
	uint64_t sum = 0;
	struct assembler assembler = { .fn = take, .arg = &sum };

	while (len > 2) {
		uint16_t size;
		void *message;

		memcpy(&size, bytes, sizeof(size));
		bytes += sizeof(size);
		len -= sizeof(size);
		if (size > len)
			size = (uint16_t)len;
		/* Of exactly this size, so that a read beyond it is found. */
		message = malloc(size ? size : 1u);
		if (!message)
			abort();
		memcpy(message, bytes, size);
		assembler_feed(&assembler, message, size);
		free(message);
		bytes += size;
		len -= size;
	}
	assembler_finish(&assembler);
	assembler_reset(&assembler);
}
