/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hash of the bytes of a profile's file.  The module keeps it with an armed
 * profile, so that readers of alerts can identify the file to take names from.
 * It detects accidents, not attacks.
 */
#ifndef _USER_STORE_PROFILE_HASH_H
#define _USER_STORE_PROFILE_HASH_H

#include <stdint.h>

#include "store/profile-file.h"

/*
 * Returns 0; -ENOENT or another error of open() or read(), -EISDIR, -EINVAL
 * (not a regular file), -EFBIG or -ENOMEM, with the reason in @why.
 */
int profile_hash(const char *path, uint64_t *ret, char why[PROFILE_WHY_MAX]);

/*
 * Load the profile as profile_load() does, if its bytes have this hash.
 * -ESTALE, with the reason in @why, if they have another one.
 */
int profile_load_hashed(const char *path, uint64_t hash, struct samples *samples,
			struct model *model, struct training *training,
			char why[PROFILE_WHY_MAX]);

#endif /* _USER_STORE_PROFILE_HASH_H */
