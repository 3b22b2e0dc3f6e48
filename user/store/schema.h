/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tables of a profile: which field of which struct is which column.
 */
#ifndef _USER_STORE_SCHEMA_H
#define _USER_STORE_SCHEMA_H

#include "data/model.h"
#include "data/samples.h"
#include "data/training.h"
#include "store/rows.h"

/* Create the tables, which are SQLite's to keep.  Returns 0, -ENOMEM or -EIO. */
int schema_create(sqlite3 *db);

/* Whether there are exactly these tables.  Returns 0, -EBADMSG or -ENOMEM. */
int schema_check(sqlite3 *db);

/* Returns 0, -ENOMEM or -EIO. */
int schema_save(sqlite3 *db, const struct samples *samples, const struct model *model,
		const struct training *training);

/*
 * Values have the right type and size then, and the digest holds; whether
 * indices are in range is not looked at.  Hashes are not set.  Whatever it
 * returns (0, -EBADMSG, -ENOMEM), both must be deinited.
 */
int schema_load(sqlite3 *db, struct samples *samples, struct model *model,
		struct training *training);

#endif /* _USER_STORE_SCHEMA_H */
