/* SPDX-License-Identifier: GPL-2.0 */
/* A unit of a timing run. */
#ifndef _USER_TRAIN_SAMPLES_TIMED_UNIT_H
#define _USER_TRAIN_SAMPLES_TIMED_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "data/samples.h"

struct timed_unit {
	uint64_t start_ns;
	uint64_t parts_ns[SAMPLES_NR_PARTS];
	bool has_account;
	uint32_t causes; /* why it may be longer: a bit for each enum samples_cause */
	bool is_left_out; /* it says nothing of its type's times */
	uint32_t loop;
	uint32_t timing;
	uint32_t first_read; /* of the requests that it has read, one after the other */
	uint32_t nr_reads;
	uint64_t hits;
};

#endif /* _USER_TRAIN_SAMPLES_TIMED_UNIT_H */
