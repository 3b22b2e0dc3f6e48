// SPDX-License-Identifier: GPL-2.0

#include "base/container-id.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 64 };

/* A part of a path: the name of a cgroup. */
struct part {
	const char *at;
	size_t len;
};

static bool starts(const struct part *part, const char *prefix)
{
	size_t len = strlen(prefix);

	return part->len > len && !strncmp(part->at, prefix, len);
}

static void drop_end(struct part *part, const char *end)
{
	size_t len = strlen(end);

	if (part->len > len && !strncmp(part->at + part->len - len, end, len))
		part->len -= len;
}

static bool drop_start(struct part *part, const char *start)
{
	size_t len = strlen(start);

	if (!starts(part, start))
		return false;
	part->at += len;
	part->len -= len;
	return true;
}

static bool contains(const struct part *part, const char *text)
{
	return memmem(part->at, part->len, text, strlen(text)) != NULL;
}

/*
 * "docker-ID.scope", "libpod-ID.scope", "cri-containerd-ID.scope", "crio-ID", or the id alone,
 * as the file system's driver has it.  conmon is who watches a container.
 */
static bool is_digits(struct part part, struct part *ret)
{
	drop_end(&part, ".scope");
	if (part.len < DIGITS || contains(&part, "conmon"))
		return false;
	*ret = (struct part){ part.at + part.len - DIGITS, DIGITS };
	for (size_t i = 0; i < DIGITS; i++)
		if (!isdigit((unsigned char)ret->at[i]) && (ret->at[i] < 'a' || ret->at[i] > 'f'))
			return false;
	return part.len == DIGITS || strchr("-:", ret->at[-1]);
}

/* A machine of systemd or LXC, by its name; @before is the part before it. */
static bool is_named(struct part part, const struct part *before, struct part *ret)
{
	bool is_machine;

	*ret = part;
	if (drop_start(ret, "lxc.payload."))
		return true;
	if (before->len == strlen("lxc") && !strncmp(before->at, "lxc", before->len))
		return true;
	is_machine = drop_start(ret, "systemd-nspawn@");
	drop_end(ret, is_machine ? ".service" : ".scope");
	if (is_machine)
		return true;
	/* Those of libvirt are no containers, except its LXC. */
	return ret->len < part.len && drop_start(ret, "machine-") && !starts(ret, "qemu");
}

/* Names of units have "\x2d" in place of "-". */
static void copy(const struct part *part, char id[CONTAINER_ID_MAX])
{
	size_t to = 0;

	for (size_t i = 0; i < part->len && to < CONTAINER_ID_MAX - 1; i++) {
		char digits[3] = { 0 };

		id[to++] = part->at[i];
		if (part->len - i < 4 || strncmp(part->at + i, "\\x", 2))
			continue;
		memcpy(digits, part->at + i + 2, 2);
		id[to - 1] = (char)strtoul(digits, NULL, 16);
		i += 3;
	}
	id[to] = '\0';
}

/* The last of them; false if there is none.  *@ret_is_last: nothing is below it. */
static bool find(const char *path, struct part *ret, bool *ret_is_last)
{
	struct part before = { "", 0 }, part, found;
	bool is_found = false;

	*ret_is_last = false;
	for (const char *at = path; *at; at = part.at + part.len) {
		at += strspn(at, "/");
		part = (struct part){ at, strcspn(at, "/") };
		if (!part.len)
			break;
		*ret_is_last = is_digits(part, &found) || is_named(part, &before, &found);
		if (*ret_is_last) {
			*ret = found;
			is_found = true;
		}
		before = part;
	}
	return is_found;
}

const char *container_id(const char *path, char id[CONTAINER_ID_MAX])
{
	struct part part;
	bool is_last;

	id[0] = '\0';
	if (find(path, &part, &is_last))
		copy(&part, id);
	return id;
}

bool container_is_own(const char *path)
{
	struct part part;
	bool is_last;

	return find(path, &part, &is_last) && is_last;
}

const char *container_id_cut(char id[CONTAINER_ID_MAX])
{
	if (strlen(id) == DIGITS)
		id[CONTAINER_ID_SHOWN] = '\0';
	return id;
}
