// SPDX-License-Identifier: GPL-2.0

#include "binary/stack/fde.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

int file_view_init(struct file_view *view, Elf *elf)
{
	enum { MAX_HEADERS = 1024 }; /* programs have a dozen; each look-up goes through them */
	size_t nr = 0;

	memset(view, 0, sizeof(*view));
	view->bytes = (const uint8_t *)elf_rawfile(elf, &view->size);
	if (!view->bytes || elf_getphdrnum(elf, &nr) || !nr || nr > MAX_HEADERS)
		return -ENOEXEC;
	view->segments = calloc(nr, sizeof(*view->segments));
	if (!view->segments)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		if (phdr.p_offset > view->size || phdr.p_filesz > view->size - phdr.p_offset)
			continue;
		view->segments[view->nr_segments++] = (struct segment){
			.offset = phdr.p_offset,
			.size = phdr.p_filesz,
			.addr = phdr.p_vaddr,
			.executable = phdr.p_flags & PF_X,
		};
	}
	if (view->nr_segments)
		return 0;
	file_view_deinit(view);
	return -ENOEXEC;
}

void file_view_deinit(struct file_view *view)
{
	free(view->segments);
	memset(view, 0, sizeof(*view));
}

const uint8_t *file_view_at(const struct file_view *view, uint64_t addr, size_t size)
{
	for (uint32_t i = 0; i < view->nr_segments; i++) {
		const struct segment *segment = &view->segments[i];
		uint64_t at = addr - segment->addr;

		if (at <= segment->size && size <= segment->size - at)
			return view->bytes + segment->offset + at;
	}
	return NULL;
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t row_start(const struct fde_table *table, uint32_t row)
{
	return table->base + (uint64_t)(int32_t)get32(table->rows + 8ull * row);
}

static uint64_t row_fde(const struct fde_table *table, uint32_t row)
{
	return table->base + (uint64_t)(int32_t)get32(table->rows + 8ull * row + 4);
}

void fde_table_row(const struct fde_table *table, uint32_t row, uint64_t *ret_start,
		   uint64_t *ret_fde)
{
	*ret_start = row_start(table, row);
	*ret_fde = row_fde(table, row);
}

void fde_table_init(struct fde_table *table, const struct file_view *view, Elf *elf)
{
	enum { HEAD = 12, USUAL = DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	size_t nr = 0;

	memset(table, 0, sizeof(*table));
	if (elf_getphdrnum(elf, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		const uint8_t *head;
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		head = file_view_at(view, phdr.p_vaddr, HEAD);
		/* version, encodings of: pointer to .eh_frame, count, table */
		if (!head || head[0] != 1 || (head[1] & 0xf) != DW_EH_PE_sdata4 ||
		    head[2] != DW_EH_PE_udata4 || head[3] != USUAL)
			return;
		table->base = phdr.p_vaddr;
		table->nr = get32(head + 8);
		table->rows = file_view_at(view, phdr.p_vaddr + HEAD, 8ull * table->nr);
		if (!table->rows)
			table->nr = 0;
		return;
	}
}

/* Size in bytes of a pointer of encoding @encoding, 0 if not known. */
static unsigned int pointer_size(uint8_t encoding)
{
	switch (encoding & 0xf) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	default:
		return 0;
	}
}

static const uint8_t *skip_leb128(const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at & 0x80)
		at++;
	return at < end ? at + 1 : end;
}

/* The encoding of the addresses in the FDEs of the CIE at @addr. */
static bool cie_encoding(const struct file_view *view, uint64_t addr, uint8_t *ret)
{
	enum { MAX_AUGMENTATION = 64 };
	const uint8_t *cie = file_view_at(view, addr, 16);
	const uint8_t *at, *end, *augmentation;
	uint32_t size;

	if (!cie)
		return false;
	size = get32(cie);
	if (size < 8 || size > MAX_AUGMENTATION)
		size = MAX_AUGMENTATION;
	while (size > 12 && !file_view_at(view, addr, 4ull + size))
		size--;
	end = cie + 4 + size;
	augmentation = cie + 9;
	at = memchr(augmentation, 0, (size_t)(end - augmentation));
	*ret = DW_EH_PE_absptr;
	if (!at || augmentation[0] != 'z')
		return at != NULL;
	at++;
	at = skip_leb128(at, end); /* code alignment */
	at = skip_leb128(at, end); /* data alignment */
	at = cie[8] == 1 ? at + 1 : skip_leb128(at, end); /* return address register */
	at = skip_leb128(at, end); /* size of what the letters stand for */
	for (const uint8_t *letter = augmentation + 1; *letter && at < end; letter++) {
		if (*letter == 'R') {
			*ret = *at;
			return true;
		} else if (*letter == 'L') {
			at++;
		} else if (*letter == 'P') {
			at += 1 + pointer_size(*at);
		} else if (*letter != 'S' && *letter != 'B') {
			return false;
		}
	}
	return true;
}

/* How many bytes of code the FDE at @addr describes, 0 if it is damaged. */
static uint64_t fde_range(const struct file_view *view, uint64_t addr)
{
	const uint8_t *fde = file_view_at(view, addr, 8);
	uint8_t encoding;
	unsigned int size;
	uint64_t range = 0;

	if (!fde || get32(fde) == UINT32_MAX || !get32(fde + 4))
		return 0;
	if (!cie_encoding(view, addr + 4 - get32(fde + 4), &encoding))
		return 0;
	size = pointer_size(encoding);
	if (!size || !file_view_at(view, addr, 8 + 2 * size))
		return 0;
	memcpy(&range, fde + 8 + size, size);
	return range;
}

bool fde_find(const struct fde_table *table, const struct file_view *view, uint64_t addr,
	      uint64_t *ret_start, uint64_t *ret_end)
{
	uint32_t low = 0, high = table->nr;
	uint64_t start, range;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (row_start(table, mid) <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	start = row_start(table, low - 1);
	range = fde_range(view, row_fde(table, low - 1));
	if (addr - start >= range)
		return false;
	*ret_start = start;
	*ret_end = start + range;
	return true;
}
