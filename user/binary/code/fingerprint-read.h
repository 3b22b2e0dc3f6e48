/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes the fingerprints of a file's functions: one more pass over the code, by scan.h, which is
 * short beside what functions_read() takes.
 */
#ifndef _USER_BINARY_CODE_FINGERPRINT_READ_H
#define _USER_BINARY_CODE_FINGERPRINT_READ_H

#include "binary/code/functions.h"
#include "data/fingerprint.h"

/* @functions are those of @object.  Returns 0 or -ENOMEM; fingerprints_deinit() frees @ret. */
int fingerprints_read(const struct object *object, const struct functions *functions,
		      struct fingerprints *ret);

#endif /* _USER_BINARY_CODE_FINGERPRINT_READ_H */
