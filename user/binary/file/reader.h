/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads unwind tables byte by byte.  A read beyond the end gives 0 and makes
 * the reader fail; one check of that at the end is enough.
 */
#ifndef _USER_BINARY_FILE_READER_H
#define _USER_BINARY_FILE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
	uint64_t addr; /* of the file, of @start; for addresses only */
	const uint8_t *start;
};

/* Inline, as instructions are read by it, too. */
static inline uint64_t reader_bytes(struct reader *reader, unsigned int size)
{
	uint64_t value = 0;

	if ((size_t)(reader->end - reader->at) < size) {
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	return value;
}

void reader_skip(struct reader *reader, uint64_t size);

/* LEB128. */
uint64_t reader_unsigned(struct reader *reader);
int64_t reader_signed(struct reader *reader);

/* The size in bytes of a value of @encoding (DW_EH_PE_); 0 if it varies. */
unsigned int reader_value_size(uint8_t encoding);

/* A value of @encoding as it is, and as an address of the file; 0 is no address. */
uint64_t reader_value(struct reader *reader, uint8_t encoding);
uint64_t reader_address(struct reader *reader, uint8_t encoding);

#endif /* _USER_BINARY_FILE_READER_H */
