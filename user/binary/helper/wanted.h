/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers from a helper, which may ask for files with symbols before.
 */
#ifndef _USER_BINARY_HELPER_WANTED_H
#define _USER_BINARY_HELPER_WANTED_H

#include <stddef.h>
#include <stdint.h>

#include "binary/helper/helper.h"

/*
 * Receive one message, of @kind and of @size bytes, about the file at @path; @size is at
 * least that of struct wire_wanted.  Returns 0, -EIO or -EINTR, as helper_receive().
 */
int wanted_receive(struct helper *helper, const char *path, uint32_t kind, void *ret, size_t size);

/* The same for a message of up to @size bytes; returns how many it has. */
int wanted_receive_some(struct helper *helper, const char *path, uint32_t kind, void *ret,
			size_t size);

#endif /* _USER_BINARY_HELPER_WANTED_H */
