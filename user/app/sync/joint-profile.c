// SPDX-License-Identifier: GPL-2.0

#include "app/sync/joint-profile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/learn/learning.h"
#include "base/base-name.h"
#include "base/log.h"
#include "net/nats-profiles.h"
#include "out/text.h"
#include "store/file.h"
#include "store/profile-file.h"
#include "train/samples/join.h"

/* Which profiles it is of (FNV-1a), as the settings of its training. */
static void describe(const struct published_profile *profiles, uint32_t nr, char *text, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325;
	char one[160];

	for (uint32_t i = 0; i < nr; i++) {
		snprintf(one, sizeof(one), "%s %016" PRIx64 "\n", profiles[i].machine,
			 profiles[i].hash);
		for (const char *c = one; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	}
	snprintf(text, size, "sync of %" PRIu32 " machines, %016" PRIx64, nr, hash);
}

static void name_file(const struct published_profile *profile, const char *directory,
		      char path[PATH_MAX], char note[PATH_MAX])
{
	char name[64];

	snprintf(name, sizeof(name), "%.40s", base_name(profile->program));
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			*c = '_';
	snprintf(path, PATH_MAX, "%s/fleet-%s-%.16s.pgp", directory, name, profile->build_id);
	snprintf(note, PATH_MAX, "%s/.fleet-%s-%.16s.of", directory, name, profile->build_id);
}

/*
 * The file is of just these already.  That is kept beside it, as others may have adapted it to this
 * machine since.
 */
static bool is_there(const char *path, const char *note, const char *what)
{
	FILE *file = access(path, F_OK) ? NULL : fopen(note, "re");
	char text[256] = "";
	bool ret;

	if (!file)
		return false;
	ret = fgets(text, sizeof(text), file) && !strcmp(text, what);
	fclose(file);
	return ret;
}

/* Load the bytes by way of the file at @path, where all checks are made. */
static int load(const struct published_profile *profile, const uint8_t *bytes, const char *path,
		struct samples *samples, char why[PROFILE_WHY_MAX])
{
	struct training training;
	struct model model;
	uint64_t hash;
	int error = file_replace(path, bytes, profile->size, why);

	if (!error)
		error = profile_hash(path, &hash, why);
	if (!error && hash != profile->hash) {
		snprintf(why, PROFILE_WHY_MAX, "its parts are not of one profile");
		error = -ESTALE;
	}
	if (!error)
		error = profile_load(path, samples, &model, &training, why);
	if (error)
		return error;
	model_deinit(&model);
	if (strcmp(samples->objects[0].path, profile->program) ||
	    strcmp(samples->objects[0].build_id, profile->build_id)) {
		snprintf(why, PROFILE_WHY_MAX, "it is of another program than it says");
		samples_deinit(samples);
		error = -EBADMSG;
	}
	return error;
}

/*
 * Returns 0 or an exit code; what is wrong with this one alone was reported, and is so until it has
 * another label.
 */
static int add(struct learning *learning, struct nats_profiles *from,
	       const struct published_profile *profile, const char *path, uint32_t *nr_joined)
{
	char why[PROFILE_WHY_MAX];
	struct samples samples;
	uint8_t *bytes;
	int error = nats_profiles_get(from, profile->build_id, profile->machine, profile->size, &bytes,
				      why);

	if (!error) {
		error = load(profile, bytes, path, &samples, why);
		free(bytes);
	}
	if (!error) {
		error = samples_join(&learning->samples, &samples);
		samples_deinit(&samples);
		snprintf(why, sizeof(why), "%s", strerror(-error));
	}
	*nr_joined += !error;
	if (error == -ENOMEM || error == -ENOSPC || error == -EIO) {
		log_error("the profile of %s is not joined: %s", profile->program, why);
		return CMD_FAILED;
	}
	if (error)
		log_warning("the profile of %s by machine %s is left out: %s", profile->program,
			    profile->machine, why);
	return 0;
}

static int join_all(struct learning *learning, struct nats_profiles *from,
		    const struct published_profile *profiles, uint32_t nr, const char *directory,
		    uint32_t *nr_joined)
{
	char path[PATH_MAX];
	int ret = 0;

	/* No name that the service arms. */
	snprintf(path, sizeof(path), "%s/.fetched", directory);
	for (uint32_t i = 0; i < nr && !ret; i++)
		ret = add(learning, from, &profiles[i], path, nr_joined);
	unlink(path);
	return ret;
}

/* Returns 0 or an exit code. */
static int save(struct learning *learning, const char *note, uint32_t nr)
{
	char why[FILE_WHY_MAX];
	int ret = learning_derive(learning) ?: learning_save(learning);

	if (ret)
		return ret;
	log_progress("%s is of %" PRIu32 " machine%s", learning->path, nr, text_plural(nr));
	if (!file_replace(note, (const uint8_t *)learning->settings, strlen(learning->settings), why))
		return 0;
	log_error("%s", why);
	return CMD_FAILED;
}

int joint_profile_update(struct nats_profiles *from, const struct published_profile *profiles,
			 uint32_t nr, const char *directory, bool *ret_changed)
{
	char path[PATH_MAX], note[PATH_MAX];
	struct learning learning;
	uint32_t nr_joined = 0;
	int ret;

	learning_init(&learning);
	learning.path = path;
	name_file(&profiles[0], directory, path, note);
	describe(profiles, nr, learning.settings, sizeof(learning.settings));
	if (is_there(path, note, learning.settings))
		return 0;
	ret = join_all(&learning, from, profiles, nr, directory, &nr_joined);
	if (!ret && nr_joined) {
		ret = save(&learning, note, nr_joined);
		*ret_changed |= !ret;
	}
	learning_deinit(&learning);
	return ret;
}
