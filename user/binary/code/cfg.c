// SPDX-License-Identifier: GPL-2.0

#include "binary/code/cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "binary/code/landing.h"

/* Marks of instructions. */
enum {
	BEGINS = 1 << 0, /* a block */
	ENDS = 1 << 1, /* a part of the function, or unknown bytes follow */
	SWITCHES = 1 << 2, /* by a jump table */
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
	uint32_t table_entries; /* that may still be read */
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
		if (!insn_decode(&build->functions->decoder, code + at, range->size - at, insn->addr,
				 &insn->insn)) {
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

static bool never_returns(const struct cfg_build *build, const struct insn *insn)
{
	const struct functions *functions = build->functions;
	const struct function *callee;

	if (noreturn_is_call(&functions->noreturn, functions->view, &functions->decoder, insn))
		return true;
	callee = insn->flow == INSN_CALL ? functions_at(functions, insn->target) : NULL;
	return callee && callee->never_returns;
}

/* True if control continues with the next instruction. */
static bool falls_through(const struct cfg_build *build, uint32_t at)
{
	const struct insn *insn = &build->cfg->insns[at].insn;

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

static bool find_table(struct cfg_build *build, uint32_t at, struct jump_table *ret)
{
	const struct cfg *cfg = build->cfg;

	if (!build->table_entries ||
	    !jump_table_find(build->functions, cfg->insns, cfg->nr_insns, at, ret))
		return false;
	if (ret->nr <= build->table_entries)
		return true;
	build->table_entries = 0; /* skip the next ones, too */
	return false;
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
	const struct insn *jump = &build->cfg->insns[at].insn;
	uint32_t stop = at > REACH ? at - REACH : 0;

	if (jump->ops[0].type == X86_OP_MEM)
		return jump->ops[0].mem.index == X86_REG_INVALID;
	while (at > stop && !(build->marks[at] & BEGINS)) {
		const struct insn *insn = &build->cfg->insns[--at].insn;

		if (insn->id == X86_INS_POP || insn->id == X86_INS_LEAVE)
			return true;
		if (insn->flow != INSN_NEXT)
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
			if (insn_is_call(&cfg->insns[i].insn))
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

static void mark_blocks(struct cfg_build *build)
{
	struct cfg *cfg = build->cfg;

	mark_target(build, build->function->addr);
	mark_all_pads(build);
	for (uint32_t i = 0; i < cfg->nr_insns; i++) {
		const struct insn *insn = &cfg->insns[i].insn;
		struct jump_table table;

		if (insn->flow == INSN_BRANCH || insn->flow == INSN_JUMP)
			mark_target(build, insn->target);
		if (i + 1 < cfg->nr_insns && (insn->flow == INSN_BRANCH || !falls_through(build, i)))
			build->marks[i + 1] |= BEGINS;
		if (insn->flow != INSN_JUMP_INDIRECT)
			continue;
		if (!find_table(build, i, &table)) {
			cfg->nr_unresolved += !is_tail_call(build, i);
			continue;
		}
		cfg->nr_tables++;
		build->marks[i] |= SWITCHES;
		build->max_successors += table.nr;
		build->table_entries -= table.nr;
		for (uint32_t k = 0; k < table.nr; k++)
			mark_target(build, jump_table_target(build->functions, &table, k));
	}
	for (uint32_t i = 0; i < cfg->nr_insns; i++)
		build->max_blocks += build->marks[i] & BEGINS;
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

	if (at < cfg->nr_insns && build->nr_successors < build->max_successors)
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

static void make_edges(struct cfg_build *build)
{
	struct cfg *cfg = build->cfg;

	for (uint32_t i = 0; i < cfg->nr_blocks; i++) {
		const struct cfg_block *block = &cfg->blocks[i];
		uint32_t last = block->first_insn + block->nr_insns - 1;
		const struct insn *insn = &cfg->insns[last].insn;
		struct jump_table table;

		cfg->first[i] = build->nr_successors;
		if (falls_through(build, last))
			cfg->successors[build->nr_successors++] = i + 1;
		if (insn->flow == INSN_BRANCH || insn->flow == INSN_JUMP)
			add_edge(build, insn->target);
		if (build->marks[last] & SWITCHES && find_table(build, last, &table))
			for (uint32_t k = 0; k < table.nr; k++)
				add_edge(build, jump_table_target(build->functions, &table, k));
		add_pads(build, block);
	}
	cfg->first[cfg->nr_blocks] = build->nr_successors;
}

static int allocate_insns(struct cfg_build *build)
{
	uint32_t nr = build->function->nr_insns;

	build->max_insns = nr;
	return array_new(build->cfg->insns, nr) || array_new(build->marks, nr) ||
	       array_new(build->block_of, nr) || array_new(build->pads, nr) ? -ENOMEM : 0;
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

	err = allocate_insns(build);
	if (err)
		return err;
	decode(build);
	/* jumps that share tables must not make more edges than there is code */
	build->table_entries = 4 * cfg->nr_insns + 1024;
	mark_blocks(build);
	err = allocate_blocks(build);
	if (err)
		return err;
	make_blocks(build);
	build->table_entries = UINT32_MAX;
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

int cfg_init(struct cfg *cfg, const struct functions *functions, const struct function *function)
{
	struct cfg_build build = { .functions = functions, .function = function, .cfg = cfg };
	int err;

	memset(cfg, 0, sizeof(*cfg));
	err = analyse(&build);
	free(build.marks);
	free(build.block_of);
	free(build.pads);
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

static void note_tables(struct function *function, const struct cfg *cfg)
{
	for (uint32_t i = 0; i < cfg->nr_blocks; i++) {
		const struct cfg_block *block = &cfg->blocks[i];
		uint32_t last = block->first_insn + block->nr_insns - 1;

		if (cfg->insns[last].insn.flow != INSN_JUMP_INDIRECT)
			continue;
		for (uint32_t k = cfg->first[i]; k < cfg->first[i + 1]; k++) {
			uint64_t at = cfg->blocks[cfg->successors[k]].addr - function->addr;

			if (!at)
				function->entry_is_target = true;
			else if (at < SWEEP_NEAR)
				function->near[at / 64] |= 1ull << at % 64;
		}
	}
}

int cfg_note_tables(struct functions *functions)
{
	for (uint32_t i = 0; i < functions->nr; i++) {
		struct function *function = &functions->entries[i];
		struct cfg cfg;
		int err;

		if (!function->has_indirect_jump || function->is_plt)
			continue;
		err = cfg_init(&cfg, functions, function);
		if (err)
			return err;
		note_tables(function, &cfg);
		cfg_deinit(&cfg);
	}
	return 0;
}

uint32_t cfg_find(const struct cfg *cfg, uint64_t addr)
{
	uint32_t low = search_addr(cfg->blocks, cfg->nr_blocks, sizeof(*cfg->blocks), addr);

	if (!low || addr - cfg->blocks[low - 1].addr >= cfg->blocks[low - 1].size)
		return GRAPH_NONE;
	return low - 1;
}
