// SPDX-License-Identifier: GPL-2.0

#include "binary/code/landing.h"

#include <dwarf.h>
#include <string.h>

/* A reader of the file from @addr on. */
static bool open_reader(const struct file_view *view, uint64_t addr, struct reader *ret)
{
	const uint8_t *at = file_view_at(view, addr, 1);

	*ret = (struct reader){
		.at = at, .start = at, .end = view->bytes + view->size, .addr = addr,
	};
	return at != NULL;
}

bool landing_open(const struct file_view *view, const struct range *range, struct landing *ret)
{
	struct reader *reader = &ret->reader;
	uint8_t encoding;
	uint64_t size;

	if (!range->lsda || !open_reader(view, range->lsda, reader))
		return false;
	ret->start = ret->base = range->addr;
	encoding = (uint8_t)reader_bytes(reader, 1);
	if (encoding != DW_EH_PE_omit)
		ret->base = reader_address(reader, encoding);
	encoding = (uint8_t)reader_bytes(reader, 1); /* of types, which are not read */
	if (encoding != DW_EH_PE_omit)
		reader_unsigned(reader);
	ret->encoding = (uint8_t)reader_bytes(reader, 1);
	size = reader_unsigned(reader);
	if (reader->failed || size > (uint64_t)(reader->end - reader->at))
		return false;
	reader->end = reader->at + size;
	return true;
}

bool landing_next(struct landing *landing, struct landing_pad *ret)
{
	struct reader *reader = &landing->reader;

	while (reader->at < reader->end) {
		uint64_t pad;

		ret->start = landing->start + reader_value(reader, landing->encoding);
		ret->end = ret->start + reader_value(reader, landing->encoding);
		pad = reader_value(reader, landing->encoding);
		reader_unsigned(reader); /* the action there */
		if (reader->failed)
			return false;
		ret->pad = landing->base + pad;
		if (pad && ret->start < ret->end)
			return true;
	}
	return false;
}
