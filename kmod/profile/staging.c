// SPDX-License-Identifier: GPL-2.0

#include "profile/staging.h"

#include "lib/refuse.h"

#include <linux/mm.h>
#include <linux/slab.h>

#include <linux/perfguard.h>

enum { FIRST_ROOM = 64 };

static const struct kind {
	u32 size;	/* of an item */
	u32 max;	/* items */
} kinds[PGUARD_STAGING_KINDS] = {
	[PGUARD_STAGING_LOOPS] = { sizeof(struct perfguard_loop), PGUARD_MAX_PROFILE_LOOPS },
	[PGUARD_STAGING_BOUNDARIES] = { sizeof(struct perfguard_boundary), PGUARD_MAX_BOUNDARIES },
	[PGUARD_STAGING_GUARDS] = { sizeof(struct perfguard_guard), PERFGUARD_MAX_GUARDS },
	[PGUARD_STAGING_TYPES] = { sizeof(struct perfguard_type), PERFGUARD_MAX_PROFILE_TYPES },
	[PGUARD_STAGING_CONTEXTS] = { sizeof(struct perfguard_calling_context),
				      PERFGUARD_MAX_PROFILE_CONTEXTS },
	[PGUARD_STAGING_WEIGHTS] = { sizeof(struct perfguard_weight),
				     PERFGUARD_MAX_PROFILE_WEIGHTS },
};

/* Context: may sleep; @staging may be NULL. */
void pguard_staging_free(struct pguard_staging *staging)
{
	u32 i;

	for (i = 0; staging && i < PGUARD_STAGING_KINDS; i++)
		kvfree(staging->arrays[i].items);
	kfree(staging);
}

static int array_grow(struct pguard_staging_array *array, const struct kind *kind, u32 nr)
{
	u32 room = max_t(u32, array->room, FIRST_ROOM);
	void *items;

	while (room < nr)
		room *= 2;
	room = min(room, kind->max);
	items = kvmalloc_array(room, kind->size, GFP_KERNEL | __GFP_NOWARN);
	if (!items)
		return -ENOMEM;
	if (array->nr)
		memcpy(items, array->items, (size_t)array->nr * kind->size);
	kvfree(array->items);
	array->items = items;
	array->room = room;
	return 0;
}

/**
 * pguard_staging_append() - items come behind those there are
 * @staging: where
 * @which: what they are
 * @items: structures of the spec, a whole number of them, unchecked
 * @size: bytes
 * @extack: takes the reason of a refusal
 *
 * Context: may sleep.
 * Return: 0 or an error with nothing changed.
 */
int pguard_staging_append(struct pguard_staging *staging, enum pguard_staging_kind which,
			  const void *items, size_t size, struct netlink_ext_ack *extack)
{
	struct pguard_staging_array *array = &staging->arrays[which];
	const struct kind *kind = &kinds[which];
	size_t nr = size / kind->size;

	if (size % kind->size)
		return pguard_refuse(extack, -EINVAL, "not an array of whole structures");
	if (nr > kind->max - array->nr)
		return pguard_refuse(extack, -ENOSPC,
				     "the profile is too large: too many items of a kind");
	if (array->nr + nr > array->room && array_grow(array, kind, array->nr + nr))
		return -ENOMEM;
	memcpy(array->items + (size_t)array->nr * kind->size, items, size);
	array->nr += nr;
	return 0;
}

/* The memory that a staging takes. */
size_t pguard_staging_bytes(const struct pguard_staging *staging)
{
	size_t bytes = sizeof(*staging);
	u32 i;

	for (i = 0; i < PGUARD_STAGING_KINDS; i++)
		bytes += (size_t)staging->arrays[i].room * kinds[i].size;
	return bytes;
}
