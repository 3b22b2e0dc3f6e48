// SPDX-License-Identifier: GPL-2.0

#include "store/untrusted-db.h"

#include <errno.h>
#include <string.h>

enum {
	/* Instructions of SQLite's virtual machine. */
	BATCH = 1000,
	/* To read a schema; ours takes 300. */
	SCHEMA_BATCHES = 4,
	/* For each byte of the file; a row takes 5, and has 2 bytes or more a column. */
	INSTRUCTIONS_PER_BYTE = 16,
	/* Bytes of a value, and of a statement; the longest of ours has 400. */
	MAX_VALUE = 64 << 20,
	MAX_STATEMENT = 4096,
};

/* Whatever is not 0 stops the statement. */
static int spend(void *arg)
{
	struct untrusted_db *db = arg;

	if (!db->batches)
		return 1;
	db->batches--;
	return 0;
}

static int authorize(void *unused, int action, const char *what, const char *argument,
		     const char *schema, const char *trigger)
{
	(void)unused, (void)argument, (void)schema, (void)trigger;
	if (action == SQLITE_SELECT || action == SQLITE_READ)
		return SQLITE_OK;
	return action == SQLITE_PRAGMA && !strcmp(what, "quick_check") ? SQLITE_OK : SQLITE_DENY;
}

static void distrust(struct untrusted_db *db)
{
	sqlite3_db_config(db->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(db->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db->db, SQLITE_LIMIT_LENGTH, MAX_VALUE);
	sqlite3_limit(db->db, SQLITE_LIMIT_SQL_LENGTH, MAX_STATEMENT);
	/* Operators such as LIKE are functions, too. */
	sqlite3_limit(db->db, SQLITE_LIMIT_FUNCTION_ARG, 0);
	sqlite3_exec(db->db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
	sqlite3_set_authorizer(db->db, authorize, NULL);
	db->batches = SCHEMA_BATCHES;
	sqlite3_progress_handler(db->db, BATCH, spend, db);
}

int untrusted_db_open(struct untrusted_db *db, uint8_t *bytes, size_t len)
{
	db->db = NULL;
	db->nr_bytes = len;
	if (sqlite3_open_v2(":memory:", &db->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK) {
		sqlite3_free(bytes);
		return -ENOMEM;
	}
	if (sqlite3_deserialize(db->db, "main", bytes, (sqlite3_int64)len, (sqlite3_int64)len,
				SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) !=
	    SQLITE_OK)
		return -EBADMSG;
	/* SQLite has not read a byte of it yet. */
	distrust(db);
	return 0;
}

int untrusted_db_check(struct untrusted_db *db)
{
	sqlite3_stmt *statement = NULL;
	int ret, step;

	db->batches = SCHEMA_BATCHES + db->nr_bytes * INSTRUCTIONS_PER_BYTE / BATCH;
	if (sqlite3_prepare_v2(db->db, "PRAGMA quick_check(1)", -1, &statement, NULL) !=
	    SQLITE_OK)
		return -EBADMSG;
	step = sqlite3_step(statement);
	if (step == SQLITE_NOMEM)
		ret = -ENOMEM;
	else if (step == SQLITE_ROW && sqlite3_column_text(statement, 0) &&
		 !strcmp((const char *)sqlite3_column_text(statement, 0), "ok"))
		ret = 0;
	else
		ret = -EBADMSG;
	sqlite3_finalize(statement);
	return ret;
}

void untrusted_db_close(struct untrusted_db *db)
{
	sqlite3_close(db->db);
}
