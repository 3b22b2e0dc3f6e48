/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The profile of a program: one SQLite file with the samples of training and the
 * model derived from them.
 *
 * A save writes a new file in the same directory and renames it: after a kill, a
 * full disk or a loss of power, either the old file or the new one is there,
 * complete.  A transaction in place would do this too, but with a journal file,
 * which a copy of the profile to another machine would miss; and all of the file
 * is rewritten anyway.
 *
 * A load trusts nothing in the file: it checks the application id and the schema,
 * SQLite's structure, a digest over all values, and that every index is in
 * range.  Users of the result need no further checks.
 */
#ifndef _USER_STORE_PROFILE_FILE_H
#define _USER_STORE_PROFILE_FILE_H

#include <stdint.h>

#include "data/model.h"
#include "data/samples.h"
#include "data/training.h"

/* Room for one sentence with two paths in it. */
#define PROFILE_WHY_MAX 8704

/*
 * On success the samples and the model are the caller's to deinit, and hashes
 * are set as samples_hash_all() does; the model is empty if none was saved.
 * Else they are empty, and @why has the reason, without a full stop.
 * Returns 0, -ENOENT or another error of open(), -EBADMSG (no profile, or a
 * damaged one), -EPROTONOSUPPORT (of a newer version) or -ENOMEM.
 */
int profile_load(const char *path, struct samples *samples, struct model *model,
		 struct training *training, char why[PROFILE_WHY_MAX]);

/*
 * A hash of the bytes of a profile's file.  The module keeps it with an armed
 * profile, so that readers of alerts can identify the file to take names from.
 * It detects accidents, not attacks; but a profile that other users can write is
 * refused: whoever writes it decides where the program gets probes.  Returns 0;
 * -EPERM if they can; -ENOENT or another error of
 * open() or read(), -EISDIR, -EINVAL (not a regular file), -EFBIG or -ENOMEM,
 * with the reason in @why.
 */
int profile_hash(const char *path, uint64_t *ret, char why[PROFILE_WHY_MAX]);

/* As profile_load(), if the bytes have this hash; -ESTALE if they have another one. */
int profile_load_hashed(const char *path, uint64_t hash, struct samples *samples,
			struct model *model, struct training *training, char why[PROFILE_WHY_MAX]);

/*
 * @model NULL or empty: none yet.  Follows a link at @path, keeps owner and mode of
 * a file that is there.  Returns 0; -EINVAL if they are not sound (an index out
 * of range, no object); else an error of the file system.  On failure the file at @path is unchanged.
 */
int profile_save(const char *path, const struct samples *samples, const struct model *model,
		 const struct training *training, char why[PROFILE_WHY_MAX]);

/*
 * Returns 0 if the profile is of the program @path with @build_id ("" if it has
 * none); else -ESTALE, with both ids in @why.
 */
int profile_is_of(const struct samples *samples, const char *path, const char *build_id,
		  char why[PROFILE_WHY_MAX]);

#endif /* _USER_STORE_PROFILE_FILE_H */
