// SPDX-License-Identifier: GPL-2.0
/*
 * A part that was moved away is joined to the function that jumps into it, or
 * that another part of the same function jumps into; else to the function in
 * the middle of which it jumps back.  The compiler makes them so: nobody calls
 * such a part, and no other function can use it.
 *
 * That the stack is not as a call leaves it tells such a part, unless its
 * function had not touched the stack yet.  Then it is what one function has a
 * conditional branch to, and nobody calls: compilers branch to no function.
 * Assembly does; but its functions are aligned, which cold parts are not.
 */

#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "insn.h"

/* A jump that leaves a cold range for another range. */
struct leap {
	uint32_t from;
	uint32_t to;
	bool to_start;
};

struct sweep {
	const struct ranges *ranges;
	struct sweep_facts *facts;
	struct leap *leaps;
	size_t nr_leaps;
	size_t max_leaps;
};

static int add_leap(struct sweep *sweep, uint32_t from, uint32_t to, bool to_start)
{
	if (sweep->nr_leaps == sweep->max_leaps) {
		size_t max = sweep->max_leaps ? 2 * sweep->max_leaps : 256;
		struct leap *leaps = realloc(sweep->leaps, max * sizeof(*leaps));

		if (!leaps)
			return -ENOMEM;
		sweep->leaps = leaps;
		sweep->max_leaps = max;
	}
	sweep->leaps[sweep->nr_leaps++] = (struct leap){ from, to, to_start };
	return 0;
}

/* A branch of range @from to @insn's target. */
static int note_target(struct sweep *sweep, uint32_t from, const struct insn *insn)
{
	const struct range *ranges = sweep->ranges->entries, *target = &ranges[from];
	bool is_call = insn->flow == INSN_CALL;
	struct sweep_facts *facts;
	uint64_t at;
	uint32_t to;

	if (insn->target - target->addr >= target->size) {
		target = ranges_find(sweep->ranges, insn->target);
		if (!target) {
			sweep->facts[from].has_exit |= !is_call;
			return 0;
		}
	}
	to = (uint32_t)(target - ranges);
	facts = &sweep->facts[to];
	at = insn->target - target->addr;
	if (at && at < SWEEP_NEAR)
		facts->near[at / 64] |= 1ull << at % 64;
	if (is_call) {
		facts->is_called = facts->is_called || !at;
		return 0;
	}
	if (!at && to != from && insn->flow == INSN_BRANCH)
		facts->brancher = facts->brancher == SWEEP_NONE || facts->brancher == from ?
			from : SWEEP_MANY;
	if (to == from) {
		facts->start_is_target = facts->start_is_target || !at;
		return 0;
	}
	if (target->kind == RANGE_COLD && ranges[from].kind == RANGE_FUNCTION &&
	    facts->parent == SWEEP_NONE)
		facts->parent = from;
	if (ranges[from].kind == RANGE_COLD)
		return add_leap(sweep, from, to, !at);
	if (target->kind != RANGE_COLD)
		sweep->facts[from].has_exit = true;
	return 0;
}

static int sweep_range(struct sweep *sweep, const struct file_view *view, uint32_t index)
{
	const struct range *range = &sweep->ranges->entries[index];
	struct sweep_facts *facts = &sweep->facts[index];
	const uint8_t *code = view->bytes + range->offset;
	struct insn insn = { .size = 0 };
	uint32_t at = 0;
	int err = 0;

	facts->is_sound = true;
	while (at < range->size && !err) {
		if (!insn_decode(code + at, range->size - at, range->addr + at, &insn)) {
			facts->is_sound = false;
			at++;
			continue;
		}
		facts->nr_insns++;
		at += insn.size;
		if (insn.flow == INSN_CALL || insn.flow == INSN_CALL_INDIRECT)
			facts->has_call = true;
		else if (insn.flow == INSN_JUMP_INDIRECT)
			facts->has_indirect_jump = facts->has_exit = true;
		else if (insn.flow == INSN_RETURN)
			facts->has_exit = true;
		if (insn.flow == INSN_CALL || insn.flow == INSN_JUMP || insn.flow == INSN_BRANCH)
			err = note_target(sweep, index, &insn);
	}
	/* it can also run into what follows */
	if (!facts->is_sound || insn.flow == INSN_NEXT || insn.flow == INSN_BRANCH)
		facts->has_exit = true;
	return err;
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

			if (sweep->ranges->entries[leap->to].kind != RANGE_COLD ||
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

		if (sweep->facts[leap->from].parent == SWEEP_NONE && !leap->to_start &&
		    sweep->ranges->entries[leap->to].kind == RANGE_FUNCTION)
			sweep->facts[leap->from].parent = leap->to;
	}
}

/* Is a jump from a cold part one inside of its function? */
static void settle_leaps(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->nr_leaps; i++) {
		const struct leap *leap = &sweep->leaps[i];
		uint32_t parent = sweep->facts[leap->from].parent;

		if (parent == leap->to)
			sweep->facts[leap->to].start_is_target |= leap->to_start;
		else if (parent != SWEEP_NONE && parent != sweep->facts[leap->to].parent)
			sweep->facts[leap->from].has_exit = true;
	}
}

static int sweep_all(struct sweep *sweep, const struct file_view *view)
{
	uint32_t nr = sweep->ranges->nr;
	int err = 0;

	memset(sweep->facts, 0, nr * sizeof(*sweep->facts));
	sweep->nr_leaps = 0;
	for (uint32_t i = 0; i < nr; i++)
		sweep->facts[i].parent = sweep->facts[i].brancher = SWEEP_NONE;
	for (uint32_t i = 0; i < nr && !err; i++)
		err = sweep_range(sweep, view, i);
	return err;
}

/* A start that happens to be aligned is told by what follows without a gap. */
static bool is_aligned(const struct ranges *ranges, uint32_t index)
{
	enum { USUAL = 16 };
	const struct range *range = &ranges->entries[index];
	uint64_t end = range->addr + range->size;

	if (range->addr % USUAL)
		return false;
	return index + 1 == ranges->nr || range[1].addr != end || !(end % USUAL);
}

static bool find_cold(struct ranges *ranges, const struct sweep_facts *facts)
{
	bool found = false;

	for (uint32_t i = 0; i < ranges->nr; i++) {
		if (ranges->entries[i].kind != RANGE_FUNCTION || facts[i].is_called ||
		    facts[i].brancher >= SWEEP_MANY || is_aligned(ranges, i))
			continue;
		ranges->entries[i].kind = RANGE_COLD;
		found = true;
	}
	return found;
}

int sweep(const struct file_view *view, struct ranges *ranges, struct sweep_facts **ret)
{
	struct sweep state = { .ranges = ranges };
	int err;

	state.facts = calloc(ranges->nr ? ranges->nr : 1, sizeof(*state.facts));
	if (!state.facts)
		return -ENOMEM;
	err = sweep_all(&state, view);
	if (!err && find_cold(ranges, state.facts))
		err = sweep_all(&state, view);
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
