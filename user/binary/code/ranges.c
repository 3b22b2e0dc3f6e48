// SPDX-License-Identifier: GPL-2.0

#include "binary/code/ranges.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "binary/code/scan.h"
#include "binary/stack/cfi.h"

static bool is_push_of_pointer(const struct scan_encoding *encoding)
{
	return encoding->map == SCAN_MAP_ONE && encoding->opcode == 0xff &&
	       (encoding->modrm >> 3 & 7) == 6 && encoding->is_rip_relative;
}

/*
 * Entries of a PLT are 16 bytes, or 8 in .plt.got: a jump through a pointer,
 * with endbr64 before it in .plt.sec.  That of .plt begins with a push of an
 * argument of the dynamic linker.  No section headers are needed.
 */
static bool is_plt(const uint8_t *code, uint32_t size)
{
	struct scan insn;
	uint32_t at = 0;

	if (size % 8 || !scan_insn(code, size, 0, &insn))
		return false;
	if (scan_is_endbr64(&insn) || is_push_of_pointer(&insn.encoding))
		at = insn.size;
	if (!scan_insn(code + at, size - at, 0, &insn))
		return false;
	return insn.flow == INSN_JUMP_INDIRECT && insn.encoding.is_rip_relative;
}

static bool add_entry(const struct file_view *view, const struct cfi_entry *entry,
		      struct ranges *ranges)
{
	struct range *range = &ranges->entries[ranges->nr];

	if (entry->size > UINT32_MAX ||
	    !file_view_offset(view, entry->start, entry->size, &range->offset))
		return false;
	range->addr = entry->start;
	range->lsda = entry->lsda;
	range->size = (uint32_t)entry->size;
	if (is_plt(view->bytes + range->offset, range->size))
		range->kind = RANGE_PLT;
	else
		range->kind = cfi_is_function(entry) ? RANGE_FUNCTION : RANGE_COLD;
	ranges->nr++;
	return true;
}

/* If a row and its FDE have different starts, one of them is wrong. */
static int read_table(const struct file_view *view, const struct fde_table *table,
		      struct ranges *ret)
{
	struct cfi_common common = { .addr = 0 };
	int err = array_new(ret->entries, table->nr);

	for (uint32_t row = 0; !err && row < table->nr; row++) {
		struct cfi_entry entry;
		uint64_t start, fde;

		fde_table_row(table, row, &start, &fde);
		if (!cfi_read(view, fde, &common, &entry) || entry.start != start)
			ret->nr_refused++;
		else if (!entry.is_signal && !add_entry(view, &entry, ret))
			ret->nr_refused++;
	}
	return err;
}

/* Without the table: all entries of .eh_frame, one after the other. */
static int read_section(const struct file_view *view, Elf *elf, struct ranges *ret)
{
	enum { SMALLEST = 16 }; /* bytes of an FDE */
	struct cfi_common common = { .addr = 0 };
	const uint8_t *bytes;
	GElf_Shdr section;
	uint64_t at = 0;
	int err;

	if (!file_view_section(elf, ".eh_frame", &section))
		return -ENODATA;
	bytes = file_view_at(view, section.sh_addr, section.sh_size);
	if (!bytes)
		return -ENODATA;
	err = array_new(ret->entries, section.sh_size / SMALLEST);
	if (err)
		return err;
	while (section.sh_size - at >= SMALLEST && ret->nr < section.sh_size / SMALLEST) {
		struct cfi_entry entry;
		uint32_t head[2];

		memcpy(head, bytes + at, sizeof(head));
		if (!head[0] || head[0] > section.sh_size - at - 4)
			break;
		if (!head[1])
			; /* a CIE */
		else if (!cfi_read(view, section.sh_addr + at, &common, &entry))
			ret->nr_refused++;
		else if (!entry.is_signal && !add_entry(view, &entry, ret))
			ret->nr_refused++;
		at += 4ull + head[0];
	}
	return 0;
}

/* Go's functions, which the unwind table lacks. */
static int add_go(const struct file_view *view, const struct go_table *table, struct ranges *ret)
{
	if (array_resize(ret->entries, (size_t)ret->nr + table->nr))
		return -ENOMEM;
	for (uint32_t row = 0; row < table->nr; row++) {
		struct range range = { .kind = RANGE_FUNCTION, .is_go = true };
		struct go_function function;

		if (!go_table_function(table, row, &function) || function.size > UINT32_MAX ||
		    !file_view_offset(view, function.start, function.size, &range.offset)) {
			ret->nr_refused++;
			continue;
		}
		range.addr = function.start;
		range.size = (uint32_t)function.size;
		ret->entries[ret->nr++] = range;
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return order_of(a->addr, b->addr) ?: order_of(a->size, b->size);
}

/*
 * Segments can show the same bytes again and again.  No program does; all its
 * code together is smaller than the file.
 */
static void drop_excess(struct ranges *ranges, uint64_t file_size)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < ranges->nr; i++) {
		size += ranges->entries[i].size;
		if (size > file_size) {
			ranges->nr_refused += ranges->nr - i;
			ranges->nr = i;
		}
	}
}

/* Of two that overlap, the longer one is dropped: it covers code of the other. */
static void drop_overlaps(struct ranges *ranges)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ranges->nr; i++) {
		struct range *next = &ranges->entries[i];
		struct range *last = nr ? &ranges->entries[nr - 1] : NULL;

		if (!last || last->addr + last->size <= next->addr) {
			ranges->entries[nr++] = *next;
			continue;
		}
		ranges->nr_refused++;
		if (last->size > next->size)
			*last = *next;
	}
	ranges->nr = nr;
}

int ranges_read(const struct file_view *view, const struct fde_table *table, Elf *elf,
		const struct go_table *go, struct ranges *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	err = table->nr ? read_table(view, table, ret) : read_section(view, elf, ret);
	if (go->nr && (!err || err == -ENODATA))
		err = add_go(view, go, ret);
	if (!err && !ret->nr)
		err = -ENODATA;
	if (err) {
		ranges_deinit(ret);
		return err;
	}
	qsort(ret->entries, ret->nr, sizeof(*ret->entries), compare);
	drop_overlaps(ret);
	drop_excess(ret, view->size);
	return 0;
}

void ranges_deinit(struct ranges *ranges)
{
	free(ranges->entries);
	memset(ranges, 0, sizeof(*ranges));
}

struct range *ranges_find(const struct ranges *ranges, uint64_t addr)
{
	size_t low = array_bisect(i, ranges->nr, ranges->entries[i].addr > addr);

	if (!low || addr - ranges->entries[low - 1].addr >= ranges->entries[low - 1].size)
		return NULL;
	return &ranges->entries[low - 1];
}
