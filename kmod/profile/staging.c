// SPDX-License-Identifier: GPL-2.0

#include "profile/staging.h"

#include "compat.h"

#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/slab.h>

#include <linux/perfguard.h>

enum { FIRST_ROOM = 64 };

struct kind {
	u32 size;	/* of an item */
	u32 max;	/* items */
};

static const struct kind kinds[PGUARD_DRAFT_KINDS] = {
	[PGUARD_DRAFT_COURSES] = {
		sizeof(struct perfguard_loop), PGUARD_MAX_COURSES },
	[PGUARD_DRAFT_BOUNDARIES] = {
		sizeof(struct perfguard_boundary), PGUARD_MAX_BOUNDARIES },
	[PGUARD_DRAFT_GUARDS] = {
		sizeof(struct perfguard_guard), PERFGUARD_MAX_GUARDS },
	[PGUARD_DRAFT_TYPES] = {
		sizeof(struct perfguard_type), PERFGUARD_MAX_PROFILE_TYPES },
	[PGUARD_DRAFT_CONTEXTS] = {
		sizeof(struct perfguard_calling_context), PERFGUARD_MAX_PROFILE_CONTEXTS },
	[PGUARD_DRAFT_WEIGHTS] = {
		sizeof(struct perfguard_weight), PERFGUARD_MAX_PROFILE_WEIGHTS },
};

/* Context: may sleep.  Return: an empty one, or NULL. */
struct pguard_draft *pguard_draft_new(void)
{
	return kzalloc(sizeof(struct pguard_draft), GFP_KERNEL);
}

/* Context: may sleep; @draft may be NULL. */
void pguard_draft_free(struct pguard_draft *draft)
{
	u32 i;

	for (i = 0; draft && i < PGUARD_DRAFT_KINDS; i++)
		kvfree(draft->arrays[i].items);
	kfree(draft);
}

static int array_grow(struct pguard_draft_array *array, const struct kind *kind, u32 nr)
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
 * pguard_draft_append() - items come behind those there are
 * @draft: where
 * @which: what they are
 * @items: structures of the spec, a whole number of them, unchecked
 * @size: bytes
 * @extack: takes the reason of a refusal
 *
 * Context: may sleep.
 * Return: 0 or an error with nothing changed.
 */
int pguard_draft_append(struct pguard_draft *draft, enum pguard_draft_kind which,
			const void *items, size_t size, struct netlink_ext_ack *extack)
{
	struct pguard_draft_array *array = &draft->arrays[which];
	const struct kind *kind = &kinds[which];
	size_t nr = size / kind->size;

	if (size % kind->size) {
		NL_SET_ERR_MSG(extack, "not an array of whole structures");
		return -EINVAL;
	}
	if (nr > kind->max - array->nr) {
		NL_SET_ERR_MSG(extack, "the profile is too large: too many items of a kind");
		return -ENOSPC;
	}
	if (array->nr + nr > array->room && array_grow(array, kind, array->nr + nr))
		return -ENOMEM;
	memcpy(array->items + (size_t)array->nr * kind->size, items, size);
	array->nr += nr;
	return 0;
}

/* Cut the arrays to @nr items each, at most what they have. */
void pguard_draft_cut(struct pguard_draft *draft, const u32 nr[PGUARD_DRAFT_KINDS])
{
	u32 i;

	for (i = 0; i < PGUARD_DRAFT_KINDS; i++)
		draft->arrays[i].nr = nr[i];
}

/* The memory that a draft takes. */
size_t pguard_draft_bytes(const struct pguard_draft *draft)
{
	size_t bytes = sizeof(*draft);
	u32 i;

	for (i = 0; i < PGUARD_DRAFT_KINDS; i++)
		bytes += (size_t)draft->arrays[i].room * kinds[i].size;
	return bytes;
}
