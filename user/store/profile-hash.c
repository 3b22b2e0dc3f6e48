// SPDX-License-Identifier: GPL-2.0

#include "store/profile-hash.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "store/file.h"

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
	int error = file_read(path, PROFILE_MAX_BYTES, &bytes, &len, why);

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
	uint8_t *bytes = NULL;
	size_t len = 0;
	int error = file_read(path, PROFILE_MAX_BYTES, &bytes, &len, why);

	*samples = (struct samples){ 0 };
	*model = (struct model){ 0 };
	if (error)
		return error;
	if (hash_bytes(bytes, len) == hash)
		return profile_load_bytes(path, bytes, len, samples, model, training, why);
	sqlite3_free(bytes);
	snprintf(why, PROFILE_WHY_MAX, "%s was changed meanwhile", path);
	return -ESTALE;
}
