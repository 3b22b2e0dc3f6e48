// SPDX-License-Identifier: GPL-2.0

#include "app/common/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/deleted.h"
#include "binary/file/elf.h"

/* With so many, identities_trim() forgets the older half. */
#define MAX_IDENTITIES 4096

static void clear(struct identity *identity)
{
	free(identity->exe);
	free(identity->build_id);
}

static void look_up(struct identity *identity)
{
	struct elf_identity elf;
	char path[64], exe[PATH_MAX];
	const char *why;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", identity->pid);
	len = readlink(path, exe, sizeof(exe) - 1);
	if (len < 0)
		return;
	exe[len] = '\0';
	exe[deleted_stem(exe)] = '\0';
	identity->exe = strdup(exe);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!elf_identify(fd, &elf, &why) && elf.build_id[0])
		identity->build_id = strdup(elf.build_id);
	close(fd);
}

/* A new one, of which nothing is known; or NULL. */
static struct identity *add(struct identities *identities, uint32_t image_id, uint32_t pid)
{
	struct identity *identity;

	if (array_resize(identities->entries, identities->nr + 1UL))
		return NULL;
	identity = &identities->entries[identities->nr++];
	*identity = (struct identity){ .image_id = image_id, .pid = pid };
	return identity;
}

int identity_set(struct identities *identities, uint32_t image_id, const char *exe,
		 const char *build_id)
{
	struct identity *identity = add(identities, image_id, 0);

	if (!identity)
		return -ENOMEM;
	/* "" is a name, too: nobody looks for another one. */
	identity->exe = strdup(exe ? exe : "");
	identity->build_id = build_id ? strdup(build_id) : NULL;
	return identity->exe && !identity->build_id == !build_id ? 0 : -ENOMEM;
}

bool identity_is(uint32_t pid, const char *exe, const char *build_id)
{
	struct identity now = { .pid = pid };
	bool ret;

	look_up(&now);
	ret = now.exe && exe && !strcmp(now.exe, exe) && !now.build_id == !build_id &&
	      (!build_id || !strcmp(now.build_id, build_id));
	clear(&now);
	return ret;
}

const struct identity *identity_get(struct identities *identities, uint32_t image_id, uint32_t pid)
{
	struct identity *identity = identities->entries;

	for (uint32_t i = 0; i < identities->nr; i++, identity++) {
		if (identity->image_id != image_id)
			continue;
		if (!identity->exe && pid) {
			identity->pid = pid;
			look_up(identity);
		}
		return identity;
	}
	identity = add(identities, image_id, pid);
	if (identity)
		look_up(identity);
	return identity;
}

static void remove_some(struct identities *identities, uint32_t at, uint32_t nr)
{
	struct identity *first = &identities->entries[at];

	for (uint32_t i = 0; i < nr; i++)
		clear(&first[i]);
	identities->nr -= nr;
	memmove(first, first + nr, (identities->nr - at) * sizeof(*first));
}

void identity_forget(struct identities *identities, uint32_t image_id)
{
	for (uint32_t i = 0; i < identities->nr; i++) {
		if (identities->entries[i].image_id != image_id)
			continue;
		remove_some(identities, i, 1);
		return;
	}
}

void identities_trim(struct identities *identities)
{
	if (identities->nr >= MAX_IDENTITIES)
		remove_some(identities, 0, MAX_IDENTITIES / 2);
}

void identities_deinit(struct identities *identities)
{
	for (uint32_t i = 0; i < identities->nr; i++)
		clear(&identities->entries[i]);
	free(identities->entries);
	memset(identities, 0, sizeof(*identities));
}

char *identity_cgroup(uint32_t pid)
{
	char line[PATH_MAX + 64], path[64];
	char *cgroup = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", pid);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	while (!cgroup && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			cgroup = strdup(line + 3);
	}
	fclose(file);
	return cgroup;
}

void identity_comm(uint32_t pid, uint32_t tid, char comm[16])
{
	char path[64];
	FILE *file;

	comm[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(comm, 16, file))
		comm[strcspn(comm, "\n")] = '\0';
	fclose(file);
}
