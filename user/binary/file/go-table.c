// SPDX-License-Identifier: GPL-2.0
/*
 * The head has the offsets of the parts.  The rows are pairs of 32-bit numbers: where a function
 * starts, from the begin of Go's code, and where its record is, from the first row; behind them is
 * where the last function ends.  Of a record, three fields are read.
 */

#include "binary/file/go-table.h"

#include <gelf.h>
#include <string.h>

#include "base/array.h"
#include "binary/file/dynamic.h"
#include "binary/file/reader.h"

enum {
	MAGIC_1_18 = 0xfffffff0,
	MAGIC_1_20 = 0xfffffff1,
	/* in the head */
	AT_SIZES = 4,
	AT_NR = 8,
	AT_TEXT = 24,
	AT_NAMES = 32,
	AT_VALUES = 56,
	AT_ROWS = 64,
	HEAD = 72,
	/* in a record */
	AT_NAME = 4,
	AT_DISTANCES = 16,
	AT_FLAGS_1_18 = 37,
	AT_FLAGS_1_20 = 41,
	RECORD = 44,
	FLAG_TOP = 1, /* has no caller */
	ROW = 8,
};

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* What the dynamic linker of a position-independent program writes to @addr, or 0. */
static uint64_t relocated(const struct file_view *view, Elf *elf, uint64_t addr)
{
	struct dynamic dynamic;
	uint64_t size;
	const uint8_t *at;

	dynamic_init(&dynamic, view, elf);
	size = dynamic_value(&dynamic, DT_RELASZ);
	at = file_view_at(view, dynamic_value(&dynamic, DT_RELA), size);
	for (; at && size >= sizeof(Elf64_Rela); size -= sizeof(Elf64_Rela)) {
		Elf64_Rela rela;

		memcpy(&rela, at, sizeof(rela));
		if (rela.r_offset == addr && ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
			return (uint64_t)rela.r_addend;
		at += sizeof(rela);
	}
	return 0;
}

static bool read_head(struct go_table *table)
{
	const uint8_t *head = table->bytes;
	/* One byte is the least an instruction has, eight the size of an address. */
	static const uint8_t sizes[] = { 0, 0, 1, 8 };
	uint64_t nr;

	if (table->size < HEAD || (get32(head) != MAGIC_1_18 && get32(head) != MAGIC_1_20) ||
	    memcmp(head + AT_SIZES, sizes, sizeof(sizes)))
		return false;
	nr = get64(head + AT_NR);
	table->text = get64(head + AT_TEXT);
	table->names = get64(head + AT_NAMES);
	table->values = get64(head + AT_VALUES);
	table->rows = get64(head + AT_ROWS);
	if (table->names > table->size || table->values > table->size ||
	    table->rows > table->size || nr >= (table->size - table->rows) / ROW)
		return false;
	table->nr = (uint32_t)nr;
	return nr <= UINT32_MAX;
}

void go_table_init(struct go_table *table, const struct file_view *view, Elf *elf)
{
	GElf_Shdr section;

	memset(table, 0, sizeof(*table));
	if (!file_view_section(elf, ".gopclntab", &section) &&
	    !file_view_section(elf, ".data.rel.ro.gopclntab", &section))
		return;
	table->size = section.sh_size;
	table->bytes = file_view_at(view, section.sh_addr, section.sh_size);
	if (!table->bytes || !read_head(table))
		table->nr = 0;
	else if (!table->text)
		table->text = relocated(view, elf, section.sh_addr + AT_TEXT);
	if (!table->text)
		table->nr = 0;
}

static uint64_t row_start(const struct go_table *table, uint32_t row)
{
	return table->text + get32(table->bytes + table->rows + (uint64_t)ROW * row);
}

/* The record of a function, or NULL. */
static const uint8_t *record_of(const struct go_table *table, uint32_t row)
{
	uint64_t at = table->rows + get32(table->bytes + table->rows + (uint64_t)ROW * row + 4);

	return table->size >= RECORD && at <= table->size - RECORD ? table->bytes + at : NULL;
}

static const char *name_of(const struct go_table *table, const uint8_t *record)
{
	uint64_t at = table->names + get32(record + AT_NAME);

	if (at >= table->size || !memchr(table->bytes + at, '\0', table->size - at))
		return NULL;
	return (const char *)table->bytes + at;
}

bool go_table_function(const struct go_table *table, uint32_t row, struct go_function *ret)
{
	const uint8_t *record = record_of(table, row);
	uint64_t end = row_start(table, row + 1); /* is there behind the last one too */

	ret->start = row_start(table, row);
	ret->size = end - ret->start;
	ret->name = record ? name_of(table, record) : NULL;
	return end > ret->start;
}

static bool find_row(const struct go_table *table, uint64_t addr, uint32_t *ret)
{
	uint32_t low = (uint32_t)array_bisect(row, table->nr, row_start(table, (uint32_t)row) > addr);

	*ret = low - 1;
	return low && addr < row_start(table, low);
}

static bool is_top(const struct go_table *table, const uint8_t *record)
{
	uint32_t at = get32(table->bytes) == MAGIC_1_18 ? AT_FLAGS_1_18 : AT_FLAGS_1_20;

	return record[at] & FLAG_TOP;
}

/*
 * Pairs of a change of the value, which is -1 at first and whose lowest bit is the sign, and of
 * how many bytes of code it holds for.
 */
static bool read_distance(struct reader *reader, uint64_t left, uint32_t *ret)
{
	int32_t value = -1;

	for (bool is_first = true;; is_first = false) {
		uint32_t change = (uint32_t)reader_unsigned(reader);
		uint64_t size = reader_unsigned(reader);

		if (reader->failed || (!change && !is_first))
			return false;
		value += (int32_t)(change >> 1 ^ (0 - (change & 1)));
		if (left < size)
			break;
		left -= size;
	}
	*ret = (uint32_t)value;
	return value >= 0;
}

bool go_table_frame(const struct go_table *table, uint64_t addr, struct go_frame *ret)
{
	const uint8_t *record;
	struct reader reader;
	uint64_t at;
	uint32_t row;

	record = table->nr && find_row(table, addr, &row) ? record_of(table, row) : NULL;
	if (!record)
		return false;
	at = table->values + get32(record + AT_DISTANCES);
	if (at >= table->size)
		return false;
	reader = (struct reader){ .at = table->bytes + at, .end = table->bytes + table->size };
	ret->is_top = is_top(table, record);
	return read_distance(&reader, addr - row_start(table, row), &ret->distance);
}
