// SPDX-License-Identifier: GPL-2.0

#include "store/profile-file.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/hash-index.h"
#include "base/long-step.h"
#include "data/samples.h"
#include "store/file.h"
#include "store/profile-check.h"
#include "store/schema.h"
#include "store/untrusted-db.h"

/* The largest file. */
#define PROFILE_MAX_BYTES (UINT64_C(1) << 30)

enum {
	APPLICATION_ID = 0x50475046, /* "PGPF" */
	/* SQLite's file header, numbers big-endian (sqlite.org/fileformat2.html). */
	HEADER_SIZE = 100,
	HEADER_PAGE_SIZE = 16,
	HEADER_NR_PAGES = 28,
	HEADER_VERSION = 60,
	HEADER_APPLICATION = 68,
};

_Static_assert(PROFILE_WHY_MAX == FILE_WHY_MAX, "one text for both");

static int report(int error, const char *path, const char *what, char why[PROFILE_WHY_MAX])
{
	snprintf(why, PROFILE_WHY_MAX, "%s %s", path, what);
	return error;
}

static int report_damaged(const char *path, const char *what, char why[PROFILE_WHY_MAX])
{
	snprintf(why, PROFILE_WHY_MAX, "%s is damaged: %s", path, what);
	return -EBADMSG;
}

static int report_sqlite(int error, const char *path, char why[PROFILE_WHY_MAX])
{
	if (error == -ENOMEM)
		return report(error, path, "does not fit into memory", why);
	return report_damaged(path, "its contents are not as they were written", why);
}

static uint32_t big_endian(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static int check_header(const char *path, const uint8_t *bytes, size_t len,
			char why[PROFILE_WHY_MAX])
{
	static const char magic[16] = "SQLite format 3";
	char text[96];
	uint32_t page_size, version;

	if (!len)
		return report(-EBADMSG, path, "is empty, not a profile", why);
	if (memcmp(bytes, magic, len < sizeof(magic) ? len : sizeof(magic)))
		return report(-EBADMSG, path, "is not a profile", why);
	if (len < HEADER_SIZE)
		return report_damaged(path, "it is cut short", why);
	if (big_endian(bytes + HEADER_APPLICATION) != APPLICATION_ID)
		return report(-EBADMSG, path, "is a database of another program, not a profile",
			    why);
	version = big_endian(bytes + HEADER_VERSION);
	if (version < SCHEMA_OLDEST || version > SCHEMA_VERSION) {
		snprintf(text, sizeof(text),
			 "is of profile version %u, and this pg-collect reads %d", version,
			 SCHEMA_VERSION);
		return report(version > SCHEMA_VERSION ? -EPROTONOSUPPORT : -EBADMSG, path, text,
			    why);
	}
	page_size = (uint32_t)bytes[HEADER_PAGE_SIZE] << 8 | bytes[HEADER_PAGE_SIZE + 1];
	if (page_size == 1)
		page_size = 65536;
	if (len < (uint64_t)page_size * big_endian(bytes + HEADER_NR_PAGES))
		return report_damaged(path, "it is cut short", why);
	return 0;
}

static int open_memory(sqlite3 **ret)
{
	if (sqlite3_open_v2(":memory:", ret,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) == SQLITE_OK)
		return 0;
	sqlite3_close(*ret);
	*ret = NULL;
	return -ENOMEM;
}

/* The schema first: until it is known to be ours, nothing else is read. */
static int load_tables(struct untrusted_db *db, uint32_t version, const char *path,
		       struct samples *samples, struct model *model, struct training *training,
		       char why[PROFILE_WHY_MAX])
{
	int error = schema_check(db->db, version);

	if (error == -EBADMSG)
		return report(-EBADMSG, path,
			      "is damaged, or of another version: it has not the tables of a profile",
			      why);
	if (!error)
		error = untrusted_db_check(db);
	if (!error)
		error = schema_load(db->db, version, samples, model, training);
	return error ? report_sqlite(error, path, why) : 0;
}

static int load_all(const char *path, uint8_t *bytes, size_t len, struct samples *samples,
		    struct model *model, struct training *training, char why[PROFILE_WHY_MAX])
{
	struct untrusted_db db;
	const char *wrong;
	int error = untrusted_db_open(&db, bytes, len);

	if (error)
		report_sqlite(error, path, why);
	else
		error = load_tables(&db, big_endian(bytes + HEADER_VERSION), path, samples, model, training, why);
	untrusted_db_close(&db);
	if (error)
		return error;
	wrong = check_samples(samples);
	if (!wrong)
		wrong = check_model(model, samples);
	if (wrong)
		return report_damaged(path, wrong, why);
	error = samples_hash_all(samples);
	return error ? report_sqlite(error, path, why) : 0;
}

/* Only if the file has this hash; NULL: whatever it has. */
static int load_file(const char *path, const uint64_t *hash, struct samples *samples,
		     struct model *model, struct training *training, char why[PROFILE_WHY_MAX])
{
	uint8_t *bytes = NULL;
	size_t len = 0;
	int error = file_read(path, PROFILE_MAX_BYTES, &bytes, &len, why);

	memset(samples, 0, sizeof(*samples));
	memset(model, 0, sizeof(*model));
	memset(training, 0, sizeof(*training));
	if (error)
		return error;
	if (hash && hash_fnv1a(HASH_FNV1A, bytes, len) != *hash)
		error = report(-ESTALE, path, "was changed meanwhile", why);
	else
		error = check_header(path, bytes, len, why);
	if (error) {
		sqlite3_free(bytes);
		return error;
	}
	error = load_all(path, bytes, len, samples, model, training, why);
	if (error) {
		samples_deinit(samples);
		model_deinit(model);
	}
	return error;
}

static int load(const char *path, const uint64_t *hash, struct samples *samples, struct model *model,
		struct training *training, char why[PROFILE_WHY_MAX])
{
	int error;

	long_step_begin("reading a profile");
	error = load_file(path, hash, samples, model, training, why);
	long_step_end();
	return error;
}

int profile_load(const char *path, struct samples *samples, struct model *model,
		 struct training *training, char why[PROFILE_WHY_MAX])
{
	return load(path, NULL, samples, model, training, why);
}

int profile_load_hashed(const char *path, uint64_t hash, struct samples *samples,
			struct model *model, struct training *training, char why[PROFILE_WHY_MAX])
{
	return load(path, &hash, samples, model, training, why);
}

int profile_hash(const char *path, uint64_t *ret, char why[PROFILE_WHY_MAX])
{
	uint8_t *bytes = NULL;
	size_t len = 0;
	int error = file_read_private(path, PROFILE_MAX_BYTES, &bytes, &len, why);

	if (error)
		return error;
	*ret = hash_fnv1a(HASH_FNV1A, bytes, len);
	sqlite3_free(bytes);
	return 0;
}

static int fill(sqlite3 *db, const struct samples *samples, const struct model *model,
		const struct training *training)
{
	char pragmas[96];
	int error;

	snprintf(pragmas, sizeof(pragmas),
		 "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN", APPLICATION_ID,
		 SCHEMA_VERSION);
	if (sqlite3_exec(db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		return -EIO;
	error = schema_create(db);
	if (!error)
		error = schema_save(db, samples, model, training);
	if (!error && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		error = -EIO;
	return error;
}

static int make_bytes(const struct samples *samples, const struct model *model,
		      const struct training *training, uint8_t **ret, size_t *ret_len)
{
	sqlite3_int64 len = 0;
	sqlite3 *db;
	int error = open_memory(&db);

	if (error)
		return error;
	error = fill(db, samples, model, training);
	if (!error) {
		*ret = sqlite3_serialize(db, "main", &len, 0);
		*ret_len = (size_t)len;
		if (!*ret)
			error = -ENOMEM;
	}
	sqlite3_close(db);
	return error;
}

int profile_save(const char *path, const struct samples *samples, const struct model *model,
		 const struct training *training, char why[PROFILE_WHY_MAX])
{
	static const struct model no_model;
	const char *wrong = check_samples(samples);
	uint8_t *bytes = NULL;
	size_t len = 0;
	int error;

	if (!model)
		model = &no_model;
	if (!wrong)
		wrong = check_model(model, samples);
	if (wrong) {
		snprintf(why, PROFILE_WHY_MAX, "cannot save %s: there is %s", path, wrong);
		return -EINVAL;
	}
	error = make_bytes(samples, model, training, &bytes, &len);
	if (error)
		snprintf(why, PROFILE_WHY_MAX, "cannot save %s: %s", path, strerror(-error));
	else
		error = file_replace(path, bytes, len, why);
	sqlite3_free(bytes);
	return error;
}

static const char *id_of(const char *build_id)
{
	return build_id && *build_id ? build_id : "(none)";
}

int profile_is_of(const struct samples *samples, const char *path, const char *build_id,
		  char why[PROFILE_WHY_MAX])
{
	const struct samples_object *program = &samples->objects[0];

	if (!strcmp(program->build_id, build_id) && (*build_id || !strcmp(program->path, path)))
		return 0;
	snprintf(why, PROFILE_WHY_MAX,
		 "the profile is of %s with build id %s, but %s has build id %s", program->path,
		 id_of(program->build_id), path, id_of(build_id));
	return -ESTALE;
}
