// SPDX-License-Identifier: GPL-2.0

#include "binary/stack/cfi.h"

#include <dwarf.h>
#include <string.h>

#include "binary/file/reader.h"

/* A reader of the entry at @addr, behind its length field. */
static bool open_entry(const struct file_view *view, uint64_t addr, struct reader *ret)
{
	enum { LENGTH_SIZE = 4, WIDE = 0xfffffff0 };
	const uint8_t *at = file_view_at(view, addr, LENGTH_SIZE);
	uint32_t size;

	if (!at)
		return false;
	memcpy(&size, at, sizeof(size));
	if (!size || size >= WIDE || !file_view_at(view, addr, (uint64_t)LENGTH_SIZE + size))
		return false;
	*ret = (struct reader){
		.at = at + LENGTH_SIZE,
		.end = at + LENGTH_SIZE + size,
		.addr = addr + LENGTH_SIZE,
		.start = at + LENGTH_SIZE,
	};
	return true;
}

static void read_augmentation(struct reader *reader, const char *letters, struct cfi_common *ret)
{
	uint64_t size = reader_unsigned(reader);
	struct reader inner = *reader;

	reader_skip(reader, size);
	inner.end = reader->at;
	for (; *letters && !reader->failed; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			ret->encoding = (uint8_t)reader_bytes(&inner, 1);
			break;
		case 'L':
			ret->lsda_encoding = (uint8_t)reader_bytes(&inner, 1);
			break;
		case 'P':
			encoding = (uint8_t)reader_bytes(&inner, 1);
			reader_skip(&inner, reader_value_size(encoding));
			break;
		case 'S':
			ret->is_signal = true;
			break;
		case 'B':
			break;
		default:
			reader->failed = true;
		}
		reader->failed = reader->failed || inner.failed;
	}
}

/* Returns false if the string does not end within @ret. */
static bool read_letters(struct reader *reader, char ret[], unsigned int size)
{
	for (unsigned int i = 0; i < size && !reader->failed; i++) {
		ret[i] = (char)reader_bytes(reader, 1);
		if (!ret[i])
			return true;
	}
	return false;
}

static bool read_common(const struct file_view *view, uint64_t addr, struct cfi_common *ret)
{
	char letters[8]; /* "zPLRSB" has all */
	struct reader reader;
	uint64_t version;

	memset(ret, 0, sizeof(*ret));
	ret->lsda_encoding = DW_EH_PE_omit;
	if (!open_entry(view, addr, &reader) || reader_bytes(&reader, 4))
		return false;
	version = reader_bytes(&reader, 1);
	if ((version != 1 && version != 3) || !read_letters(&reader, letters, sizeof(letters)))
		return false;
	reader_unsigned(&reader); /* the unit of code addresses */
	ret->data_align = reader_signed(&reader);
	if (version == 1)
		reader_bytes(&reader, 1);
	else
		reader_unsigned(&reader); /* the return address's register */
	ret->has_augmentation = letters[0] == 'z';
	if (ret->has_augmentation)
		read_augmentation(&reader, letters + 1, ret);
	else if (letters[0])
		return false;
	ret->at = reader.at;
	ret->end = reader.end;
	ret->addr = addr;
	return !reader.failed;
}

/* An offset in units of the CIE; both factors are the file's, and may be any. */
static uint64_t factored(struct reader *reader, const struct cfi_common *common)
{
	return (uint64_t)reader_signed(reader) * (uint64_t)common->data_align;
}

/* Carry out instructions up to the first that is for a later address. */
static void run(struct reader *reader, const struct cfi_common *common, struct cfi_entry *entry)
{
	while (reader->at < reader->end && !reader->failed) {
		uint8_t op = (uint8_t)reader_bytes(reader, 1);

		switch (op & 0xc0 ? op & 0xc0 : op) {
		case DW_CFA_advance_loc: case DW_CFA_advance_loc1: case DW_CFA_advance_loc2:
		case DW_CFA_advance_loc4: case DW_CFA_set_loc:
			return;
		case DW_CFA_def_cfa:
			entry->cfa_reg = (uint8_t)reader_unsigned(reader);
			entry->cfa_offset = reader_unsigned(reader);
			entry->cfa_is_expr = false;
			break;
		case DW_CFA_def_cfa_sf:
			entry->cfa_reg = (uint8_t)reader_unsigned(reader);
			entry->cfa_offset = factored(reader, common);
			entry->cfa_is_expr = false;
			break;
		case DW_CFA_def_cfa_register:
			entry->cfa_reg = (uint8_t)reader_unsigned(reader);
			break;
		case DW_CFA_def_cfa_offset:
			entry->cfa_offset = reader_unsigned(reader);
			break;
		case DW_CFA_def_cfa_offset_sf:
			entry->cfa_offset = factored(reader, common);
			break;
		case DW_CFA_def_cfa_expression:
			reader_skip(reader, reader_unsigned(reader));
			entry->cfa_is_expr = true;
			break;
		case DW_CFA_expression: case DW_CFA_val_expression:
			reader_unsigned(reader);
			reader_skip(reader, reader_unsigned(reader));
			break;
		case DW_CFA_offset_extended: case DW_CFA_register: case DW_CFA_val_offset:
		case DW_CFA_offset_extended_sf: case DW_CFA_val_offset_sf:
		case DW_CFA_GNU_negative_offset_extended:
			reader_unsigned(reader);
			reader_unsigned(reader);
			break;
		case DW_CFA_offset: case DW_CFA_restore_extended: case DW_CFA_undefined:
		case DW_CFA_same_value: case DW_CFA_GNU_args_size:
			reader_unsigned(reader);
			break;
		case DW_CFA_nop: case DW_CFA_restore: case DW_CFA_remember_state:
			break;
		default: /* also restore_state, which cannot be the first row's */
			reader->failed = true;
		}
	}
}

/* The augmentation data, between the range and the instructions. */
static void read_entry_augmentation(struct reader *reader, const struct cfi_common *common,
				    struct cfi_entry *ret)
{
	uint64_t size = reader_unsigned(reader);
	struct reader inner = *reader;

	reader_skip(reader, size);
	inner.end = reader->at;
	if (reader->failed || common->lsda_encoding == DW_EH_PE_omit)
		return;
	ret->lsda = reader_address(&inner, common->lsda_encoding);
	if (inner.failed)
		ret->lsda = 0;
}

/* Open the FDE at @addr, and read its CIE and the range of its code. */
static bool open_fde(const struct file_view *view, uint64_t addr, struct cfi_common *common,
		     struct cfi_entry *ret, struct reader *reader)
{
	uint64_t back, cie;

	if (!open_entry(view, addr, reader))
		return false;
	back = reader_bytes(reader, 4);
	cie = addr + 4 - back;
	if (!back || reader->failed)
		return false;
	if (common->addr != cie && !read_common(view, cie, common)) {
		common->addr = 0;
		return false;
	}
	*ret = (struct cfi_entry){
		.is_signal = common->is_signal,
		.cfa_is_expr = true, /* until it is defined */
	};
	ret->start = reader_address(reader, common->encoding);
	ret->size = reader_value(reader, common->encoding & 0x7);
	return ret->size && !reader->failed;
}

bool cfi_read(const struct file_view *view, uint64_t addr, struct cfi_common *common,
	      struct cfi_entry *ret)
{
	struct reader reader, first;

	if (!open_fde(view, addr, common, ret, &reader))
		return false;
	if (common->has_augmentation)
		read_entry_augmentation(&reader, common, ret);
	first = (struct reader){ .at = common->at, .end = common->end };
	run(&first, common, ret);
	run(&reader, common, ret);
	return !first.failed && !reader.failed;
}

bool cfi_find(const struct fde_table *table, const struct file_view *view, uint64_t addr,
	      uint64_t *ret_start, uint64_t *ret_end)
{
	struct cfi_common common = { .addr = 0 };
	struct cfi_entry entry;
	struct reader reader;
	uint64_t start, fde;

	if (!fde_table_find(table, addr, &start, &fde) ||
	    !open_fde(view, fde, &common, &entry, &reader) || addr - start >= entry.size)
		return false;
	*ret_start = start;
	*ret_end = start + entry.size;
	return true;
}
