/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One profile of those of many machines, kept as PROFILES/fleet-NAME-BUILDID.pgp.
 */
#ifndef _USER_APP_SYNC_JOINT_PROFILE_H
#define _USER_APP_SYNC_JOINT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nats_profiles;

/* What the label of one says. */
struct published_profile {
	char build_id[129];
	char machine[65];
	char *program; /* its path */
	uint64_t hash; /* of its bytes, profile_hash() */
	size_t size;
};

/*
 * Join those of one build of one program, in the order of their machines, unless the file in
 * @directory is of just these.  One that cannot be read, or is of another program, is reported and
 * left out.  Returns 0 or an exit code, reported; *@ret_changed: there is a new file.
 */
int joint_profile_update(struct nats_profiles *from, const struct published_profile *profiles,
			 uint32_t nr, const char *directory, bool *ret_changed);

#endif /* _USER_APP_SYNC_JOINT_PROFILE_H */
