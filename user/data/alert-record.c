// SPDX-License-Identifier: GPL-2.0

#include "data/alert-record.h"

#include <stdlib.h>
#include <string.h>

void record_clear(struct record *record)
{
	for (uint32_t i = 0; i < record->nr_stacks; i++)
		slice_clear(&record->stacks[i]);
	free(record->stacks);
	free(record->met);
	memset(record, 0, sizeof(*record));
}
