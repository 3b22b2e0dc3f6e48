// SPDX-License-Identifier: GPL-2.0
/*
 * The time it takes to find the unit types, on synthetic call trees of the shape
 * that servers have: paths of 13 functions in the mean and 35 at most, trees in
 * families that share most of their paths.
 *
 * Each step runs in a process of its own, so that its time and memory are
 * separate from the others'.  The time is CPU time of one core, independent of the
 * load of the machine.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "data/samples.h"
#include "train/samples/trie.h"
#include "train/types/cluster.h"

enum {
	NR_FUNCTIONS = 4000,
	MAX_LENGTH = 35,
	MIB = 1 << 20,
};

struct step {
	const char *name;
	int (*run)(const struct step *step);
	uint32_t size;
	uint32_t nr_trees;
	double max_s; /* the limit, 0: none */
	double max_mib;
	bool is_long;
};

static uint64_t state = 1;

static uint32_t random_below(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(((state >> 32) * below) >> 32);
}

/* Few functions are called from everywhere, most from few places. */
static uint32_t random_function(void)
{
	uint32_t range = NR_FUNCTIONS >> random_below(6);

	return random_below(range);
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	exit(2);
}

static void *need(void *memory)
{
	if (!memory)
		fail("bench", -ENOMEM);
	return memory;
}

/* A path that leaves an earlier one near its end, or begins a new one.  Returns its node. */
static uint32_t grow_path(struct trie *trie, const uint32_t *leaves, uint32_t nr)
{
	uint32_t at = nr ? leaves[random_below(nr)] : 0, length = 0;

	for (uint32_t up = random_below(4); at && up; up--)
		at = trie->nodes[at].parent;
	for (uint32_t node = at; node; node = trie->nodes[node].parent)
		length++;
	if (length > MAX_LENGTH - 5 || !random_below(16))
		at = 0;
	for (uint32_t more = 1 + random_below(5); more; more--)
		at = trie_child(trie, at, random_function());
	return at;
}

static uint32_t *grow_paths(struct trie *trie, uint32_t nr)
{
	uint32_t *leaves = need(malloc(nr * sizeof(*leaves)));

	for (uint32_t i = 0; i < nr;) {
		uint32_t before = trie->nr;
		uint32_t leaf = grow_path(trie, leaves, i);

		if (leaf >= before)
			leaves[i++] = leaf;
	}
	return leaves;
}

static void take_trie(struct samples *samples, struct trie *trie)
{
	samples->nr_functions = NR_FUNCTIONS;
	samples->functions = need(calloc(NR_FUNCTIONS, sizeof(*samples->functions)));
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++)
		samples->functions[i].offset = 16 * i;
	samples->nodes = trie->nodes;
	samples->nr_nodes = trie->nr;
}

/*
 * Trees in families of ten.  A family has a share of all paths, each of its
 * trees a third of these, and the last tree also those that no other took.
 */
static void make_trees(struct samples *samples, const uint32_t *leaves, uint32_t nr,
		       uint32_t nr_trees)
{
	enum { FAMILY = 10 };
	uint32_t families = nr_trees / FAMILY;
	bool *taken = need(calloc(nr, sizeof(*taken)));

	samples->trees = need(calloc(nr_trees, sizeof(*samples->trees)));
	samples->nr_trees = families * FAMILY;
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		struct samples_tree *tree = &samples->trees[i];
		uint32_t from = (uint64_t)nr * (i / FAMILY) / families;
		uint32_t to = (uint64_t)nr * (i / FAMILY + 1) / families;

		tree->hash = i;
		tree->units[0] = 1 + random_below(1000);
		tree->leaves = need(malloc((to - from) * sizeof(*tree->leaves)));
		for (uint32_t j = from; j < to; j++) {
			if (random_below(3) && (taken[j] || i % FAMILY != FAMILY - 1))
				continue;
			taken[j] = true;
			tree->leaves[tree->nr_leaves++] = leaves[j];
		}
	}
	free(taken);
}

static void cluster(const struct samples *samples)
{
	struct cluster_options options;
	struct clusters clusters;
	int err;

	cluster_options_init(&options);
	err = cluster_trees(samples, 0, &options, &clusters);
	if (err)
		fail("cluster_trees", err);
	printf("%9u trees %8u types", samples->nr_trees, clusters.nr);
	clusters_deinit(&clusters);
}

/* Many distinct paths. */
static int run_paths(const struct step *step)
{
	struct samples samples = { 0 };
	struct trie trie;
	uint32_t *leaves;

	trie_init(&trie);
	leaves = grow_paths(&trie, step->size);
	take_trie(&samples, &trie);
	make_trees(&samples, leaves, step->size, step->nr_trees);
	free(leaves);
	cluster(&samples);
	return 0;
}

/* The calls of a unit, as entries of a trace: how deep, and which function. */
struct call {
	uint32_t depth;
	uint32_t function;
};

enum {
	CALLS = 200, /* a unit has, redis: 204 */
};

/* A tree's calls in order, made by a walk that goes down and back up at random. */
static void make_calls(struct call *calls)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		if (depth && random_below(5) < 2)
			depth -= random_below(depth < 4 ? depth : 4);
		else if (depth < MAX_LENGTH - 1)
			depth++;
		if (!depth)
			depth = 1;
		calls[i] = (struct call){ depth, random_function() };
	}
}

static uint64_t hash_nodes(const uint32_t *nodes, uint32_t nr)
{
	uint64_t hash = 14695981039346656037u;

	for (uint32_t i = 0; i < nr; i++)
		hash = (hash ^ nodes[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
	return hash;
}

/* Count a unit: to the tree with the same leaves, or to a new one. */
static void count_unit(struct samples *samples, const uint32_t *leaves, uint32_t nr)
{
	enum { SLOTS = 1024 };
	static uint32_t slots[SLOTS]; /* tree + 1 */
	uint64_t hash = hash_nodes(leaves, nr);
	uint32_t slot = hash % SLOTS;
	struct samples_tree *tree;

	for (; slots[slot]; slot = (slot + 1) % SLOTS) {
		tree = &samples->trees[slots[slot] - 1];
		if (tree->hash == hash && tree->nr_leaves == nr &&
		    !memcmp(tree->leaves, leaves, nr * sizeof(*leaves))) {
			tree->units[0]++;
			return;
		}
	}
	slots[slot] = ++samples->nr_trees;
	tree = &samples->trees[samples->nr_trees - 1];
	tree->hash = hash;
	tree->nr_leaves = nr;
	tree->units[0] = 1;
	tree->leaves = need(malloc(nr * sizeof(*leaves)));
	memcpy(tree->leaves, leaves, nr * sizeof(*leaves));
}

/* Many units of few distinct trees: from their calls to their types. */
static int run_units(const struct step *step)
{
	struct call (*calls)[CALLS] = need(calloc(step->nr_trees, sizeof(*calls)));
	struct samples samples = { 0 };
	struct trie trie;

	trie_init(&trie);
	samples.trees = need(calloc(step->nr_trees, sizeof(*samples.trees)));
	for (uint32_t i = 0; i < step->nr_trees; i++)
		make_calls(calls[i]);
	for (uint32_t i = 0; i < step->size; i++) {
		uint32_t which = i;
		uint32_t stack[MAX_LENGTH + 1] = { 0 }, nodes[CALLS], nr;

		if (i >= step->nr_trees) /* some are far more frequent than others */
			which = random_below(1 + random_below(step->nr_trees));
		for (uint32_t j = 0; j < CALLS; j++) {
			const struct call *call = &calls[which][j];

			stack[call->depth] = trie_child(&trie, stack[call->depth - 1],
							call->function);
			nodes[j] = stack[call->depth];
		}
		nr = trie_leaves(&trie, nodes, CALLS);
		count_unit(&samples, nodes, nr);
	}
	take_trie(&samples, &trie);
	cluster(&samples);
	return 0;
}

static const struct step steps[] = {
	{ "10,000 units", run_units, 10000, 60, 0, 0, false },
	{ "100,000 units", run_units, 100000, 60, 0, 0, false },
	{ "1,000,000 units", run_units, 1000000, 60, 10, 0, false },
	{ "10,000 paths", run_paths, 10000, 400, 0, 0, false },
	{ "100,000 paths", run_paths, 100000, 400, 0, 0, false },
	{ "350,000 paths", run_paths, 350000, 400, 600, 2048, true },
	{ "8,000 trees", run_paths, 4000, 8000, 0, 0, true },
};

static bool run_step(const struct step *step)
{
	struct rusage usage;
	double seconds, mib;
	bool passed;
	int status;
	pid_t pid;

	printf("%-16s", step->name);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("fork", -errno);
	if (!pid) {
		int ret = step->run(step);

		fflush(stdout);
		_exit(ret);
	}
	if (wait4(pid, &status, 0, &usage) != pid || status) {
		printf("  FAILED\n");
		return false;
	}
	seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
		  (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	mib = usage.ru_maxrss * 1024. / MIB;
	passed = (!step->max_s || seconds <= step->max_s) &&
		 (!step->max_mib || mib <= step->max_mib);
	printf(" %9.2f s %7.0f MiB", seconds, mib);
	if (step->max_s)
		printf("   %s: at most %.0f s", passed ? "met" : "MISSED", step->max_s);
	if (step->max_mib)
		printf(" and %.0f MiB", step->max_mib);
	printf("\n");
	return passed;
}

int main(void)
{
	const char *quick = getenv("QUICK");
	bool passed = true;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!steps[i].is_long || !quick || strcmp(quick, "1"))
			passed &= run_step(&steps[i]);
	return !passed;
}
