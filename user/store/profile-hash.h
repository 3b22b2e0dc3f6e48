/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hash of the bytes of a profile's file: the module keeps it with an armed
 * profile, so that its file can be known again by whoever looks for names.  It
 * tells accidents, not attacks.
 */
#ifndef _USER_STORE_PROFILE_HASH_H
#define _USER_STORE_PROFILE_HASH_H

#include <stdint.h>

#include "store/profile-file.h"

/*
 * Returns 0; -ENOENT or another error of open() or read(), -EISDIR, -EINVAL
 * (not a regular file), -EFBIG or -ENOMEM, told in @why.
 */
int profile_hash(const char *path, uint64_t *ret, char why[PROFILE_WHY_MAX]);

/*
 * Load the profile as profile_load() does, if its bytes have this hash.
 * -ESTALE, told in @why: they have another one.
 */
int profile_load_hashed(const char *path, uint64_t hash, struct samples *samples,
			struct model *model, struct training *training,
			char why[PROFILE_WHY_MAX]);

#endif /* _USER_STORE_PROFILE_HASH_H */
