// SPDX-License-Identifier: GPL-2.0
/* A profile.  The schema has to be ours, so that most of what is changed is SQLite's structure and rows. */

#include <stdio.h>

#include "fuzz.h"
#include "store/profile-file.h"

void fuzz_one(const uint8_t *bytes, size_t len)
{
	char path[32], why[PROFILE_WHY_MAX];
	int fd = fuzz_file(bytes, len);
	struct training training;
	struct samples samples;
	struct model model;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!profile_load(path, &samples, &model, &training, why)) {
		samples_deinit(&samples);
		model_deinit(&model);
	}
	close(fd);
}
