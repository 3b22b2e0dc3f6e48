// SPDX-License-Identifier: GPL-2.0

#include "binary/file/reader.h"

#include <dwarf.h>

void reader_skip(struct reader *reader, uint64_t size)
{
	if ((uint64_t)(reader->end - reader->at) < size)
		reader->failed = true;
	else
		reader->at += size;
}

/* Also for signed ones: *@ret_bits is how many bits it has. */
static uint64_t read_leb128(struct reader *reader, unsigned int *ret_bits)
{
	uint64_t value = 0, byte;
	unsigned int shift = 0;

	do {
		byte = reader_bytes(reader, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !reader->failed);
	*ret_bits = shift;
	return value;
}

uint64_t reader_unsigned(struct reader *reader)
{
	unsigned int bits;

	return read_leb128(reader, &bits);
}

int64_t reader_signed(struct reader *reader)
{
	unsigned int bits;
	uint64_t value = read_leb128(reader, &bits);

	if (bits < 64 && value >> (bits - 1) & 1)
		value |= -1ull << bits;
	return (int64_t)value;
}

unsigned int reader_value_size(uint8_t encoding)
{
	switch (encoding & 0xf) {
	case DW_EH_PE_absptr: case DW_EH_PE_udata8: case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4: case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2: case DW_EH_PE_sdata2:
		return 2;
	}
	return 0;
}

uint64_t reader_value(struct reader *reader, uint8_t encoding)
{
	unsigned int size = reader_value_size(encoding);
	uint64_t value;

	if ((encoding & 0xf) == DW_EH_PE_uleb128)
		return reader_unsigned(reader);
	if ((encoding & 0xf) == DW_EH_PE_sleb128)
		return (uint64_t)reader_signed(reader);
	value = reader_bytes(reader, size);

	reader->failed = reader->failed || !size;
	if (encoding & DW_EH_PE_signed && size && size < 8 && value >> (8 * size - 1) & 1)
		value |= -1ull << 8 * size;
	return value;
}

uint64_t reader_address(struct reader *reader, uint8_t encoding)
{
	uint64_t at = reader->addr + (uint64_t)(reader->at - reader->start);
	uint64_t value = reader_value(reader, encoding);

	if (encoding & DW_EH_PE_indirect)
		reader->failed = true;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return value ? at + value : 0;
	}
	reader->failed = true;
	return 0;
}
