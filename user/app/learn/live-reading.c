// SPDX-License-Identifier: GPL-2.0

#include "app/learn/live-reading.h"

#include <stdlib.h>

#include "app/common/command.h"
#include "base/log.h"
#include "link/link.h"
#include "store/profile-file.h"

/* The profile as it is armed, by the hash of its file. */
static const struct armed_profile *find_armed(const struct armed_profile *armed, uint32_t nr,
					      uint64_t hash)
{
	for (uint32_t i = 0; i < nr; i++)
		if (armed[i].target_id && armed[i].hash == hash)
			return &armed[i];
	return NULL;
}

static int find_profile(struct link *link, const char *path, uint32_t *id, uint32_t *nr_shed)
{
	const struct armed_profile *found;
	struct armed_profile *armed;
	char why[PROFILE_WHY_MAX];
	uint64_t hash;
	uint32_t nr;
	int ret;

	if (profile_hash(path, &hash, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	ret = link_profiles(link, &armed, &nr);
	if (ret)
		return cmd_link_failed(link, ret, "cannot read the profiles");
	found = find_armed(armed, nr, hash);
	*id = found ? found->id : 0;
	*nr_shed = found ? found->nr_shed : 0;
	link_profiles_free(armed, nr);
	if (*id)
		return 0;
	log_error("%s is not armed as it is; 'pg-collect arm %s' does that", path, path);
	return CMD_FAILED;
}

void live_reading_deinit(struct live_reading *reading)
{
	free(reading->types);
	free(reading->times);
	*reading = (struct live_reading){ 0 };
}

int live_reading_take(struct link *link, const char *path, struct live_reading *ret)
{
	uint32_t id;
	int error;

	*ret = (struct live_reading){ 0 };
	error = find_profile(link, path, &id, &ret->nr_shed);
	if (error)
		return error;
	error = link_types(link, id, &ret->types, &ret->nr);
	if (!error)
		error = link_times(link, id, &ret->times, &ret->nr_times);
	if (!error)
		return 0;
	live_reading_deinit(ret);
	return cmd_link_failed(link, error, "cannot read what units take");
}

const struct armed_times *live_reading_times(const struct live_reading *reading, uint32_t id)
{
	for (uint32_t i = 0; i < reading->nr_times; i++)
		if (reading->times[i].id == id)
			return &reading->times[i];
	return NULL;
}

const struct armed_type *live_reading_type(const struct live_reading *reading, uint32_t id)
{
	for (uint32_t i = 0; i < reading->nr; i++)
		if (reading->types[i].id == id)
			return &reading->types[i];
	return NULL;
}
