// SPDX-License-Identifier: GPL-2.0

#include "data/alert-record.h"

#include <stdlib.h>
#include <string.h>

uint64_t record_part_ns(const struct record *record)
{
	const struct account *account = &record->account;

	switch (record->part) {
	case PERFGUARD_PART_OWN:
		return account->elapsed_ns - account->stopped_ns - account->runqueue_ns;
	case PERFGUARD_PART_CPU:
		return account->cpu_ns;
	case PERFGUARD_PART_BLOCKED:
		return account->blocked_ns;
	case PERFGUARD_PART_BLOCK_IO:
		return account->block_io_ns;
	case PERFGUARD_PART_STOPPED:
		return account->stopped_ns;
	default:
		return account->elapsed_ns - account->stopped_ns;
	}
}

void record_clear(struct record *record)
{
	for (uint32_t i = 0; i < record->nr_stacks; i++)
		slice_clear(&record->stacks[i]);
	free(record->stacks);
	free(record->met);
	free(record->messages);
	memset(record, 0, sizeof(*record));
}
