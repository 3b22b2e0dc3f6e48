// SPDX-License-Identifier: GPL-2.0

#include "store/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	VERSION = 1,
	APPLICATION = 0x70677370, /* "pgsp", for file(1) */
	BUSY_MS = 2000, /* a reader has it for a moment */
	/* What goes when it is full: a share of all, and at least one. */
	DROP_SHARE = 64,
	/* Of an alert, beside what varies: the row and its place in the index. */
	ROW_BYTES = 512,
	/* Of the log, once it was taken into the file. */
	LOG_BYTES = 4 << 20,
};

struct spool {
	sqlite3 *db;
	sqlite3_stmt *insert;
	struct spool_bounds bounds;
	struct spool_counts counts;
	uint32_t page_bytes;
	char *path;
};

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE alerts(id INTEGER PRIMARY KEY AUTOINCREMENT, load TEXT NOT NULL, seq INTEGER,"
	" time_ns INTEGER NOT NULL, at_ns INTEGER NOT NULL, kind TEXT NOT NULL, exe TEXT,"
	" build_id TEXT, json TEXT NOT NULL, text TEXT NOT NULL, silenced INTEGER NOT NULL,"
	" messages BLOB);"
	"CREATE UNIQUE INDEX records ON alerts(load, seq);"
	"CREATE TABLE counts(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE next(load TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;";

const char spool_forwards_schema[] =
	"CREATE TABLE IF NOT EXISTS forwards(name TEXT PRIMARY KEY, last INTEGER NOT NULL DEFAULT 0,"
	" dropped_to INTEGER NOT NULL DEFAULT 0, passed INTEGER NOT NULL DEFAULT 0,"
	" refused INTEGER NOT NULL DEFAULT 0, left_out INTEGER NOT NULL DEFAULT 0,"
	" lost INTEGER NOT NULL DEFAULT 0, retries INTEGER NOT NULL DEFAULT 0,"
	" passed_ns INTEGER NOT NULL DEFAULT 0, changed_ns INTEGER NOT NULL DEFAULT 0,"
	" state TEXT NOT NULL DEFAULT '') WITHOUT ROWID;";

static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return -EBADMSG;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	default:
		return -EIO;
	}
}

static int failed(const struct spool *spool, int code, const char *what, char why[SPOOL_WHY_MAX])
{
	int error = errno_of(code);

	snprintf(why, SPOOL_WHY_MAX, "cannot %s %s: %s", what, spool->path,
		 error == -ENOSPC ? strerror(ENOSPC) :
		 spool->db	  ? sqlite3_errmsg(spool->db) :
				    sqlite3_errstr(code));
	return error;
}

static int run(struct spool *spool, const char *sql)
{
	return sqlite3_exec(spool->db, sql, NULL, NULL, NULL);
}

static int __attribute__((format(printf, 2, 3)))
run_format(struct spool *spool, const char *format, ...)
{
	va_list args;
	char *sql;
	int code;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	code = sql ? run(spool, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return code;
}

/* The number that a query has; @otherwise if it has no row. */
static uint64_t number(const struct spool *spool, const char *sql, const char *text,
		       uint64_t otherwise)
{
	sqlite3_stmt *statement;
	uint64_t ret = otherwise;

	if (sqlite3_prepare_v2(spool->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return ret;
	if (text)
		sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW)
		ret = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return ret;
}

static uint64_t count_of(const struct spool *spool, const char *name)
{
	return number(spool, "SELECT value FROM counts WHERE name = ?", name, 0);
}

static void read_counts(struct spool *spool)
{
	spool->counts = (struct spool_counts){
		.alerts = number(spool, "SELECT count(*) FROM alerts", NULL, 0),
		.added = count_of(spool, "added"),
		.dropped = count_of(spool, "dropped"),
		.unsaved = count_of(spool, "unsaved"),
	};
	spool->page_bytes = (uint32_t)number(spool, "PRAGMA page_size", NULL, 4096);
}

/* Pages that the alerts take; others are free for the next ones. */
static uint64_t used_bytes(const struct spool *spool)
{
	return (number(spool, "PRAGMA page_count", NULL, 0) -
		number(spool, "PRAGMA freelist_count", NULL, 0)) *
	       spool->page_bytes;
}

/* Return: SQLITE_OK, SQLITE_NOTADB for something else's file, or another code. */
static int check_or_make(struct spool *spool, bool is_writer)
{
	uint64_t version = number(spool, "PRAGMA user_version", NULL, UINT64_MAX);
	int code;

	if (version == VERSION &&
	    number(spool, "PRAGMA application_id", NULL, 0) == APPLICATION)
		return SQLITE_OK;
	if (version || !is_writer ||
	    number(spool, "SELECT count(*) FROM sqlite_schema", NULL, 1))
		return SQLITE_NOTADB;
	code = run(spool, schema);
	if (code == SQLITE_OK)
		code = run_format(spool, "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
				  APPLICATION, VERSION);
	return code;
}

static int prepare_insert(struct spool *spool)
{
	return sqlite3_prepare_v2(
		spool->db,
		"INSERT OR IGNORE INTO alerts(load, seq, time_ns, at_ns, kind, exe, build_id, json,"
		" text, silenced, messages) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", -1,
		&spool->insert, NULL);
}

static int begin_writing(struct spool *spool)
{
	int code = run_format(spool,
			      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
			      "PRAGMA journal_size_limit=%d; PRAGMA temp_store=MEMORY", LOG_BYTES);

	if (code == SQLITE_OK)
		code = check_or_make(spool, true);
	if (code == SQLITE_OK)
		code = run(spool, spool_forwards_schema);
	return code == SQLITE_OK ? prepare_insert(spool) : code;
}

static int open_db(struct spool *spool, bool is_writer)
{
	int fd = is_writer ? open(spool->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	int code;

	/* Nobody else reads what stacks have in them, whatever the umask is. */
	if (is_writer && fd < 0)
		return -errno;
	if (fd >= 0)
		close(fd);
	code = sqlite3_open_v2(spool->path, &spool->db,
			       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		return code;
	sqlite3_busy_timeout(spool->db, BUSY_MS);
	return is_writer ? begin_writing(spool) : check_or_make(spool, false);
}

int spool_open(const char *path, const struct spool_bounds *bounds, struct spool **ret,
	       char why[SPOOL_WHY_MAX])
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int code;

	*ret = NULL;
	if (!spool || !(spool->path = strdup(path))) {
		free(spool);
		snprintf(why, SPOOL_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	if (bounds)
		spool->bounds = *bounds;
	code = open_db(spool, bounds != NULL);
	if (code == SQLITE_OK) {
		read_counts(spool);
		*ret = spool;
		return 0;
	}
	if (code < 0) {
		snprintf(why, SPOOL_WHY_MAX, "cannot open %s: %s", path, strerror(-code));
	} else {
		code = failed(spool, code, "open", why);
		if (code == -EBADMSG)
			snprintf(why, SPOOL_WHY_MAX, "%s is not a spool, or is damaged", path);
	}
	spool_close(spool);
	return code;
}

void spool_close(struct spool *spool)
{
	if (!spool)
		return;
	sqlite3_finalize(spool->insert);
	sqlite3_close(spool->db);
	free(spool->path);
	free(spool);
}

uint64_t spool_next(struct spool *spool, const char *load)
{
	return number(spool, "SELECT seq FROM next WHERE load = ?", load, 1);
}

/* In a transaction: the oldest go; they are lost for forwarders that have not passed them on. */
static int drop(struct spool *spool, uint64_t nr)
{
	return run_format(spool,
			  "UPDATE forwards SET lost = lost + (SELECT count(*) FROM"
			  "  (SELECT id FROM alerts ORDER BY id LIMIT %lld) WHERE id > last),"
			  " dropped_to = (SELECT max(id) FROM"
			  "  (SELECT id FROM alerts ORDER BY id LIMIT %lld));"
			  "DELETE FROM alerts WHERE id IN"
			  " (SELECT id FROM alerts ORDER BY id LIMIT %lld)",
			  (long long)nr, (long long)nr, (long long)nr);
}

/* In a transaction: the oldest go until there is room for so many bytes more. */
static int make_room(struct spool *spool, uint64_t bytes, struct spool_counts *counts)
{
	while (counts->alerts && (counts->alerts >= spool->bounds.alerts ||
				  used_bytes(spool) + bytes > spool->bounds.bytes)) {
		uint64_t nr = counts->alerts / DROP_SHARE + 1;
		int code = drop(spool, nr);

		if (code != SQLITE_OK)
			return code;
		counts->alerts -= nr;
		counts->dropped += nr;
	}
	return SQLITE_OK;
}

static void bind(sqlite3_stmt *insert, const struct spool_alert *alert)
{
	const char *const texts[] = {
		alert->kind, alert->exe, alert->build_id, alert->json, alert->text,
	};

	sqlite3_bind_text(insert, 1, alert->load, -1, SQLITE_STATIC);
	if (alert->seq)
		sqlite3_bind_int64(insert, 2, (sqlite3_int64)alert->seq);
	sqlite3_bind_int64(insert, 3, (sqlite3_int64)alert->time_ns);
	sqlite3_bind_int64(insert, 4, (sqlite3_int64)alert->at_ns);
	for (int i = 0; i < 5; i++)
		sqlite3_bind_text(insert, 5 + i, texts[i], -1, SQLITE_STATIC);
	sqlite3_bind_int(insert, 10, alert->is_silenced);
	sqlite3_bind_blob(insert, 11, alert->messages, (int)alert->messages_size, SQLITE_STATIC);
}

static int insert_row(struct spool *spool, const struct spool_alert *alert,
		      struct spool_counts *counts)
{
	int code;

	sqlite3_clear_bindings(spool->insert);
	bind(spool->insert, alert);
	code = sqlite3_step(spool->insert);
	sqlite3_reset(spool->insert);
	if (code != SQLITE_DONE)
		return code;
	counts->alerts += (uint64_t)sqlite3_changes(spool->db);
	counts->added += (uint64_t)sqlite3_changes(spool->db);
	return SQLITE_OK;
}

static int want_next(struct spool *spool, const char *load, uint64_t seq)
{
	sqlite3_stmt *statement;
	int code = sqlite3_prepare_v2(spool->db,
				      "INSERT INTO next VALUES(?, ?) ON CONFLICT(load) DO UPDATE"
				      " SET seq = max(seq, excluded.seq)", -1, &statement, NULL);

	if (code != SQLITE_OK)
		return code;
	sqlite3_bind_text(statement, 1, load, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 2, (sqlite3_int64)seq);
	code = sqlite3_step(statement);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int keep_counts(struct spool *spool, const struct spool_alert *alert,
		       const struct spool_counts *counts)
{
	int code = run_format(spool,
			      "REPLACE INTO counts VALUES('added', %lld), ('dropped', %lld),"
			      " ('unsaved', %lld)", (long long)counts->added,
			      (long long)counts->dropped, (long long)counts->unsaved);

	if (code == SQLITE_OK && alert->seq)
		code = want_next(spool, alert->load, alert->seq + 1);
	return code;
}

static uint64_t size_of(const struct spool_alert *alert)
{
	return ROW_BYTES + strlen(alert->json) + strlen(alert->text) + alert->messages_size;
}

int spool_add(struct spool *spool, const struct spool_alert *alert, char why[SPOOL_WHY_MAX])
{
	struct spool_counts counts = spool->counts;
	int code = run(spool, "BEGIN IMMEDIATE");

	if (code == SQLITE_OK)
		code = make_room(spool, size_of(alert), &counts);
	if (code == SQLITE_OK)
		code = insert_row(spool, alert, &counts);
	if (code == SQLITE_OK)
		code = keep_counts(spool, alert, &counts);
	if (code == SQLITE_OK)
		code = run(spool, "COMMIT");
	if (code == SQLITE_OK) {
		spool->counts = counts;
		return 0;
	}
	spool->counts.unsaved++;
	code = failed(spool, code, "write", why);
	if (!sqlite3_get_autocommit(spool->db))
		run(spool, "ROLLBACK");
	return code;
}

void spool_count(const struct spool *spool, struct spool_counts *ret)
{
	*ret = spool->counts;
	ret->bytes = used_bytes(spool);
}

static uint64_t column_u64(sqlite3_stmt *select, int at)
{
	return (uint64_t)sqlite3_column_int64(select, at);
}

void spool_forwards(const struct spool *spool,
		    void (*fn)(const struct spool_forward *forward, void *arg), void *arg)
{
	static const char sql[] =
		"SELECT name, state, passed, refused, left_out, lost, retries, passed_ns, changed_ns,"
		" max(0, ifnull((SELECT max(id) FROM alerts), 0) - max(last, dropped_to))"
		" FROM forwards ORDER BY name";
	sqlite3_stmt *select;

	if (sqlite3_prepare_v2(spool->db, sql, -1, &select, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(select) == SQLITE_ROW) {
		const struct spool_forward forward = {
			.name = (const char *)sqlite3_column_text(select, 0),
			.state = (const char *)sqlite3_column_text(select, 1),
			.passed = column_u64(select, 2),
			.refused = column_u64(select, 3),
			.left_out = column_u64(select, 4),
			.lost = column_u64(select, 5),
			.retries = column_u64(select, 6),
			.passed_ns = column_u64(select, 7),
			.changed_ns = column_u64(select, 8),
			.waiting = column_u64(select, 9),
		};

		fn(&forward, arg);
	}
	sqlite3_finalize(select);
}

/* Copies, as the row goes with the statement. */
struct row {
	struct spool_alert alert;
	char *texts[6];
	void *messages;
	bool has_failed; /* out of memory */
};

static const char *copy_text(struct row *row, sqlite3_stmt *select, int at, int which)
{
	const char *text = (const char *)sqlite3_column_text(select, at);

	row->texts[which] = text ? strdup(text) : NULL;
	row->has_failed |= !row->texts[which] && sqlite3_column_type(select, at) != SQLITE_NULL;
	return row->texts[which];
}

static void copy_row(struct row *row, sqlite3_stmt *select)
{
	struct spool_alert *alert = &row->alert;
	int size = sqlite3_column_bytes(select, 11);

	alert->id = (uint64_t)sqlite3_column_int64(select, 0);
	alert->load = copy_text(row, select, 1, 0);
	alert->seq = (uint64_t)sqlite3_column_int64(select, 2);
	alert->time_ns = (uint64_t)sqlite3_column_int64(select, 3);
	alert->at_ns = (uint64_t)sqlite3_column_int64(select, 4);
	for (int i = 0; i < 5; i++)
		copy_text(row, select, 5 + i, 1 + i);
	alert->kind = row->texts[1];
	alert->exe = row->texts[2];
	alert->build_id = row->texts[3];
	alert->json = row->texts[4];
	alert->text = row->texts[5];
	alert->is_silenced = sqlite3_column_int(select, 10);
	row->messages = size ? malloc((size_t)size) : NULL;
	row->has_failed |= size && !row->messages;
	if (row->messages)
		memcpy(row->messages, sqlite3_column_blob(select, 11), (size_t)size);
	alert->messages = row->messages;
	alert->messages_size = row->messages ? (uint32_t)size : 0;
}

static void clear_row(struct row *row)
{
	for (int i = 0; i < 6; i++)
		free(row->texts[i]);
	free(row->messages);
}

/* The id from which on rows are wanted. */
static uint64_t first_of(const struct spool *spool, uint32_t last)
{
	char *sql = sqlite3_mprintf("SELECT id FROM alerts ORDER BY id DESC LIMIT 1 OFFSET %u",
				    last ? last - 1 : 0);
	uint64_t ret = last && sql ? number(spool, sql, NULL, 0) : 0;

	sqlite3_free(sql);
	return ret;
}

/* The next row.  Returns SQLITE_ROW, SQLITE_DONE or an error. */
static int read_row(sqlite3_stmt *select, uint64_t id, uint64_t since_ns, struct row *row)
{
	int code;

	sqlite3_bind_int64(select, 1, (sqlite3_int64)id);
	sqlite3_bind_int64(select, 2, (sqlite3_int64)since_ns);
	code = sqlite3_step(select);
	if (code == SQLITE_ROW)
		copy_row(row, select);
	/* The log cannot be taken into the file while somebody reads: not for as long as @fn takes. */
	sqlite3_reset(select);
	return code == SQLITE_ROW && row->has_failed ? SQLITE_NOMEM : code;
}

int spool_read(struct spool *spool, uint64_t since_ns, uint32_t last, spool_fn fn, void *arg,
	       char why[SPOOL_WHY_MAX])
{
	uint64_t id = first_of(spool, last);
	sqlite3_stmt *select;
	int code, ret = 0;

	code = sqlite3_prepare_v2(spool->db,
				  "SELECT * FROM alerts WHERE id >= ? AND time_ns >= ?"
				  " ORDER BY id LIMIT 1", -1, &select, NULL);
	if (code != SQLITE_OK)
		return failed(spool, code, "read", why);
	do {
		struct row row = { .alert.id = 0 };

		code = read_row(select, id, since_ns, &row);
		if (code == SQLITE_ROW)
			ret = fn(&row.alert, arg);
		else if (code != SQLITE_DONE)
			ret = failed(spool, code, "read", why);
		id = row.alert.id + 1;
		clear_row(&row);
	} while (!ret && code == SQLITE_ROW);
	sqlite3_finalize(select);
	return ret;
}
