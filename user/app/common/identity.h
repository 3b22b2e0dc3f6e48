/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What program an image is: looked up through one of its processes while there
 * is one, and kept.
 */
#ifndef _USER_APP_COMMON_IDENTITY_H
#define _USER_APP_COMMON_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

struct identity {
	uint32_t image_id;
	uint32_t pid; /* the first process seen */
	char *exe; /* NULL if not known, like build_id */
	char *build_id;
};

struct identities {
	struct identity *entries;
	uint32_t nr;
};

/*
 * The identity of an image, one of whose processes is @pid.  Valid until the
 * next call; NULL if there is no memory.
 */
const struct identity *identity_get(struct identities *identities, uint32_t image_id, uint32_t pid);
/* What is known of it from elsewhere; NULL: nothing.  Returns 0 or -ENOMEM. */
int identity_set(struct identities *identities, uint32_t image_id, const char *exe,
		 const char *build_id);
/* Return: true if @pid runs this program now. */
bool identity_is(uint32_t pid, const char *exe, const char *build_id);
void identity_forget(struct identities *identities, uint32_t image_id);

/* Forget the oldest when there are very many: for those who never end. */
void identities_trim(struct identities *identities);
void identities_deinit(struct identities *identities);

/* The cgroup (v2) of a process, malloc'ed, or NULL. */
char *identity_cgroup(uint32_t pid);

/* The name of a thread; "" if it is gone. */
void identity_comm(uint32_t pid, uint32_t tid, char comm[16]);

#endif /* _USER_APP_COMMON_IDENTITY_H */
