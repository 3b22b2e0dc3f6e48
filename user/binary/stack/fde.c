// SPDX-License-Identifier: GPL-2.0

#include "binary/stack/fde.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int file_view_init(struct file_view *view, Elf *elf)
{
	enum { MAX_HEADERS = 1024 }; /* programs have a dozen; each look-up scans them */
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

bool file_view_header(Elf *elf, uint32_t type, GElf_Phdr *ret)
{
	size_t nr = 0;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, ret) && ret->p_type == type)
			return true;
	return false;
}

bool file_view_section(Elf *elf, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *its;

		if (!gelf_getshdr(scn, ret))
			continue;
		its = elf_strptr(elf, strings, ret->sh_name);
		if (its && !strcmp(its, name) && ret->sh_type != SHT_NOBITS)
			return true;
	}
	return false;
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

bool file_view_offset(const struct file_view *view, uint64_t addr, uint64_t size, uint64_t *ret)
{
	for (uint32_t i = 0; i < view->nr_segments; i++) {
		const struct segment *segment = &view->segments[i];
		uint64_t at = addr - segment->addr;

		if (!segment->executable || at >= segment->size || size > segment->size - at)
			continue;
		*ret = segment->offset + at;
		return true;
	}
	return false;
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

void fde_table_row(const struct fde_table *table, uint32_t row, uint64_t *ret_start,
		   uint64_t *ret_fde)
{
	*ret_start = row_start(table, row);
	*ret_fde = table->base + (uint64_t)(int32_t)get32(table->rows + 8ull * row + 4);
}

void fde_table_init(struct fde_table *table, const struct file_view *view, Elf *elf)
{
	enum { HEAD = 12, USUAL = DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	const uint8_t *head;
	GElf_Phdr phdr;

	memset(table, 0, sizeof(*table));
	if (!file_view_header(elf, PT_GNU_EH_FRAME, &phdr))
		return;
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
}

bool fde_table_find(const struct fde_table *table, uint64_t addr, uint64_t *ret_start,
		    uint64_t *ret_fde)
{
	uint32_t row = (uint32_t)array_bisect(i, table->nr, row_start(table, (uint32_t)i) > addr);

	if (!row)
		return false;
	fde_table_row(table, row - 1, ret_start, ret_fde);
	return true;
}
