/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Landing pads of exceptions: the call sites of a range of code and the pads that
 * they continue at if they throw.  No jump leads there.
 */
#ifndef _USER_BINARY_CODE_LANDING_H
#define _USER_BINARY_CODE_LANDING_H

#include "binary/code/ranges.h"
#include "binary/file/reader.h"

struct landing {
	struct reader reader;
	uint64_t start; /* of the range */
	uint64_t base; /* of the pads */
	uint8_t encoding;
};

/* Addresses of the file: calls in [start, end) land at pad. */
struct landing_pad {
	uint64_t start;
	uint64_t end;
	uint64_t pad;
};

/* Returns false if @range has none. */
bool landing_open(const struct file_view *view, const struct range *range, struct landing *ret);

/* The next one, until it returns false. */
bool landing_next(struct landing *landing, struct landing_pad *ret);

#endif /* _USER_BINARY_CODE_LANDING_H */
