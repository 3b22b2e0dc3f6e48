// SPDX-License-Identifier: GPL-2.0

#include "binary/code/cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "binary/code/landing.h"

/* Marks of instructions. */
enum {
	BEGINS = 1 << 0, /* a block */
	ENDS = 1 << 1, /* a part of the function, or unknown bytes follow */
};

/* An indirect jump by a table. */
struct cfg_switch {
	uint32_t at; /* instruction */
	uint32_t first; /* of its targets */
	uint32_t nr;
};

struct cfg_build {
	const struct functions *functions;
	const struct function *function;
	struct cfg *cfg;
	uint8_t *marks; /* by instruction */
	uint32_t *block_of; /* by instruction */
	uint32_t *pads; /* by instruction: its landing pad if it throws, or GRAPH_NONE */
	uint32_t max_insns;
	uint32_t max_blocks;
	uint32_t nr_successors;
	uint32_t max_successors;
	struct jump_targets targets;
	struct cfg_switch *switches; /* by rising instruction */
	size_t max_switches;
	uint32_t nr_switches;
};

static void decode_part(struct cfg_build *build, const struct range *range)
{
	const uint8_t *code = build->functions->view->bytes + range->offset;
	struct cfg *cfg = build->cfg;
	uint32_t at = 0, first = cfg->nr_insns;
	bool is_decoded = false;

	while (at < range->size && cfg->nr_insns < build->max_insns) {
		struct code_insn *insn = &cfg->insns[cfg->nr_insns];

		insn->addr = range->addr + at;
		if (!scan_insn(code + at, range->size - at, insn->addr, &insn->insn)) {
			if (cfg->nr_insns > first)
				build->marks[cfg->nr_insns - 1] |= ENDS;
			is_decoded = false;
			at++;
			continue;
		}
		if (!is_decoded)
			build->marks[cfg->nr_insns] |= BEGINS;
		is_decoded = true;
		cfg->nr_insns++;
		at += insn->insn.size;
	}
	if (cfg->nr_insns > first)
		build->marks[cfg->nr_insns - 1] |= ENDS;
}

static void decode(struct cfg_build *build)
{
	const struct ranges *ranges = &build->functions->ranges;
	uint32_t first = build->function->first_range;

	/* the first is the function's start, the others may be before or behind it */
	for (uint32_t i = ranges->entries[first].next; i < first; i = ranges->entries[i].next)
		decode_part(build, &ranges->entries[i]);
	decode_part(build, &ranges->entries[first]);
	for (uint32_t i = ranges->entries[first].next; i != RANGES_NONE;
	     i = ranges->entries[i].next)
		if (i > first)
			decode_part(build, &ranges->entries[i]);
}

static bool never_returns(const struct cfg_build *build, const struct scan *insn)
{
	const struct functions *functions = build->functions;
	const struct function *callee;

	if (noreturn_is_call(&functions->noreturn, functions->view, insn))
		return true;
	callee = insn->flow == INSN_CALL ? functions_at(functions, insn->target) : NULL;
	return callee && callee->never_returns;
}

/* True if control continues with the next instruction. */
static bool falls_through(const struct cfg_build *build, uint32_t at)
{
	const struct scan *insn = &build->cfg->insns[at].insn;

	if (build->marks[at] & ENDS)
		return false;
	switch (insn->flow) {
	case INSN_NEXT: case INSN_BRANCH: case INSN_SYSCALL:
		return true;
	case INSN_CALL: case INSN_CALL_INDIRECT:
		return !never_returns(build, insn);
	default:
		return false;
	}
}

static void mark_target(struct cfg_build *build, uint64_t target)
{
	uint32_t at = code_insn_find(build->cfg->insns, build->cfg->nr_insns, target);

	if (at < build->cfg->nr_insns)
		build->marks[at] |= BEGINS;
}

/*
 * True if the indirect jump at @at is a tail call: it goes through a plain
 * pointer in memory, or the function has just released its frame.
 */
static bool is_tail_call(const struct cfg_build *build, uint32_t at)
{
	enum { REACH = 12 };
	const struct code_insn *insns = build->cfg->insns;
	uint32_t stop = at > REACH ? at - REACH : 0;
	struct insn insn;

	code_insn_decode(build->functions, &insns[at], &insn);
	if (insn.ops[0].type == X86_OP_MEM)
		return insn.ops[0].mem.index == X86_REG_INVALID;
	while (at > stop && !(build->marks[at] & BEGINS)) {
		code_insn_decode(build->functions, &insns[--at], &insn);
		if (insn.id == X86_INS_POP || insn.id == X86_INS_LEAVE)
			return true;
		if (insns[at].insn.flow != INSN_NEXT)
			break;
	}
	return false;
}

/* Each call has one landing pad; ranges of calls do not overlap in valid tables. */
static void mark_pads(struct cfg_build *build, const struct range *range)
{
	const struct cfg *cfg = build->cfg;
	uint32_t left = 2 * cfg->nr_insns;
	struct landing_pad pad;
	struct landing landing;

	if (!landing_open(build->functions->view, range, &landing))
		return;
	while (landing_next(&landing, &pad)) {
		uint32_t at = code_insn_find(cfg->insns, cfg->nr_insns, pad.pad);

		if (at == cfg->nr_insns)
			continue;
		build->marks[at] |= BEGINS;
		for (uint32_t i = code_insn_from(cfg->insns, cfg->nr_insns, pad.start);
		     i < cfg->nr_insns && cfg->insns[i].addr < pad.end; i++) {
			if (!left--)
				return;
			if (insn_is_call(cfg->insns[i].insn.flow))
				build->pads[i] = at;
		}
	}
}

static void mark_all_pads(struct cfg_build *build)
{
	const struct ranges *ranges = &build->functions->ranges;

	memset(build->pads, 0xff, build->cfg->nr_insns * sizeof(*build->pads));
	for (uint32_t i = build->function->first_range; i != RANGES_NONE;
	     i = ranges->entries[i].next)
		mark_pads(build, &ranges->entries[i]);
	for (uint32_t i = 0; i < build->cfg->nr_insns; i++)
		build->max_successors += build->pads[i] != GRAPH_NONE;
}

static int mark_switch(struct cfg_build *build, uint32_t at)
{
	struct cfg *cfg = build->cfg;
	uint32_t first = build->targets.nr;
	int ret = jump_targets_read(&build->targets, build->functions, cfg->insns, cfg->nr_insns,
				    at);

	if (ret > 0 && array_grow(build->switches, build->nr_switches, build->max_switches))
		ret = -ENOMEM;
	if (ret < 0)
		return ret;
	if (!ret) {
		cfg->nr_unresolved += !is_tail_call(build, at);
		return 0;
	}
	build->switches[build->nr_switches++] = (struct cfg_switch){
		.at = at, .first = first, .nr = build->targets.nr - first,
	};
	cfg->nr_tables++;
	for (uint32_t i = first; i < build->targets.nr; i++)
		build->marks[build->targets.entries[i]] |= BEGINS;
	return 0;
}

static int mark_blocks(struct cfg_build *build)
{
	struct cfg *cfg = build->cfg;
	int err = 0;

	mark_target(build, build->function->addr);
	mark_all_pads(build);
	for (uint32_t i = 0; i < cfg->nr_insns && !err; i++) {
		const struct scan *insn = &cfg->insns[i].insn;

		if (insn->flow == INSN_BRANCH || insn->flow == INSN_JUMP)
			mark_target(build, insn->target);
		if (i + 1 < cfg->nr_insns && (insn->flow == INSN_BRANCH || !falls_through(build, i)))
			build->marks[i + 1] |= BEGINS;
		if (insn->flow == INSN_JUMP_INDIRECT)
			err = mark_switch(build, i);
	}
	build->max_successors += build->targets.nr;
	for (uint32_t i = 0; i < cfg->nr_insns; i++)
		build->max_blocks += build->marks[i] & BEGINS;
	return err;
}

static void make_blocks(struct cfg_build *build)
{
	struct cfg *cfg = build->cfg;

	for (uint32_t i = 0; i < cfg->nr_insns; i++) {
		struct cfg_block *block;

		if (build->marks[i] & BEGINS)
			cfg->blocks[cfg->nr_blocks++] = (struct cfg_block){
				.addr = cfg->insns[i].addr, .first_insn = i,
			};
		block = &cfg->blocks[cfg->nr_blocks - 1];
		block->nr_insns++;
		block->size = (uint32_t)(cfg->insns[i].addr - block->addr) + cfg->insns[i].insn.size;
		build->block_of[i] = cfg->nr_blocks - 1;
	}
}

static void add_edge(struct cfg_build *build, uint64_t target)
{
	struct cfg *cfg = build->cfg;
	uint32_t at = code_insn_find(cfg->insns, cfg->nr_insns, target);

	if (at < cfg->nr_insns)
		cfg->successors[build->nr_successors++] = build->block_of[at];
}

static void add_pads(struct cfg_build *build, const struct cfg_block *block)
{
	uint32_t last = GRAPH_NONE;

	for (uint32_t i = block->first_insn; i < block->first_insn + block->nr_insns; i++) {
		uint32_t pad = build->pads[i];

		if (pad != GRAPH_NONE && pad != last)
			build->cfg->successors[build->nr_successors++] = build->block_of[pad];
		last = pad == GRAPH_NONE ? last : pad;
	}
}

/* Whether calls fall through is read from the file again: there is room for it. */
static void make_edges(struct cfg_build *build)
{
	struct cfg *cfg = build->cfg;
	uint32_t next = 0;

	for (uint32_t i = 0; i < cfg->nr_blocks; i++) {
		const struct cfg_block *block = &cfg->blocks[i];
		uint32_t last = block->first_insn + block->nr_insns - 1;
		const struct scan *insn = &cfg->insns[last].insn;

		cfg->first[i] = build->nr_successors;
		if (falls_through(build, last))
			cfg->successors[build->nr_successors++] = i + 1;
		if (insn->flow == INSN_BRANCH || insn->flow == INSN_JUMP)
			add_edge(build, insn->target);
		if (next < build->nr_switches && build->switches[next].at == last) {
			const struct cfg_switch *its = &build->switches[next++];

			for (uint32_t k = its->first; k < its->first + its->nr; k++)
				cfg->successors[build->nr_successors++] =
					build->block_of[build->targets.entries[k]];
		}
		add_pads(build, block);
	}
	cfg->first[cfg->nr_blocks] = build->nr_successors;
}

static int read_insns(struct cfg_build *build)
{
	uint32_t nr = build->function->nr_insns;

	build->max_insns = nr;
	if (array_new(build->cfg->insns, nr) || array_new(build->marks, nr))
		return -ENOMEM;
	decode(build);
	/* jumps that share tables must not make more edges than there is code */
	build->targets.nr_left = 4 * build->cfg->nr_insns + 1024;
	return 0;
}

static int allocate_blocks(struct cfg_build *build)
{
	struct cfg *cfg = build->cfg;

	build->max_successors += 2 * build->max_blocks;
	return array_new(cfg->blocks, build->max_blocks) ||
	       array_new(cfg->first, build->max_blocks + 1UL) ||
	       array_new(cfg->successors, build->max_successors) ? -ENOMEM : 0;
}

static int analyse(struct cfg_build *build)
{
	struct cfg *cfg = build->cfg;
	struct graph graph;
	int err;

	err = read_insns(build);
	if (!err && (array_new(build->block_of, cfg->nr_insns) ||
		     array_new(build->pads, cfg->nr_insns)))
		err = -ENOMEM;
	if (!err)
		err = mark_blocks(build);
	if (!err)
		err = allocate_blocks(build);
	if (err)
		return err;
	make_blocks(build);
	make_edges(build);
	cfg->entry = cfg_find(cfg, build->function->addr);
	graph = (struct graph){
		.nr = cfg->nr_blocks,
		.entry = cfg->entry,
		.first = cfg->first,
		.successors = cfg->successors,
	};
	return dominators_init(&cfg->dominators, &graph);
}

static void forget_build(struct cfg_build *build)
{
	free(build->marks);
	free(build->block_of);
	free(build->pads);
	free(build->targets.entries);
	free(build->switches);
}

int cfg_init(struct cfg *cfg, const struct functions *functions, const struct function *function)
{
	uint64_t steps_left = jump_targets_steps(function->nr_insns);
	struct cfg_build build = {
		.functions = functions,
		.function = function,
		.cfg = cfg,
		.targets.steps_left = &steps_left,
	};
	int err;

	memset(cfg, 0, sizeof(*cfg));
	err = analyse(&build);
	forget_build(&build);
	if (err)
		cfg_deinit(cfg);
	return err;
}

void cfg_deinit(struct cfg *cfg)
{
	dominators_deinit(&cfg->dominators);
	free(cfg->insns);
	free(cfg->blocks);
	free(cfg->first);
	free(cfg->successors);
	memset(cfg, 0, sizeof(*cfg));
}

static void note_target(struct function *function, uint64_t target)
{
	uint64_t at = target - function->addr;

	if (!at)
		function->entry_is_target = true;
	else if (at < SWEEP_NEAR)
		function->near[at / 64] |= 1ull << at % 64;
}

/* Neither blocks nor loops are needed for that. */
static int note_tables(const struct functions *functions, struct function *function,
		       uint64_t *steps_left)
{
	struct cfg cfg = { .nr_insns = 0 };
	struct cfg_build build = {
		.functions = functions,
		.function = function,
		.cfg = &cfg,
		.targets.steps_left = steps_left,
	};
	struct jump_targets *targets = &build.targets;
	int ret = read_insns(&build);

	for (uint32_t i = 0; i < cfg.nr_insns && ret >= 0; i++) {
		if (cfg.insns[i].insn.flow != INSN_JUMP_INDIRECT)
			continue;
		targets->nr = 0;
		ret = jump_targets_read(targets, functions, cfg.insns, cfg.nr_insns, i);
		for (uint32_t k = 0; k < targets->nr; k++)
			note_target(function, cfg.insns[targets->entries[k]].addr);
	}
	forget_build(&build);
	cfg_deinit(&cfg);
	return ret < 0 ? ret : 0;
}

int cfg_note_tables(struct functions *functions)
{
	uint64_t nr_insns = 0, steps_left;
	int err = 0;

	for (uint32_t i = 0; i < functions->nr; i++)
		nr_insns += functions->entries[i].nr_insns;
	steps_left = jump_targets_steps(nr_insns);
	for (uint32_t i = 0; i < functions->nr && !err; i++) {
		struct function *function = &functions->entries[i];

		if (function->has_indirect_jump && !function->is_plt)
			err = note_tables(functions, function, &steps_left);
	}
	return err;
}

uint32_t cfg_find(const struct cfg *cfg, uint64_t addr)
{
	uint32_t low = (uint32_t)array_bisect(i, cfg->nr_blocks, cfg->blocks[i].addr > addr);

	if (!low || addr - cfg->blocks[low - 1].addr >= cfg->blocks[low - 1].size)
		return GRAPH_NONE;
	return low - 1;
}
