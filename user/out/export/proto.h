/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A message of protocol buffers that is being made: fields by their numbers, one behind the
 * other, as https://protobuf.dev/programming-guides/encoding/ has them.
 */
#ifndef _USER_OUT_EXPORT_PROTO_H
#define _USER_OUT_EXPORT_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct proto {
	FILE *file; /* NULL without memory */
	char *bytes;
	size_t len; /* both only when it is closed */
};

void proto_open(struct proto *proto);
/* Returns 0 or -ENOMEM; proto_free() in any case. */
int proto_close(struct proto *proto);
void proto_free(struct proto *proto);

/* 0 is left out, as it means the same. */
void proto_u64(struct proto *proto, unsigned int field, uint64_t value);
void proto_bytes(struct proto *proto, unsigned int field, const void *bytes, size_t len);

/* Close @inner, add it and free it.  Returns 0 or -ENOMEM. */
int proto_message(struct proto *proto, unsigned int field, struct proto *inner);

#endif /* _USER_OUT_EXPORT_PROTO_H */
