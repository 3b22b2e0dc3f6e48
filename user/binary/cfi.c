// SPDX-License-Identifier: GPL-2.0

#include "cfi.h"

#include <dwarf.h>
#include <string.h>

/* The bytes that are left; a read beyond the end makes it fail. */
struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static uint64_t read_bytes(struct reader *reader, unsigned int size)
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

static void skip_bytes(struct reader *reader, uint64_t size)
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
		byte = read_bytes(reader, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !reader->failed);
	*ret_bits = shift;
	return value;
}

static uint64_t read_unsigned(struct reader *reader)
{
	unsigned int bits;

	return read_leb128(reader, &bits);
}

static int64_t read_signed(struct reader *reader)
{
	unsigned int bits;
	uint64_t value = read_leb128(reader, &bits);

	if (bits < 64 && value >> (bits - 1) & 1)
		value |= -1ull << bits;
	return (int64_t)value;
}

/* How many bytes a value of @encoding takes; 0: none that is known here. */
static unsigned int value_size(uint8_t encoding)
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

static uint64_t read_value(struct reader *reader, uint8_t encoding)
{
	unsigned int size = value_size(encoding);
	uint64_t value = read_bytes(reader, size);

	reader->failed = reader->failed || !size;
	if (encoding & DW_EH_PE_signed && size && size < 8 && value >> (8 * size - 1) & 1)
		value |= -1ull << 8 * size;
	return value;
}

/* The entry at @addr without its length; and the address of what follows that. */
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
	*ret = (struct reader){ at + LENGTH_SIZE, at + LENGTH_SIZE + size, false };
	return true;
}

static void read_augmentation(struct reader *reader, const char *letters, struct cfi_common *ret)
{
	uint64_t size = read_unsigned(reader);
	struct reader inner = *reader;

	skip_bytes(reader, size);
	inner.end = reader->at;
	for (; *letters && !reader->failed; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			ret->encoding = (uint8_t)read_bytes(&inner, 1);
			break;
		case 'L':
			read_bytes(&inner, 1);
			break;
		case 'P':
			encoding = (uint8_t)read_bytes(&inner, 1);
			skip_bytes(&inner, value_size(encoding));
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

static bool read_common(const struct file_view *view, uint64_t addr, struct cfi_common *ret)
{
	struct reader reader;
	const char *letters;
	uint64_t version;

	memset(ret, 0, sizeof(*ret));
	if (!open_entry(view, addr, &reader) || read_bytes(&reader, 4))
		return false;
	version = read_bytes(&reader, 1);
	letters = (const char *)reader.at;
	if ((version != 1 && version != 3) ||
	    !memchr(letters, '\0', (size_t)(reader.end - reader.at)))
		return false;
	reader.at += strlen(letters) + 1;
	read_unsigned(&reader); /* the unit of code addresses */
	ret->data_align = read_signed(&reader);
	if (version == 1)
		read_bytes(&reader, 1);
	else
		read_unsigned(&reader); /* the return address's register */
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

/* Carry out instructions up to the first that is for a later address. */
static void run(struct reader *reader, const struct cfi_common *common, struct cfi_entry *entry)
{
	while (reader->at < reader->end && !reader->failed) {
		uint8_t op = (uint8_t)read_bytes(reader, 1);

		switch (op & 0xc0 ? op & 0xc0 : op) {
		case DW_CFA_advance_loc: case DW_CFA_advance_loc1: case DW_CFA_advance_loc2:
		case DW_CFA_advance_loc4: case DW_CFA_set_loc:
			return;
		case DW_CFA_def_cfa:
			entry->cfa_reg = (uint8_t)read_unsigned(reader);
			entry->cfa_offset = read_unsigned(reader);
			entry->cfa_is_expr = false;
			break;
		case DW_CFA_def_cfa_sf:
			entry->cfa_reg = (uint8_t)read_unsigned(reader);
			entry->cfa_offset = (uint64_t)(read_signed(reader) * common->data_align);
			entry->cfa_is_expr = false;
			break;
		case DW_CFA_def_cfa_register:
			entry->cfa_reg = (uint8_t)read_unsigned(reader);
			break;
		case DW_CFA_def_cfa_offset:
			entry->cfa_offset = read_unsigned(reader);
			break;
		case DW_CFA_def_cfa_offset_sf:
			entry->cfa_offset = (uint64_t)(read_signed(reader) * common->data_align);
			break;
		case DW_CFA_def_cfa_expression:
			skip_bytes(reader, read_unsigned(reader));
			entry->cfa_is_expr = true;
			break;
		case DW_CFA_expression: case DW_CFA_val_expression:
			read_unsigned(reader);
			skip_bytes(reader, read_unsigned(reader));
			break;
		case DW_CFA_offset_extended: case DW_CFA_register: case DW_CFA_val_offset:
		case DW_CFA_offset_extended_sf: case DW_CFA_val_offset_sf:
		case DW_CFA_GNU_negative_offset_extended:
			read_unsigned(reader);
			read_unsigned(reader);
			break;
		case DW_CFA_offset: case DW_CFA_restore_extended: case DW_CFA_undefined:
		case DW_CFA_same_value: case DW_CFA_GNU_args_size:
			read_unsigned(reader);
			break;
		case DW_CFA_nop: case DW_CFA_restore: case DW_CFA_remember_state:
			break;
		default: /* also restore_state, which cannot be the first row's */
			reader->failed = true;
		}
	}
}

static bool read_entry(struct reader *reader, const struct cfi_common *common, uint64_t at,
		       struct cfi_entry *ret)
{
	struct reader first = { common->at, common->end, false };
	uint64_t start = read_value(reader, common->encoding);

	switch (common->encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		start += at;
		break;
	default:
		return false;
	}
	*ret = (struct cfi_entry){
		.start = start,
		.size = read_value(reader, common->encoding & 0x7),
		.is_signal = common->is_signal,
		.cfa_is_expr = true, /* until it is defined */
	};
	if (common->has_augmentation)
		skip_bytes(reader, read_unsigned(reader));
	run(&first, common, ret);
	run(reader, common, ret);
	return ret->size && !first.failed && !reader->failed &&
	       !(common->encoding & DW_EH_PE_indirect);
}

bool cfi_read(const struct file_view *view, uint64_t addr, struct cfi_common *common,
	      struct cfi_entry *ret)
{
	struct reader reader;
	uint64_t back, cie;

	if (!open_entry(view, addr, &reader))
		return false;
	back = read_bytes(&reader, 4);
	cie = addr + 4 - back;
	if (!back || reader.failed)
		return false;
	if (common->addr != cie && !read_common(view, cie, common)) {
		common->addr = 0;
		return false;
	}
	return read_entry(&reader, common, addr + 8, ret);
}
