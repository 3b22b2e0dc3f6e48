// SPDX-License-Identifier: GPL-2.0

#include "store/spool-cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/time.h"

enum { BUSY_MS = 2000 };

struct spool_cursor {
	sqlite3 *db;
	sqlite3_stmt *select;
	char *path;
	char *name;
	int lock;
};

static int failed(const struct spool_cursor *cursor, const char *what, char why[SPOOL_WHY_MAX])
{
	int code = cursor->db ? sqlite3_errcode(cursor->db) & 0xff : SQLITE_NOMEM;

	snprintf(why, SPOOL_WHY_MAX, "cannot %s %s: %s", what, cursor->path,
		 cursor->db ? sqlite3_errmsg(cursor->db) : "out of memory");
	switch (code) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return -EBADMSG;
	}
	return -EIO;
}

/* Of two forwarders by one cursor each would pass on all. */
static int take_lock(struct spool_cursor *cursor, char why[SPOOL_WHY_MAX])
{
	char *path;

	if (asprintf(&path, "%s-%s.lock", cursor->path, cursor->name) < 0)
		return -ENOMEM;
	cursor->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (cursor->lock < 0) {
		snprintf(why, SPOOL_WHY_MAX, "cannot open %s: %s", path, strerror(errno));
		free(path);
		return -EIO;
	}
	free(path);
	if (!flock(cursor->lock, LOCK_EX | LOCK_NB))
		return 0;
	snprintf(why, SPOOL_WHY_MAX, "another process passes on to %s what is in %s",
		 cursor->name, cursor->path);
	return -EALREADY;
}

/* Run one statement with up to three numbers, and a text, and the cursor's name at last. */
static int change(struct spool_cursor *cursor, const char *sql, const char *text,
		  const uint64_t *numbers, int nr)
{
	sqlite3_stmt *statement;
	int code = sqlite3_prepare_v2(cursor->db, sql, -1, &statement, NULL);

	if (code != SQLITE_OK)
		return code;
	sqlite3_bind_text(statement, 1, cursor->name, -1, SQLITE_STATIC);
	for (int i = 0; i < nr; i++)
		sqlite3_bind_int64(statement, 2 + i, (sqlite3_int64)numbers[i]);
	if (text)
		sqlite3_bind_text(statement, 2 + nr, text, -1, SQLITE_STATIC);
	code = sqlite3_step(statement);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Who has the spool takes its log into the file, which may wait for the disk. */
static int prepare(struct spool_cursor *cursor)
{
	int code = sqlite3_open_v2(cursor->path, &cursor->db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_busy_timeout(cursor->db, BUSY_MS);
	if (code == SQLITE_OK)
		code = sqlite3_exec(cursor->db, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0",
				    NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(cursor->db, spool_forwards_schema, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = change(cursor, "INSERT OR IGNORE INTO forwards(name) VALUES(?)", NULL, NULL, 0);
	if (code != SQLITE_OK)
		return code;
	return sqlite3_prepare_v2(cursor->db,
				  "SELECT id, load, ifnull(seq, 0), time_ns, kind, exe, build_id, json,"
				  " text, silenced, iif(json_valid(json), json_extract(json, '$.key'),"
				  " NULL) FROM alerts WHERE id >"
				  " (SELECT last FROM forwards WHERE name = ?) ORDER BY id LIMIT ?",
				  -1, &cursor->select, NULL);
}

static int open_cursor(struct spool_cursor *cursor, const char *path, const char *name,
		       char why[SPOOL_WHY_MAX])
{
	struct spool *spool;
	int error;

	cursor->path = strdup(path);
	cursor->name = strdup(name);
	if (!cursor->path || !cursor->name) {
		snprintf(why, SPOOL_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	/* Whether it is one. */
	error = spool_open(path, NULL, &spool, why);
	if (error)
		return error;
	spool_close(spool);
	error = take_lock(cursor, why);
	if (error)
		return error;
	return prepare(cursor) == SQLITE_OK ? 0 : failed(cursor, "open", why);
}

int spool_cursor_open(const char *path, const char *name, struct spool_cursor **ret,
		      char why[SPOOL_WHY_MAX])
{
	struct spool_cursor *cursor = calloc(1, sizeof(*cursor));
	int error;

	*ret = NULL;
	if (!cursor) {
		snprintf(why, SPOOL_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	cursor->lock = -1;
	error = open_cursor(cursor, path, name, why);
	if (error)
		spool_cursor_close(cursor);
	else
		*ret = cursor;
	return error;
}

void spool_cursor_close(struct spool_cursor *cursor)
{
	if (!cursor)
		return;
	sqlite3_finalize(cursor->select);
	sqlite3_close(cursor->db);
	if (cursor->lock >= 0)
		close(cursor->lock);
	free(cursor->path);
	free(cursor->name);
	free(cursor);
}

/* Of the SELECT: load, kind, exe, build_id, json, text, key. */
enum { NR_TEXTS = 7 };

static const int text_columns[NR_TEXTS] = { 1, 4, 5, 6, 7, 8, 10 };

/* All texts of the row, one behind the other, in memory of their own. */
static size_t copy_texts(sqlite3_stmt *select, const char *to[NR_TEXTS], char **ret)
{
	size_t size = 0, at = 0;

	for (int i = 0; i < NR_TEXTS; i++)
		size += (size_t)sqlite3_column_bytes(select, text_columns[i]) + 1;
	*ret = malloc(size);
	for (int i = 0; *ret && i < NR_TEXTS; i++) {
		const void *text = sqlite3_column_text(select, text_columns[i]);
		size_t len = (size_t)sqlite3_column_bytes(select, text_columns[i]);

		to[i] = text ? *ret + at : NULL;
		if (text)
			memcpy(*ret + at, text, len);
		at += len;
		(*ret)[at++] = '\0';
	}
	return size;
}

static size_t add_row(sqlite3_stmt *select, struct spool_batch *batch)
{
	struct spool_alert *alert = &batch->alerts[batch->nr];
	const char *texts[NR_TEXTS];
	size_t size = copy_texts(select, texts, &batch->texts[batch->nr]);

	if (!batch->texts[batch->nr])
		return 0;
	*alert = (struct spool_alert){
		.id = (uint64_t)sqlite3_column_int64(select, 0),
		.load = texts[0],
		.seq = (uint64_t)sqlite3_column_int64(select, 2),
		.time_ns = (uint64_t)sqlite3_column_int64(select, 3),
		.kind = texts[1],
		.exe = texts[2],
		.build_id = texts[3],
		.json = texts[4],
		.text = texts[5],
		.key = texts[6],
		.is_silenced = sqlite3_column_int(select, 9),
	};
	batch->nr++;
	return size;
}

int spool_cursor_read(struct spool_cursor *cursor, struct spool_batch *batch,
		      char why[SPOOL_WHY_MAX])
{
	size_t bytes = 0, added = 1;
	int code = SQLITE_DONE;

	batch->nr = 0;
	sqlite3_bind_text(cursor->select, 1, cursor->name, -1, SQLITE_STATIC);
	sqlite3_bind_int(cursor->select, 2, SPOOL_BATCH_ALERTS);
	while (added && batch->nr < SPOOL_BATCH_ALERTS && bytes < SPOOL_BATCH_BYTES &&
	       (code = sqlite3_step(cursor->select)) == SQLITE_ROW) {
		added = add_row(cursor->select, batch);
		bytes += added;
	}
	code = code == SQLITE_ROW || code == SQLITE_DONE ? 0 : failed(cursor, "read", why);
	sqlite3_reset(cursor->select);
	if (!added && !batch->nr) {
		snprintf(why, SPOOL_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	return code;
}

void spool_batch_clear(struct spool_batch *batch)
{
	for (uint32_t i = 0; i < batch->nr; i++)
		free(batch->texts[i]);
	batch->nr = 0;
}

int spool_cursor_advance(struct spool_cursor *cursor, const struct spool_batch *batch, uint32_t nr,
			 uint32_t nr_refused, uint32_t nr_left_out, char why[SPOOL_WHY_MAX])
{
	/* Those among them that were dropped meanwhile were counted as lost, which they are not. */
	static const char sql[] =
		"UPDATE forwards SET lost = lost -"
		" (SELECT count(*) FROM json_each(?8) WHERE value <= dropped_to),"
		" last = max(last, ?2), passed = passed + ?3, refused = refused + ?4,"
		" left_out = left_out + ?5, passed_ns = ?6, changed_ns = ?7 WHERE name = ?1";
	char ids[SPOOL_BATCH_ALERTS * 21 + 3] = "[";
	size_t len = 1;
	const uint64_t now_ns = time_wall_ns();

	if (!nr)
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		len += (size_t)snprintf(ids + len, sizeof(ids) - len, "%s%llu", i ? "," : "",
					(unsigned long long)batch->alerts[i].id);
	snprintf(ids + len, sizeof(ids) - len, "]");
	const uint64_t numbers[] = {
		batch->alerts[nr - 1].id, nr - nr_refused - nr_left_out, nr_refused, nr_left_out,
		batch->alerts[nr - 1].time_ns, now_ns,
	};

	return change(cursor, sql, ids, numbers, 6) == SQLITE_OK ? 0 : failed(cursor, "write", why);
}

int spool_cursor_say(struct spool_cursor *cursor, const char *state, bool is_retry)
{
	const uint64_t numbers[] = { is_retry, time_wall_ns() };
	char why[SPOOL_WHY_MAX];

	return change(cursor,
		      "UPDATE forwards SET retries = retries + ?2, changed_ns = ?3, state = ?4"
		      " WHERE name = ?1", state, numbers, 2) == SQLITE_OK ?
		       0 : failed(cursor, "write", why);
}
