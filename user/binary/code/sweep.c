// SPDX-License-Identifier: GPL-2.0
/*
 * A cold part is joined to the function that jumps into it, directly or by
 * another part of the same function; else to the function in the middle of which
 * it jumps back.  Compilers emit them so: nothing calls such a part, and no
 * other function can use it.
 *
 * The stack at the start of such a part is not as a call leaves it, unless its
 * function had not touched the stack yet.  Then the part is recognized by its
 * one conditional branch from a single function and by having no calls:
 * compilers branch to no function.  Assembly does, but its functions are aligned,
 * which cold parts are not.
 */

#include "binary/code/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "binary/code/scan.h"

/* A jump or branch from one range to another. */
struct leap {
	uint32_t from;
	uint32_t to;
	bool to_start;
	bool is_branch;
};

struct sweep {
	struct ranges *ranges;
	struct sweep_facts *facts;
	struct leap *leaps;
	size_t nr_leaps;
	size_t max_leaps;
};

static int add_leap(struct sweep *sweep, struct leap leap)
{
	if (array_grow(sweep->leaps, sweep->nr_leaps, sweep->max_leaps))
		return -ENOMEM;
	sweep->leaps[sweep->nr_leaps++] = leap;
	return 0;
}

/* A jump, branch or call of range @from to @insn's target. */
static int note_target(struct sweep *sweep, uint32_t from, const struct scan *insn)
{
	const struct range *ranges = sweep->ranges->entries, *target = &ranges[from];
	struct sweep_facts *facts;
	uint64_t at;
	uint32_t to;

	if (insn->target - target->addr >= target->size) {
		target = ranges_find(sweep->ranges, insn->target);
		if (!target) {
			sweep->facts[from].has_exit |= insn->flow != INSN_CALL;
			return 0;
		}
	}
	to = (uint32_t)(target - ranges);
	facts = &sweep->facts[to];
	at = insn->target - target->addr;
	if (at && at < SWEEP_NEAR)
		facts->near[at / 64] |= 1ull << at % 64;
	if (insn->flow == INSN_CALL)
		facts->is_called |= !at;
	else if (to == from)
		facts->start_is_target |= !at && !target->is_go;
	else
		return add_leap(sweep, (struct leap){ from, to, !at, insn->flow == INSN_BRANCH });
	return 0;
}

static int sweep_range(struct sweep *sweep, const struct file_view *view, uint32_t index)
{
	const struct range *range = &sweep->ranges->entries[index];
	struct sweep_facts *facts = &sweep->facts[index];
	const uint8_t *code = view->bytes + range->offset;
	struct scan insn = { .size = 0 };
	uint32_t at = 0;
	int err = 0;

	facts->is_sound = true;
	while (at < range->size && !err) {
		if (!scan_insn(code + at, range->size - at, range->addr + at, &insn)) {
			facts->is_sound = false;
			at++;
			continue;
		}
		facts->nr_insns++;
		at += insn.size;
		facts->has_call |= insn_is_call(insn.flow);
		facts->has_indirect_jump |= insn.flow == INSN_JUMP_INDIRECT;
		facts->has_exit |= insn.flow == INSN_JUMP_INDIRECT || insn.flow == INSN_RETURN;
		if (insn_has_target(insn.flow))
			err = note_target(sweep, index, &insn);
	}
	/* it can also run into the next range */
	if (!facts->is_sound || insn.flow == INSN_NEXT || insn.flow == INSN_BRANCH)
		facts->has_exit = true;
	return err;
}

static void find_branchers(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->nr_leaps; i++) {
		const struct leap *leap = &sweep->leaps[i];
		uint32_t *brancher = &sweep->facts[leap->to].brancher;

		if (!leap->to_start || !leap->is_branch)
			continue;
		*brancher = *brancher == SWEEP_NONE || *brancher == leap->from ?
			leap->from : SWEEP_MANY;
	}
}

/* A start aligned by chance: the next range follows without a gap, unaligned. */
static bool is_aligned(const struct ranges *ranges, uint32_t index)
{
	enum { ALIGNMENT = 16 };
	const struct range *range = &ranges->entries[index];
	uint64_t end = range->addr + range->size;

	if (range->addr % ALIGNMENT)
		return false;
	return index + 1 == ranges->nr || range[1].addr != end || !(end % ALIGNMENT);
}

static void find_cold(struct sweep *sweep)
{
	struct ranges *ranges = sweep->ranges;

	for (uint32_t i = 0; i < ranges->nr; i++)
		if (ranges->entries[i].kind == RANGE_FUNCTION && !sweep->facts[i].is_called &&
		    sweep->facts[i].brancher < SWEEP_MANY && !is_aligned(ranges, i))
			ranges->entries[i].kind = RANGE_COLD;
}

static enum range_kind kind_of(const struct sweep *sweep, uint32_t index)
{
	return sweep->ranges->entries[index].kind;
}

/* Cold ranges that functions jump to. */
static void join_by_jump(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->nr_leaps; i++) {
		const struct leap *leap = &sweep->leaps[i];

		if (kind_of(sweep, leap->from) == RANGE_FUNCTION &&
		    kind_of(sweep, leap->to) == RANGE_COLD &&
		    sweep->facts[leap->to].parent == SWEEP_NONE)
			sweep->facts[leap->to].parent = leap->from;
	}
}

/* Cold ranges that only other cold ranges jump to: they have the same parent. */
static void join_chains(struct sweep *sweep)
{
	enum { MAX_ROUNDS = 16 };
	bool changed = true;

	for (int round = 0; changed && round < MAX_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < sweep->nr_leaps; i++) {
			const struct leap *leap = &sweep->leaps[i];
			uint32_t parent = sweep->facts[leap->from].parent;
			struct sweep_facts *facts = &sweep->facts[leap->to];

			if (kind_of(sweep, leap->from) != RANGE_COLD ||
			    kind_of(sweep, leap->to) != RANGE_COLD ||
			    facts->parent != SWEEP_NONE || parent == SWEEP_NONE)
				continue;
			facts->parent = parent;
			changed = true;
		}
	}
}

static void join_by_way_back(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->nr_leaps; i++) {
		const struct leap *leap = &sweep->leaps[i];

		if (kind_of(sweep, leap->from) == RANGE_COLD &&
		    kind_of(sweep, leap->to) == RANGE_FUNCTION && !leap->to_start &&
		    sweep->facts[leap->from].parent == SWEEP_NONE)
			sweep->facts[leap->from].parent = leap->to;
	}
}

/* The first range of the function that a range is a part of. */
static uint32_t head_of(const struct sweep *sweep, uint32_t index)
{
	uint32_t parent = sweep->facts[index].parent;

	return parent == SWEEP_NONE ? index : parent;
}

/* Distinguish jumps inside of a function from those out of one. */
static void settle_leaps(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->nr_leaps; i++) {
		const struct leap *leap = &sweep->leaps[i];
		uint32_t head = head_of(sweep, leap->from);

		if (head != head_of(sweep, leap->to))
			sweep->facts[leap->from].has_exit = true;
		else if (head == leap->to)
			sweep->facts[leap->to].start_is_target |= leap->to_start;
	}
}

int sweep(const struct file_view *view, struct ranges *ranges, struct sweep_facts **ret)
{
	struct sweep state = { .ranges = ranges };
	int err = 0;

	if (array_new(state.facts, ranges->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < ranges->nr; i++)
		state.facts[i].parent = state.facts[i].brancher = SWEEP_NONE;
	for (uint32_t i = 0; i < ranges->nr && !err; i++)
		err = sweep_range(&state, view, i);
	find_branchers(&state);
	find_cold(&state);
	join_by_jump(&state);
	join_chains(&state);
	join_by_way_back(&state);
	join_chains(&state);
	settle_leaps(&state);
	free(state.leaps);
	if (err)
		free(state.facts);
	else
		*ret = state.facts;
	return err;
}
