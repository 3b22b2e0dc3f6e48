// SPDX-License-Identifier: GPL-2.0

#include "store/profile-hash.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "store/file.h"

#define MAX_FILE_BYTES (UINT64_C(1) << 30)

/* FNV-1a, 64 bits. */
static uint64_t hash_bytes(const uint8_t *bytes, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

int profile_hash(const char *path, uint64_t *ret, char why[PROFILE_WHY_MAX])
{
	uint8_t *bytes = NULL;
	size_t len = 0;
	int error = file_read(path, MAX_FILE_BYTES, &bytes, &len, why);

	if (error)
		return error;
	*ret = hash_bytes(bytes, len);
	sqlite3_free(bytes);
	return 0;
}

int profile_load_hashed(const char *path, uint64_t hash, struct samples *samples,
			struct model *model, struct training *training,
			char why[PROFILE_WHY_MAX])
{
	uint64_t is;
	int error;

	/* A save replaces the file, so look again for one between the two. */
	for (int turn = 0; turn < 2; turn++) {
		error = profile_hash(path, &is, why);
		if (!error && is != hash) {
			snprintf(why, PROFILE_WHY_MAX, "%s was changed meanwhile", path);
			error = -ESTALE;
		}
		if (!error && !turn)
			error = profile_load(path, samples, model, training, why);
		else if (error && turn) {
			samples_deinit(samples);
			model_deinit(model);
		}
		if (error)
			return error;
	}
	return 0;
}
