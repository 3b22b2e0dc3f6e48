/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tables of a profile: the column of each field of each struct.
 */
#ifndef _USER_STORE_SCHEMA_H
#define _USER_STORE_SCHEMA_H

#include "data/model.h"
#include "data/samples.h"
#include "data/training.h"
#include "store/rows.h"

/* Versions of profiles; of older ones some columns are missing, whose fields are then 0. */
enum {
	SCHEMA_VERSION = 8,
	SCHEMA_OLDEST = 6,
};

/* Create the tables.  Returns 0, -ENOMEM or -EIO. */
int schema_create(sqlite3 *db);

/* Returns 0 if there are exactly the tables of that version; -EBADMSG or -ENOMEM. */
int schema_check(sqlite3 *db, uint32_t version);

/* Returns 0, -ENOMEM or -EIO. */
int schema_save(sqlite3 *db, const struct samples *samples, const struct model *model,
		const struct training *training);

/*
 * On success values have the right type and size, and the digest matches;
 * indices are not checked.  Hashes are not set.  The
 * caller must deinit both in any case (0, -EBADMSG, -ENOMEM).
 */
int schema_load(sqlite3 *db, uint32_t version, struct samples *samples, struct model *model,
		struct training *training);

#endif /* _USER_STORE_SCHEMA_H */
