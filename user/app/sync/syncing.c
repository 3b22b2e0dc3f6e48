// SPDX-License-Identifier: GPL-2.0

#include "app/sync/syncing.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/serve/service-config.h"
#include "app/sync/joint-profile.h"
#include "base/array.h"
#include "base/background.h"
#include "base/capabilities.h"
#include "base/log.h"
#include "binary/file/elf.h"
#include "net/nats-profiles.h"
#include "out/machine-id.h"
#include "store/file.h"
#include "store/profile-file.h"

enum {
	/* Of one build: those of the first so many by name, on all machines the same. */
	MAX_MACHINES = 64,
	/* Of all builds, of programs that are here. */
	MAX_PROFILES = 65536,
	MAX_BYTES = 64 << 20,
};

struct syncing {
	struct service_config config;
	char machine[MACHINE_ID_MAX];
	struct nats_profiles *bucket;
	struct published_profile *of;
	uint32_t nr;
	size_t max_of;
	bool has_changed;
};

static int read_bytes(const char *path, uint8_t **ret, size_t *ret_len, char why[PROFILE_WHY_MAX])
{
	uint64_t size = 0;
	int fd = file_open(path, &size);
	ssize_t nr = -1;

	*ret = fd >= 0 && size && size <= MAX_BYTES ? malloc(size) : NULL;
	if (*ret)
		nr = read(fd, *ret, size);
	if (fd >= 0)
		close(fd);
	*ret_len = size;
	if (nr == (ssize_t)size)
		return 0;
	snprintf(why, PROFILE_WHY_MAX, "cannot read %s, or it has more than %d bytes", path, MAX_BYTES);
	free(*ret);
	*ret = NULL;
	return -EIO;
}

/* The label is "HASH SIZE PROGRAM". */
static int put(struct syncing *syncing, const char *path, const struct samples_object *program,
	       char why[PROFILE_WHY_MAX])
{
	char label[NATS_LABEL_MAX];
	uint8_t *bytes = NULL;
	uint64_t hash;
	size_t len;
	int error = profile_hash(path, &hash, why) ?: read_bytes(path, &bytes, &len, why);

	if (!error && !program->build_id[0]) {
		snprintf(why, PROFILE_WHY_MAX, "%s has no build id, by which it would be known",
			 program->path);
		error = -EINVAL;
	}
	if (!error) {
		snprintf(label, sizeof(label), "%016" PRIx64 " %zu %s", hash, len, program->path);
		error = nats_profiles_put(syncing->bucket, program->build_id, syncing->machine, label,
					  bytes, len, why);
	}
	free(bytes);
	return error;
}

/* Returns 0 or an exit code. */
static int publish(struct syncing *syncing, const char *path)
{
	char why[PROFILE_WHY_MAX];
	struct training training;
	struct samples samples;
	struct model model;
	int error = profile_load(path, &samples, &model, &training, why);

	if (!error) {
		error = put(syncing, path, &samples.objects[0], why);
		samples_deinit(&samples);
		model_deinit(&model);
	}
	if (error)
		log_error("%s is not published: %s", path, why);
	return error ? CMD_FAILED : 0;
}

static int publish_all(struct syncing *syncing)
{
	const char *directory = syncing->config.forwarding.trained;
	char *pattern;
	glob_t found;
	int ret = 0;

	if (!directory)
		return 0;
	if (asprintf(&pattern, "%s/*.pgp", directory) < 0)
		return cmd_no_memory();
	if (!glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			ret |= publish(syncing, found.gl_pathv[i]);
		globfree(&found);
	}
	free(pattern);
	return ret;
}

/* The program is here, and this build. */
static bool is_installed(const char *program, const char *build_id)
{
	struct elf_identity identity;
	const char *why;
	uint64_t size;
	int fd = program[0] == '/' ? file_open(program, &size) : -1;
	bool ret = fd >= 0 && !elf_identify(fd, &identity, &why) &&
		   !strcmp(identity.build_id, build_id);

	if (fd >= 0)
		close(fd);
	return ret;
}

/* Others have written it: hexadecimal digits only, as it becomes the name of a file. */
static bool is_build_id(const char *text)
{
	size_t len = strspn(text, "0123456789abcdef");

	return len >= 8 && len <= 128 && !text[len];
}

static int take(const char *build_id, const char *machine, const char *label, void *arg)
{
	struct syncing *syncing = arg;
	struct published_profile *profile;
	int at = 0;

	if (syncing->nr == MAX_PROFILES)
		return -E2BIG;
	if (array_grow(syncing->of, syncing->nr, syncing->max_of))
		return -ENOMEM;
	profile = &syncing->of[syncing->nr];
	*profile = (struct published_profile){ .program = NULL };
	if (!is_build_id(build_id) || strlen(machine) >= sizeof(profile->machine) ||
	    sscanf(label, "%16" SCNx64 " %zu %n", &profile->hash, &profile->size, &at) != 2 || !at ||
	    !profile->size || profile->size > MAX_BYTES || !is_installed(label + at, build_id))
		return 0;
	snprintf(profile->build_id, sizeof(profile->build_id), "%s", build_id);
	snprintf(profile->machine, sizeof(profile->machine), "%s", machine);
	profile->program = strdup(label + at);
	syncing->nr += profile->program != NULL;
	return profile->program ? 0 : -ENOMEM;
}

/* By build and program, then by machine. */
static int compare_group(const struct published_profile *a, const struct published_profile *b)
{
	return strcmp(a->build_id, b->build_id) ?: strcmp(a->program, b->program);
}

static int compare(const void *x, const void *y)
{
	const struct published_profile *a = x, *b = y;

	return compare_group(a, b) ?: strcmp(a->machine, b->machine);
}

static int fetch_all(struct syncing *syncing)
{
	char why[TRANSPORT_WHY_MAX] = "there are too many profiles, or no memory";
	int error = nats_profiles_list(syncing->bucket, take, syncing, why), ret = 0;

	if (error) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	if (syncing->nr)
		qsort(syncing->of, syncing->nr, sizeof(*syncing->of), compare);
	for (uint32_t i = 0, end; i < syncing->nr; i = end) {
		for (end = i + 1; end < syncing->nr; end++)
			if (compare_group(&syncing->of[i], &syncing->of[end]))
				break;
		ret |= joint_profile_update(syncing->bucket, &syncing->of[i],
					    end - i < MAX_MACHINES ? end - i : MAX_MACHINES,
					    syncing->config.profiles, &syncing->has_changed);
	}
	return ret ? CMD_FAILED : 0;
}

static int begin(struct syncing *syncing, const struct syncing_options *options)
{
	const struct service_forwarding *wanted = &syncing->config.forwarding;
	char why[TRANSPORT_WHY_MAX];

	if (!wanted->nats.servers) {
		log_error("%s: there is no line 'nats = ...'", options->config);
		return CMD_USAGE;
	}
	if (wanted->machine)
		snprintf(syncing->machine, sizeof(syncing->machine), "%s", wanted->machine);
	else
		machine_id(syncing->machine);
	if (capabilities_drop() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    (options->is_child && prctl(PR_SET_PDEATHSIG, SIGTERM))) {
		log_error("cannot give up capabilities: %s", strerror(errno));
		return CMD_FAILED;
	}
	background_enter();
	if (!nats_profiles_open(&wanted->nats, &syncing->bucket, why))
		return 0;
	log_error("%s", why);
	return CMD_FAILED;
}

int syncing_run(const struct syncing_options *options)
{
	static struct syncing syncing;
	int ret = service_config_read(options->config, &syncing.config) ?: begin(&syncing, options);

	if (!ret) {
		ret = publish_all(&syncing);
		ret |= fetch_all(&syncing);
	}
	if (syncing.has_changed && options->is_child)
		kill(getppid(), SIGHUP);
	if (syncing.bucket)
		nats_profiles_close(syncing.bucket);
	for (uint32_t i = 0; i < syncing.nr; i++)
		free(syncing.of[i].program);
	free(syncing.of);
	service_config_deinit(&syncing.config);
	return ret;
}
