/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A SQLite database in memory whose bytes somebody else wrote.
 *
 * SQLite runs code of the file: CHECK constraints when it checks the structure,
 * generated columns when it reads statistics, triggers, views.  So functions,
 * the only code that takes long, do not compile here at all; the schema is
 * compared with ours before anything else is read; only tables may be read; and
 * the work is bounded by the size of the file.
 */
#ifndef _USER_STORE_UNTRUSTED_DB_H
#define _USER_STORE_UNTRUSTED_DB_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct untrusted_db {
	sqlite3 *db;
	/* private: */
	size_t nr_bytes;
	uint64_t batches; /* how much work SQLite may still do */
};

/*
 * Open the @len bytes of a file, which are of sqlite3_malloc64() and are freed
 * by untrusted_db_close(), or by this if it fails.  @db stays where it is until
 * then.  Returns 0, -EBADMSG or -ENOMEM; untrusted_db_close() in any case.
 */
int untrusted_db_open(struct untrusted_db *db, uint8_t *bytes, size_t len);

/*
 * Check SQLite's structure.  Constraints run now: call it when the schema is
 * known to be ours.  Returns 0, -EBADMSG or -ENOMEM.
 */
int untrusted_db_check(struct untrusted_db *db);

void untrusted_db_close(struct untrusted_db *db);

#endif /* _USER_STORE_UNTRUSTED_DB_H */
