// SPDX-License-Identifier: GPL-2.0

#include "out/export/proto.h"

#include <errno.h>
#include <stdlib.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void proto_open(struct proto *proto)
{
	*proto = (struct proto){ 0 };
	proto->file = open_memstream(&proto->bytes, &proto->len);
}

int proto_close(struct proto *proto)
{
	FILE *file = proto->file;

	proto->file = NULL;
	return !file || fclose(file) ? -ENOMEM : 0;
}

void proto_free(struct proto *proto)
{
	if (proto->file)
		fclose(proto->file);
	free(proto->bytes);
	*proto = (struct proto){ 0 };
}

static void put_varint(struct proto *proto, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		putc((int)(value & 0x7f) | 0x80, proto->file);
	putc((int)value, proto->file);
}

void proto_u64(struct proto *proto, unsigned int field, uint64_t value)
{
	if (!value || !proto->file)
		return;
	put_varint(proto, field << 3 | WIRE_VARINT);
	put_varint(proto, value);
}

void proto_bytes(struct proto *proto, unsigned int field, const void *bytes, size_t len)
{
	if (!proto->file)
		return;
	put_varint(proto, field << 3 | WIRE_BYTES);
	put_varint(proto, len);
	fwrite(bytes, 1, len, proto->file);
}

int proto_message(struct proto *proto, unsigned int field, struct proto *inner)
{
	int ret = proto_close(inner);

	if (!ret)
		proto_bytes(proto, field, inner->bytes, inner->len);
	proto_free(inner);
	return ret;
}
