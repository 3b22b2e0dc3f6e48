// SPDX-License-Identifier: GPL-2.0

#include "data/stack-copy.h"

#include <stdlib.h>
#include <string.h>

void slice_clear(struct slice *slice)
{
	for (uint32_t i = 0; i < slice->nr_mappings; i++)
		free(slice->mappings[i].path);
	free(slice->mappings);
	free(slice->bytes);
	memset(slice, 0, sizeof(*slice));
}

const struct mapping *slice_mapping(const struct slice *slice, uint64_t address)
{
	for (uint32_t i = 0; i < slice->nr_mappings; i++)
		if (address >= slice->mappings[i].start && address < slice->mappings[i].end)
			return &slice->mappings[i];
	return NULL;
}
