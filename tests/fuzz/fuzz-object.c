// SPDX-License-Identifier: GPL-2.0
/* A file that a process maps: its segments, build id, symbols and unwind rules. */

#include "binary/file/object.h"
#include "fuzz.h"

enum { MAX_PLACES = 64 };

void fuzz_one(const uint8_t *bytes, size_t len)
{
	struct elf_identity identity;
	struct object *object;
	const char *why, *name;
	uint64_t start;
	int fd = fuzz_file(bytes, len);

	elf_identify(fd, &identity, &why);
	if (object_create(fd, "fuzz", &object))
		return;
	for (uint32_t i = 0; i < object->view.nr_segments && i < 8; i++) {
		const struct segment *segment = &object->view.segments[i];

		for (uint64_t at = 0; at < MAX_PLACES; at++) {
			uint64_t addr = segment->addr + at * (segment->size / MAX_PLACES);

			object_rule(object, addr);
			object_function(object, addr, &start, &name);
		}
	}
	object_rule(object, object->entry);
	object_function(object, UINT64_MAX, &start, &name);
	object_destroy(object);
}
