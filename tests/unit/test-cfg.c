// SPDX-License-Identifier: GPL-2.0
/*
 * Dominators and loops: of random graphs, against their definitions; of a
 * program whose calls say by name how many loops they are in; and those of
 * Debian's servers.
 */

#include "program.h"
#include "tap.h"

enum {
	MAX_NODES = 14,
	NR_GRAPHS = 4000,
	NR_LARGE = 200000,
};

static uint64_t random_state = 88172645463325252;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % limit;
}

struct small {
	uint32_t nr;
	uint32_t first[MAX_NODES + 1];
	uint32_t successors[MAX_NODES * MAX_NODES];
	bool edge[MAX_NODES][MAX_NODES];
};

static void make_graph(struct small *small)
{
	uint32_t nr_edges = 0, per_node = 1 + random_below(3);

	memset(small, 0, sizeof(*small));
	small->nr = 1 + random_below(MAX_NODES);
	for (uint32_t i = 0; i < small->nr; i++) {
		small->first[i] = nr_edges;
		for (uint32_t k = random_below(per_node + 1); k-- > 0;) {
			uint32_t to = random_below(small->nr);

			small->successors[nr_edges++] = to; /* twice the same, now and then */
			small->edge[i][to] = true;
		}
	}
	small->first[small->nr] = nr_edges;
}

/* What can be reached from @from without passing by @without. */
static void reach(const struct small *small, uint32_t from, uint32_t without, bool *ret)
{
	if (from == without || ret[from])
		return;
	ret[from] = true;
	for (uint32_t to = 0; to < small->nr; to++)
		if (small->edge[from][to])
			reach(small, to, without, ret);
}

struct definition {
	bool reached[MAX_NODES];
	bool dominates[MAX_NODES][MAX_NODES]; /* [above][node] */
	bool in_loop[MAX_NODES][MAX_NODES]; /* [header][node] */
};

static void define_loops(const struct small *small, struct definition *ret)
{
	for (uint32_t from = 0; from < small->nr; from++) {
		for (uint32_t header = 0; header < small->nr; header++) {
			if (!small->edge[from][header] || !ret->dominates[header][from])
				continue;
			ret->in_loop[header][header] = true;
			for (uint32_t node = 0; node < small->nr; node++) {
				bool reached[MAX_NODES] = { false };

				reach(small, node, header, reached);
				if (reached[from] && ret->reached[node])
					ret->in_loop[header][node] = true;
			}
		}
	}
}

static void define(const struct small *small, uint32_t entry, struct definition *ret)
{
	memset(ret, 0, sizeof(*ret));
	reach(small, entry, GRAPH_NONE, ret->reached);
	for (uint32_t above = 0; above < small->nr; above++) {
		bool others[MAX_NODES] = { false };

		reach(small, entry, above, others);
		for (uint32_t node = 0; node < small->nr; node++)
			ret->dominates[above][node] = ret->reached[node] && !others[node];
	}
	define_loops(small, ret);
}

static bool has_right_parents(const struct dominators *dominators, const struct small *small,
			      uint32_t entry, const struct definition *truth)
{
	for (uint32_t node = 0; node < small->nr; node++) {
		bool above[MAX_NODES] = { false };
		uint32_t at = node;

		if (!truth->reached[node] || node == entry) {
			if (dominators->parent[node] != GRAPH_NONE)
				return false;
			continue;
		}
		for (; at != GRAPH_NONE; at = dominators->parent[at])
			above[at] = true;
		for (uint32_t i = 0; i < small->nr; i++)
			if (above[i] != truth->dominates[i][node])
				return false;
	}
	return true;
}

static bool has_right_loops(const struct dominators *dominators, const struct small *small,
			    const struct definition *truth)
{
	for (uint32_t node = 0; node < small->nr; node++) {
		bool in_loop[MAX_NODES] = { false };
		uint32_t last = GRAPH_NONE;

		for (uint32_t loop = dominators->loop[node]; loop != GRAPH_NONE;
		     loop = dominators->outer[loop]) {
			uint32_t header = dominators->header[loop];

			if (last != GRAPH_NONE && !truth->dominates[header][last])
				return false; /* not from the inside to the outside */
			in_loop[header] = true;
			last = header;
		}
		for (uint32_t i = 0; i < small->nr; i++)
			if (in_loop[i] != truth->in_loop[i][node])
				return false;
	}
	return true;
}

static void test_random_graphs(void)
{
	uint32_t wrong_parents = 0, wrong_loops = 0, nr_loops = 0;

	for (int i = 0; i < NR_GRAPHS; i++) {
		struct dominators dominators;
		struct definition truth;
		struct small small;
		struct graph graph;

		make_graph(&small);
		graph = (struct graph){ small.nr, random_below(small.nr), small.first,
					small.successors };
		define(&small, graph.entry, &truth);
		if (dominators_init(&dominators, &graph))
			exit(1);
		nr_loops += dominators.nr_loops;
		wrong_parents += !has_right_parents(&dominators, &small, graph.entry, &truth);
		wrong_loops += !has_right_loops(&dominators, &small, &truth);
		dominators_deinit(&dominators);
	}
	ok(!wrong_parents, "dominators of %d graphs are as defined", NR_GRAPHS);
	ok(!wrong_loops && nr_loops > NR_GRAPHS / 2, "so are their %u loops", nr_loops);
}

/* Each node goes on to the next, and back to node @back(node). */
static void test_large_graph(uint32_t (*back)(uint32_t), const char *name)
{
	uint32_t *first = malloc((NR_LARGE + 1) * sizeof(*first));
	uint32_t *successors = malloc(2 * NR_LARGE * sizeof(*successors)), nr = 0;
	struct graph graph = { NR_LARGE, 0, first, successors };
	struct dominators dominators;
	double start;

	for (uint32_t i = 0; i < NR_LARGE; i++) {
		first[i] = nr;
		if (i + 1 < NR_LARGE)
			successors[nr++] = i + 1;
		successors[nr++] = back(i);
	}
	first[NR_LARGE] = nr;
	start = cpu_s();
	if (dominators_init(&dominators, &graph))
		exit(1);
	ok(cpu_s() - start < 10, "a graph of %d nodes takes little time: %s", NR_LARGE, name);
	diag("%.3f s, %u loops", cpu_s() - start, dominators.nr_loops);
	dominators_deinit(&dominators);
	free(first);
	free(successors);
}

static uint32_t to_self(uint32_t node)
{
	return node;
}

static uint32_t to_start(uint32_t node)
{
	(void)node;
	return 0;
}

static uint32_t nested(uint32_t node)
{
	return node < NR_LARGE / 2 ? node : NR_LARGE - 1 - node;
}

static uint32_t crossing(uint32_t node)
{
	return (uint32_t)(node * 2654435761ull % NR_LARGE);
}

static const struct {
	const char *name;
	uint32_t loops;
} marks[] = {
	{ "in_no_loop", 0 }, { "in_one_loop", 1 }, { "in_two_loops", 2 }, { "in_three_loops", 3 },
	{ "in_switch_in_loop", 1 }, { "in_cold_part_of_loop", 1 }, { "in_goto_loop", 1 },
	{ "_Z10in_no_loopi", 0 }, { "_Z11in_one_loopi", 1 }, { "_Z16in_catch_of_loopi", 1 },
};

enum {
	NR_MARKS = sizeof(marks) / sizeof(marks[0]),
	NR_MARKS_OF_C = 7,
};

/* Calls of the function at @addr, in @function; how many of them are in @loops, or more. */
static void count_calls(struct code_map *code, const struct function *function, uint64_t addr,
			uint32_t loops, bool or_more, uint32_t *ret_nr, uint32_t *ret_right)
{
	uint64_t target, offset;
	struct cfg cfg;

	if (cfg_init(&cfg, &code->functions, function))
		exit(1);
	code_map_offset(code, addr, &target);
	for (uint32_t i = 0; i < cfg.nr_insns; i++) {
		const struct scan *insn = &cfg.insns[i].insn;
		struct code_map_call call;
		bool is_right;

		if (insn->flow != INSN_CALL || insn->target != addr)
			continue;
		++*ret_nr;
		if (!code_map_offset(code, cfg.insns[i].addr, &offset) ||
		    code_map_call_at(code, offset + insn->size, &call) ||
		    call.function != function ||
		    call.is_indirect || call.target != target || call.may_hide_loops) {
			diag("no call at %#lx", (unsigned long)cfg.insns[i].addr);
			continue;
		}
		is_right = or_more ? call.nr_loops >= loops : call.nr_loops == loops;
		*ret_right += is_right;
		if (!is_right)
			diag("call at %#lx is in %u loops", (unsigned long)cfg.insns[i].addr,
			     call.nr_loops);
	}
	cfg_deinit(&cfg);
}

static void test_marks(struct code_map *code, const struct program *truth, uint32_t from,
		       uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct program_symbol *symbol = find_symbol(truth, marks[i].name);
		uint32_t nr = 0, right = 0;

		for (uint32_t k = 0; symbol && k < code->functions.nr; k++)
			count_calls(code, &code->functions.entries[k], symbol->addr, marks[i].loops,
				    false, &nr, &right);
		ok(nr && right == nr, "all %u calls of %s are in %u loops", nr, marks[i].name,
		   marks[i].loops);
	}
}

static const struct function *named(const struct code_map *code, const struct program *truth,
				    const char *name)
{
	const struct program_symbol *symbol = find_symbol(truth, name);
	const struct function *function =
		symbol ? functions_at(&code->functions, symbol->addr) : NULL;

	if (function)
		return function;
	printf("Bail out! no function %s\n", name);
	exit(1);
}

/* The last instruction of a function is a call that does not return. */
static void test_last_call(struct code_map *code, const struct program *truth)
{
	const struct function *function = named(code, truth, "ends_with_call");
	struct code_map_call call;
	struct cfg cfg;
	uint64_t end;
	uint32_t last;

	if (cfg_init(&cfg, &code->functions, function))
		exit(1);
	last = cfg_find(&cfg, function->addr + function->size - 1);
	ok(cfg.first[last] == cfg.first[last + 1], "nothing follows a call that does not return");
	ok(code_map_offset(code, function->addr + function->size, &end) &&
	   !code_map_call_at(code, end, &call) && call.function == function && !call.is_indirect,
	   "a return address behind the last instruction is that of its call");
	ok(code_map_call_at(code, end - 1, &call) == -ENOENT &&
	   code_map_call_at(code, 0, &call) == -ENOENT &&
	   code_map_call_at(code, UINT64_MAX, &call) == -ENOENT, "other addresses are of no call");
	cfg_deinit(&cfg);
}

static void test_indirect(struct code_map *code, const struct program *truth)
{
	const struct function *function = named(code, truth, "calls_indirectly");
	bool found = false, right = false;
	struct code_map_call call;
	struct cfg cfg;
	uint64_t offset;

	if (cfg_init(&cfg, &code->functions, function))
		exit(1);
	for (uint32_t i = 0; i < cfg.nr_insns; i++) {
		if (cfg.insns[i].insn.flow != INSN_CALL_INDIRECT)
			continue;
		found = code_map_offset(code, cfg.insns[i].addr + cfg.insns[i].insn.size,
					&offset) &&
			!code_map_call_at(code, offset, &call);
		right = found && call.is_indirect && !call.target && call.nr_loops == 1 &&
			call.inner_header == call.outer_header && call.inner_header;
	}
	ok(right, "an indirect call in a loop");
	cfg_deinit(&cfg);
	if (cfg_init(&cfg, &code->functions, named(code, truth, "has_switch")))
		exit(1);
	ok(cfg.nr_tables == 1 && !cfg.nr_unresolved, "the jump table is found");
	cfg_deinit(&cfg);
}

static void test_victim(const char *self, const char *name, uint32_t from, uint32_t to)
{
	struct program truth = read_program(beside(self, name), SHT_SYMTAB);
	struct code_map *code;
	char stripped[64];

	snprintf(stripped, sizeof(stripped), "%s.stripped", name);
	code = open_code(beside(self, stripped));
	if (!code) {
		printf("Bail out! no %s\n", stripped);
		exit(1);
	}
	test_marks(code, &truth, from, to);
	if (!from) {
		test_last_call(code, &truth);
		test_indirect(code, &truth);
	}
	code_map_close(code);
	free_program(&truth);
}

/* The event loops of servers: this function calls that one in so many loops. */
static const struct {
	const char *path;
	const char *caller;
	const char *callee;
	uint32_t loops;
} servers[] = {
	{ "/usr/bin/redis-server", "aeMain", NULL, 1 }, /* a copy of aeProcessEvents */
	{ "/usr/sbin/nginx", "ngx_single_process_cycle", "ngx_process_events_and_timers", 1 },
	{ "/usr/sbin/mariadbd", "_Z24do_handle_one_connectionP7CONNECTb", "_Z10do_commandP3THDb",
	  2 },
};

enum {
	NR_SERVERS = sizeof(servers) / sizeof(servers[0]),
};

static const struct function *first_called(const struct code_map *code,
					   const struct function *function)
{
	const struct function *callee = NULL;
	struct cfg cfg;

	if (cfg_init(&cfg, &code->functions, function))
		exit(1);
	for (uint32_t i = 0; i < cfg.nr_insns && !callee; i++)
		if (cfg.insns[i].insn.flow == INSN_CALL)
			callee = functions_at(&code->functions, cfg.insns[i].insn.target);
	cfg_deinit(&cfg);
	return callee;
}

static void test_server(uint32_t server)
{
	struct code_map *code = open_code(servers[server].path);
	const struct function *caller = NULL, *callee = NULL;
	const char *name = servers[server].callee;
	uint32_t nr = 0, right = 0;

	for (uint32_t i = 0; code && i < code->functions.nr; i++) {
		const struct function *function = &code->functions.entries[i];

		if (function->name && !strcmp(function->name, servers[server].caller))
			caller = function;
		if (name && function->name && !strcmp(function->name, name))
			callee = function;
	}
	if (caller && !name)
		callee = first_called(code, caller);
	if (!caller || !callee) {
		skip(1, "no such program");
	} else {
		count_calls(code, caller, callee->addr, servers[server].loops, true, &nr,
			    &right);
		ok(nr && right == nr, "%s calls %s in %u loops or more", servers[server].caller,
		   name ? name : "a function", servers[server].loops);
	}
	code_map_close(code);
}

static void test_whole(const char *path)
{
	struct code_map *code = open_code(path);
	uint32_t unresolved = 0, nr = 0;
	double start = cpu_s(), took;

	if (!code) {
		skip(2, "no such program");
		return;
	}
	for (uint32_t i = 0; i < code->functions.nr; i++) {
		struct cfg cfg;

		if (cfg_init(&cfg, &code->functions, &code->functions.entries[i]))
			exit(1);
		nr++;
		unresolved += cfg.nr_unresolved > 0;
		cfg_deinit(&cfg);
	}
	took = cpu_s() - start;
	ok(unresolved * 20 < nr, "%s: %.2f %% of functions have unknown jumps", path,
	   100.0 * unresolved / nr);
	ok(took < 60, "%s: all %u functions take little time", path, nr);
	diag("%.3f s", took);
	code_map_close(code);
}

int main(int argc, char **argv)
{
	(void)argc;
	plan(2 + 4 + NR_MARKS + 5 + NR_SERVERS + 2 * NR_DEBIAN);
	test_random_graphs();
	test_large_graph(to_self, "each node a loop");
	test_large_graph(to_start, "one loop");
	test_large_graph(nested, "one in the other");
	test_large_graph(crossing, "into loops from everywhere");
	test_victim(argv[0], "victim-code", 0, NR_MARKS_OF_C);
	test_victim(argv[0], "victim-throw", NR_MARKS_OF_C, NR_MARKS);
	for (uint32_t i = 0; i < NR_SERVERS; i++)
		test_server(i);
	for (int i = 0; i < NR_DEBIAN; i++)
		test_whole(debian[i]);
	return tap_status();
}
