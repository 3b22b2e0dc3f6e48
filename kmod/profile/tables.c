// SPDX-License-Identifier: GPL-2.0

/*
 * What a profile says comes from the user.  Every number that is an index or a
 * range is checked here, once, so that nothing has to be when threads use it.
 */

#include "profile/staging.h"

#include "profile/profile.h"

#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/sort.h>

enum {
	MAX_SYSCALL = 4095,
	MAX_TYPE_ID = (1 << 28) - 1,
};

static_assert(sizeof(struct infer_weight) == sizeof(struct perfguard_weight));
static_assert(offsetof(struct infer_weight, type) == offsetof(struct perfguard_weight, type));
static_assert(offsetof(struct infer_weight, early) == offsetof(struct perfguard_weight, early));
static_assert(offsetof(struct infer_weight, final) == offsetof(struct perfguard_weight, final));

#define refuse(extack, text) ({ NL_SET_ERR_MSG(extack, text); -EINVAL; })

/* Room for @nr items of @size bytes, counted; not NULL if they are none. */
static void *table_new(struct pguard_profile *profile, size_t nr, size_t size)
{
	profile->bytes += nr * size;
	return pguard_profile_room(nr * size);
}

/* The same for what was loaded of a kind. */
static void *table_of(struct pguard_profile *profile, enum pguard_staging_kind kind, size_t size,
		      u32 *nr)
{
	*nr = profile->staging->arrays[kind].nr;
	return table_new(profile, *nr, size);
}

static int tables_alloc(struct pguard_profile *profile)
{
	u32 nr_sites = profile->staging->arrays[PGUARD_STAGING_BOUNDARIES].nr;

	profile->sites = pguard_wait_sites_new(nr_sites);
	profile->bytes = sizeof(*profile) + profile->nr_objects * sizeof(*profile->objects) +
			 struct_size(profile->sites, site, nr_sites);
	profile->loops = table_of(profile, PGUARD_STAGING_LOOPS, sizeof(*profile->loops),
				  &profile->nr_loops);
	profile->guards = table_of(profile, PGUARD_STAGING_GUARDS, sizeof(*profile->guards),
				   &profile->nr_guards);
	profile->types = table_of(profile, PGUARD_STAGING_TYPES, sizeof(*profile->types),
				  &profile->nr_types);
	profile->limits = table_new(profile, profile->nr_types, sizeof(*profile->limits));
	profile->ticks = table_new(profile, profile->nr_types, sizeof(*profile->ticks));
	profile->contexts = table_of(profile, PGUARD_STAGING_CONTEXTS, sizeof(*profile->contexts),
				     &profile->nr_contexts);
	profile->weights = table_of(profile, PGUARD_STAGING_WEIGHTS, sizeof(*profile->weights),
				    &profile->nr_weights);
	if (!profile->loops || !profile->sites || !profile->guards || !profile->types ||
	    !profile->limits || !profile->ticks || !profile->contexts || !profile->weights)
		return -ENOMEM;
	return pguard_profile_make_counters(profile);
}

static int make_loops(struct pguard_profile *profile, struct netlink_ext_ack *extack)
{
	const struct perfguard_loop *from = profile->staging->arrays[PGUARD_STAGING_LOOPS].items;
	u32 i;

	BUILD_BUG_ON(PGUARD_MAX_PROFILE_LOOPS > BITS_PER_TYPE(profile->loops->bit));
	if (!profile->nr_loops)
		return refuse(extack, "the profile has no event loop");
	for (i = 0; i < profile->nr_loops; i++) {
		if (from[i].id != i + 1)
			return refuse(extack, "event loops are numbered from 1 without a gap");
		if (from[i].flags & ~(u32)PERFGUARD_LOOP_FLAGS_HAS_EMPTY)
			return refuse(extack, "an event loop has an unknown flag");
		profile->loops[i].id = from[i].id;
		profile->loops[i].bit = BIT(i);
		profile->loops[i].has_empty = from[i].flags & PERFGUARD_LOOP_FLAGS_HAS_EMPTY;
		profile->loops[i].guards_jump = profile->flags & PERFGUARD_PROFILE_FLAGS_INLINE;
		profile->loops[i].table.paper = profile->flags & PERFGUARD_PROFILE_FLAGS_PAPER;
	}
	return 0;
}

static int guard_compare(const void *left, const void *right)
{
	const struct perfguard_guard *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Two guards at one place would each carry out its instruction. */
static int guards_differ(const struct perfguard_guard *guards, u32 nr,
			 struct netlink_ext_ack *extack)
{
	struct perfguard_guard *sorted = kvmalloc_array(nr + 1, sizeof(*sorted),
							GFP_KERNEL | __GFP_NOWARN);
	int ret = 0;
	u32 i;

	if (!sorted)
		return -ENOMEM;
	if (nr)
		memcpy(sorted, guards, nr * sizeof(*sorted));
	sort(sorted, nr, sizeof(*sorted), guard_compare, NULL);
	for (i = 1; i < nr && !ret; i++)
		if (!guard_compare(&sorted[i - 1], &sorted[i]))
			ret = refuse(extack, "two guards are at one place");
	kvfree(sorted);
	return ret;
}

static int make_guards(struct pguard_profile *profile, struct netlink_ext_ack *extack)
{
	const struct perfguard_guard *from = profile->staging->arrays[PGUARD_STAGING_GUARDS].items;
	u32 i;

	for (i = 0; i < profile->nr_guards; i++) {
		if (from[i].object >= profile->nr_objects)
			return refuse(extack, "a guard is in an object that is not there");
		if (from[i].sp_delta > PGUARD_MAX_DISTANCE)
			return refuse(extack, "a guard is too far from its function's entry");
		if (from[i].offset > S64_MAX)
			return refuse(extack, "a guard's offset is too large");
		if (from[i].reserved)
			return refuse(extack, "a reserved word of a guard is not 0");
		profile->guards[i].site = from[i];
		profile->guards[i].way = PERFGUARD_STEP_MODE_STEPPED;
	}
	return guards_differ(from, profile->nr_guards, extack);
}

static int add_call(struct pguard_profile *profile, const struct perfguard_boundary *boundary,
		    struct netlink_ext_ack *extack)
{
	struct pguard_loop *loop = &profile->loops[boundary->loop];

	if (boundary->syscall > MAX_SYSCALL)
		return refuse(extack, "a boundary is at an unknown system call");
	if (boundary->object >= profile->nr_objects)
		return refuse(extack, "a boundary is in an object that is not there");
	if (boundary->distance > PGUARD_MAX_DISTANCE || boundary->distance % sizeof(u64))
		return refuse(extack, "a boundary's distance is too large, or not a multiple of 8");
	if (boundary->rise > PGUARD_MAX_RISE)
		return refuse(extack, "a boundary is too far below its loop's frame");
	if (boundary->role == PERFGUARD_BOUNDARY_ROLE_EVENT_CALL)
		loop->has_event_calls = true;
	profile->sites->site[profile->sites->nr++] = (struct pguard_wait_site){
		.loop = loop,
		.inode = profile->objects[boundary->object].inode,
		.return_address = boundary->return_offset,
		.syscall = boundary->syscall,
		.distance = boundary->distance,
		.rise = boundary->rise,
		.role = boundary->role,
	};
	return 0;
}

static int add_start(struct pguard_profile *profile, const struct perfguard_boundary *boundary,
		     struct netlink_ext_ack *extack)
{
	struct pguard_guard *guard;

	if (boundary->guard >= profile->nr_guards)
		return refuse(extack, "a start site is at a guard that is not there");
	guard = &profile->guards[boundary->guard];
	if (guard->starts)
		return refuse(extack, "two event loops start at one guard");
	guard->starts = &profile->loops[boundary->loop];
	guard->starts->is_life = true;
	guard->events |= guard->starts->bit;
	return 0;
}

/* Returns true if a loop has a wait or, instead, a start site. */
static bool have_begins(const struct pguard_profile *profile, const unsigned long *has_wait)
{
	u32 i;

	for (i = 0; i < profile->nr_loops; i++)
		if (test_bit(i, has_wait) == profile->loops[i].is_life)
			return false;
	return true;
}

static int make_boundaries(struct pguard_profile *profile, struct netlink_ext_ack *extack)
{
	const struct perfguard_boundary *from =
		profile->staging->arrays[PGUARD_STAGING_BOUNDARIES].items;
	DECLARE_BITMAP(has_wait, PGUARD_MAX_PROFILE_LOOPS) = { };
	u32 i, nr = profile->staging->arrays[PGUARD_STAGING_BOUNDARIES].nr;
	int ret = 0;

	for (i = 0; i < nr; i++) {
		if (from[i].loop >= profile->nr_loops)
			return refuse(extack, "a boundary is of an event loop that is not there");
		if (from[i].reserved)
			return refuse(extack, "a reserved word of a boundary is not 0");
		switch (from[i].role) {
		case PERFGUARD_BOUNDARY_ROLE_WAIT:
			__set_bit(from[i].loop, has_wait);
			fallthrough;
		case PERFGUARD_BOUNDARY_ROLE_EVENT_CALL:
			ret = add_call(profile, &from[i], extack);
			break;
		case PERFGUARD_BOUNDARY_ROLE_EVENT_SITE:
			if (from[i].guard >= profile->nr_guards)
				return refuse(extack,
					      "an event site is at a guard that is not there");
			profile->guards[from[i].guard].events |= profile->loops[from[i].loop].bit;
			break;
		case PERFGUARD_BOUNDARY_ROLE_START_SITE:
			ret = add_start(profile, &from[i], extack);
			break;
		default:
			return refuse(extack, "a boundary has an unknown role");
		}
		if (ret)
			return ret;
	}
	if (!have_begins(profile, has_wait))
		return refuse(extack, "an event loop has no wait, or a start site beside it");
	return 0;
}

static struct pguard_limits limits_of(const struct perfguard_type *type)
{
	return (struct pguard_limits){
		.ns = {
			[PERFGUARD_PART_ALL - 1] = type->threshold_ns,
			[PERFGUARD_PART_OWN - 1] = type->own_ns,
			[PERFGUARD_PART_CPU - 1] = type->cpu_ns,
			[PERFGUARD_PART_BLOCKED - 1] = type->blocked_ns,
			[PERFGUARD_PART_BLOCK_IO - 1] = type->block_io_ns,
		},
	};
}

static struct request_parts request_limits_of(const struct perfguard_type *type)
{
	return (struct request_parts){
		.of = {
			[REQUEST_PART_ALL] = type->request_ns,
			[REQUEST_PART_WORKING] = type->request_working_ns,
			[REQUEST_PART_PEERS] = type->request_peers_ns,
			[REQUEST_PART_HELD] = type->request_held_ns,
		},
	};
}

/* A type without a limit of all of a request's time has none. */
static void take_request_limits(struct pguard_profile *profile, const struct request_parts *limits)
{
	struct request_parts *most = &profile->request_most;
	bool is_first = !most->of[REQUEST_PART_ALL];
	u32 i;

	if (!limits->of[REQUEST_PART_ALL])
		return;
	for (i = 0; i < REQUEST_NR_PARTS; i++) {
		profile->request_least = pguard_limit_sooner(profile->request_least, limits->of[i]);
		most->of[i] = is_first ? limits->of[i]
				       : pguard_limit_later(most->of[i], limits->of[i]);
	}
}

static int make_types(struct pguard_profile *profile, struct netlink_ext_ack *extack)
{
	const struct perfguard_type *from = profile->staging->arrays[PGUARD_STAGING_TYPES].items;
	struct pguard_loop *loop = profile->loops;
	struct pguard_limits *limits;
	struct request_parts request;
	u32 i;

	for (i = 0; i < profile->nr_types; i++) {
		if (from[i].loop >= profile->nr_loops)
			return refuse(extack, "a type is of an event loop that is not there");
		if (i && from[i].loop < from[i - 1].loop)
			return refuse(extack, "the types are not in the order of the event loops");
		if (!from[i].id || from[i].id > MAX_TYPE_ID)
			return refuse(extack, "a type's id is 0 or too large");
		if (from[i].reserved)
			return refuse(extack, "a reserved word of a type is not 0");
		if (from[i].interrupt_ns > PERFGUARD_MAX_ADDED_NS ||
		    from[i].batch_ns > PERFGUARD_MAX_ADDED_NS)
			return refuse(extack, "interrupts or batches add too much to a type");
		for (; loop < &profile->loops[from[i].loop]; loop++)
			loop[1].first_type = i;
		limits = &profile->limits[i];
		*limits = limits_of(&from[i]);
		request = request_limits_of(&from[i]);
		profile->ticks[i] = pguard_verdict_ticks(limits, &request);
		take_request_limits(profile, &profile->ticks[i].request);
		if (!loop->table.nr_types++)
			loop->widest = *limits;
		pguard_limits_widen(&loop->widest, limits);
		loop->interrupt_ns = max(loop->interrupt_ns, from[i].interrupt_ns);
		loop->batch_ns = max(loop->batch_ns, from[i].batch_ns);
		loop->novel.ns[PERFGUARD_PART_OWN - 1] =
			max(loop->novel.ns[PERFGUARD_PART_OWN - 1], from[i].novel_ns);
		profile->types[i] = (struct infer_type){
			.threshold_ns = pguard_limit_sooner(from[i].threshold_ns, from[i].own_ns),
			.id = from[i].id,
			.base_early = from[i].base_early,
			.base_final = from[i].base_final,
			.least_final = from[i].least_final,
		};
		profile->least_limit = pguard_limit_sooner(profile->least_limit,
							   pguard_limits_least(limits));
	}
	for (; loop < &profile->loops[profile->nr_loops - 1]; loop++)
		loop[1].first_type = profile->nr_types;
	return 0;
}

/* Contexts and their weights, those of an event loop one after the other. */
static int make_contexts(struct pguard_profile *profile, struct netlink_ext_ack *extack)
{
	const struct perfguard_calling_context *from =
		profile->staging->arrays[PGUARD_STAGING_CONTEXTS].items;
	struct infer_table *table;
	u32 i, nr_weights = 0;

	for (i = 0; i < profile->nr_contexts; i++) {
		if (from[i].loop >= profile->nr_loops)
			return refuse(extack, "a context is of an event loop that is not there");
		if (i && from[i].loop < from[i - 1].loop)
			return refuse(extack, "the contexts are not in the order of the event loops");
		if (from[i].guard >= profile->nr_guards)
			return refuse(extack, "a context is at a guard that is not there");
		if (from[i].nr_weights > profile->nr_weights - nr_weights)
			return refuse(extack, "there are fewer weights than the contexts have");
		profile->guards[from[i].guard].has_contexts = true;
		table = &profile->loops[from[i].loop].table;
		if (!table->nr_contexts) {
			table->contexts = &profile->contexts[i];
			table->weights = &profile->weights[nr_weights];
		}
		profile->contexts[i] = (struct infer_context){
			.site = from[i].guard,
			.depth = from[i].depth,
			.first_weight = table->nr_weights,
			.nr_weights = from[i].nr_weights,
		};
		table->nr_contexts++;
		table->nr_weights += from[i].nr_weights;
		nr_weights += from[i].nr_weights;
	}
	if (nr_weights != profile->nr_weights)
		return refuse(extack, "there are more weights than the contexts have");
	if (nr_weights)
		memcpy(profile->weights, profile->staging->arrays[PGUARD_STAGING_WEIGHTS].items,
		       nr_weights * sizeof(*profile->weights));
	return 0;
}

/* Bytes of a loop's table, and of its hit slots behind it. */
static size_t loop_room(const struct infer_table *table)
{
	return ALIGN(infer_room(table) + table->nr_contexts, sizeof(u64));
}

/* Complete the table of a loop, its hit slots and its verdict cache. */
static int complete_loop(struct pguard_profile *profile, struct pguard_loop *loop, void *room,
			 struct netlink_ext_ack *extack)
{
	struct infer_table *table = &loop->table;
	int ret = infer_table_init(table, room);
	size_t bytes;

	if (ret == -EEXIST)
		return refuse(extack, "two contexts of an event loop are equal");
	if (ret)
		return refuse(extack, "a weight is too large, or of a type that is not there");
	loop->hit_slots.of = room + infer_room(table);
	memset(loop->hit_slots.of, PGUARD_NO_HIT_SLOT, table->nr_contexts);
	bytes = pguard_verdict_make_first(loop);
	profile->bytes += bytes;
	return bytes ? 0 : -ENOMEM;
}

/* What a unit may take that may be of no type: all of its time, and its own. */
static void complete_novel(struct pguard_loop *loop)
{
	u64 own = loop->novel.ns[PERFGUARD_PART_OWN - 1];

	loop->novel = loop->widest;
	if (!own)
		return;
	own = pguard_limit_later(own, loop->widest.ns[PERFGUARD_PART_OWN - 1]);
	loop->novel = (struct pguard_limits){
		.ns = {
			[PERFGUARD_PART_ALL - 1] = loop->widest.ns[PERFGUARD_PART_ALL - 1],
			[PERFGUARD_PART_OWN - 1] = own,
		},
	};
}

/* Complete the tables: their parts, and what contexts are found by. */
static int complete_tables(struct pguard_profile *profile, struct netlink_ext_ack *extack)
{
	struct infer_table *table;
	size_t size = 0;
	void *room;
	int ret;
	u32 i;

	for (i = 0; i < profile->nr_loops; i++)
		size += loop_room(&profile->loops[i].table);
	profile->room = table_new(profile, size, 1);
	if (!profile->room)
		return -ENOMEM;
	room = profile->room;
	for (i = 0; i < profile->nr_loops; i++) {
		table = &profile->loops[i].table;
		table->types = &profile->types[profile->loops[i].first_type];
		profile->loops[i].limits = &profile->limits[profile->loops[i].first_type];
		profile->loops[i].ticks = &profile->ticks[profile->loops[i].first_type];
		complete_novel(&profile->loops[i]);
		ret = complete_loop(profile, &profile->loops[i], room, extack);
		if (ret)
			return ret;
		room += loop_room(table);
		cond_resched();
	}
	return 0;
}

/**
 * pguard_tables_make() - check what was loaded and make the tables from it
 * @profile: with its staging and its objects; gets all the rest
 * @extack: takes the reason of a refusal
 *
 * Context: may sleep; an order arms the profile.
 * Return: 0, or an error with no tables made.
 */
int pguard_tables_make(struct pguard_profile *profile, struct netlink_ext_ack *extack)
{
	int ret = tables_alloc(profile);

	if (!ret && !profile->nr_objects)
		ret = refuse(extack, "the profile has no object: which executable?");
	ret = ret ?: make_loops(profile, extack);
	ret = ret ?: make_guards(profile, extack);
	ret = ret ?: make_boundaries(profile, extack);
	ret = ret ?: make_types(profile, extack);
	ret = ret ?: make_contexts(profile, extack);
	ret = ret ?: complete_tables(profile, extack);
	if (ret)
		pguard_profile_free_tables(profile);
	return ret;
}
