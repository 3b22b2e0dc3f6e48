/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The profile of a program: one SQLite file that holds what training saw and
 * what was derived from it.
 *
 * A save writes a new file beside the old one and renames it: whatever happens
 * on the way (kill, full disk, loss of power), the old or the new one is there,
 * whole.  A transaction in place would do this too, but only together with a
 * journal file beside it, which a copy of the profile to another machine leaves
 * behind; and all of it is rewritten anyway.
 *
 * A load trusts nothing in the file: it checks who made it and by which schema,
 * SQLite's structure, a digest over all values, and that every index is in
 * range.  Whoever may use the result need not look again.
 */
#ifndef _USER_STORE_PROFILE_FILE_H
#define _USER_STORE_PROFILE_FILE_H

#include "data/model.h"
#include "data/samples.h"
#include "data/training.h"

/* Room for one sentence with two paths in it. */
#define PROFILE_WHY_MAX 8704

/*
 * On success the samples and the model are the caller's to deinit, and hashes
 * are set as samples_hash_all() does; the model is empty if none was saved.
 * Else they are empty, and @why says what is wrong, without a full stop.
 * Returns 0, -ENOENT or another error of open(), -EBADMSG (no profile, or a
 * damaged one), -EPROTONOSUPPORT (of a newer version) or -ENOMEM.
 */
int profile_load(const char *path, struct samples *samples, struct model *model,
		 struct training *training, char why[PROFILE_WHY_MAX]);

/*
 * @model NULL or empty: none yet.  Follows a link at @path, keeps owner and mode of
 * a file that is there.  Returns 0; -EINVAL if they are not sound (an index out
 * of range, no object); -EBUSY if somebody else saves to @path; else an error
 * of the file system.  Whenever it fails, what was at @path is as it was.
 */
int profile_save(const char *path, const struct samples *samples, const struct model *model,
		 const struct training *training, char why[PROFILE_WHY_MAX]);

/*
 * Whether the profile is of the program @path with @build_id ("" if it has
 * none).  Returns 0 or -ESTALE, with both ids in @why.
 */
int profile_is_of(const struct samples *samples, const char *path, const char *build_id,
		  char why[PROFILE_WHY_MAX]);

#endif /* _USER_STORE_PROFILE_FILE_H */
