// SPDX-License-Identifier: GPL-2.0
/* The module's memo: sets of contexts, in whatever order they come. */

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "../../kmod/memo.c"

#include "synthetic.h"
#include "tap.h"

enum {
	CONTEXTS = 60,		/* so that a set is a word */
	THREADS = 4,
};

static struct pguard_memo memo;

static void begin(uint32_t nr_contexts)
{
	void *room = calloc(1, pguard_memo_room(nr_contexts));

	pguard_memo_init(&memo, nr_contexts, room);
}

static void end(void)
{
	free(memo.known);
}

/* What is kept of a set is the set. */
static uint64_t set_of(const struct pguard_verdict *verdict)
{
	return pguard_memo_known(verdict)->limit_ns;
}

static uint64_t key_of(uint32_t context)
{
	return infer_key(context / 4, 16 * (1 + context % 4));
}

/* A hit of a context.  NULL if what it means is not to be had; the first verdict if it is wrong. */
static const struct pguard_verdict *go(const struct pguard_verdict *from, uint32_t context)
{
	struct pguard_known known = { .limit_ns = set_of(from) | 1ull << context };
	struct infer_slot slot = { .key = key_of(context), .context = context };
	bool is_met = set_of(from) >> context & 1;
	const struct pguard_edge *edge;

	if (pguard_memo_has_met(pguard_memo_known(from), context) != is_met)
		return pguard_memo_begin(&memo);
	if (!pguard_memo_find(&memo, from, key_of(context), &edge))
		edge = pguard_memo_add(&memo, from, &slot, is_met ? NULL : &known);
	if (!edge)
		return NULL;
	return edge->context == context ? pguard_memo_at(&memo, edge) : pguard_memo_begin(&memo);
}

/* A walk by the contexts of @set in a random order, some repeated; NULL if the memo ends before. */
static const struct pguard_verdict *walk(uint64_t set)
{
	const struct pguard_verdict *verdict = pguard_memo_begin(&memo);
	uint64_t met = 0;

	while (verdict && met != set) {
		uint32_t context = synthetic_below(CONTEXTS);

		if (!(set >> context & 1))
			continue;
		met |= 1ull << context;
		verdict = go(verdict, context);
		if (verdict && set_of(verdict) != met)
			return pguard_memo_begin(&memo);
	}
	return verdict;
}

/* By all contexts of @set in their order; NULL if the memo does not lead so far. */
static const struct pguard_verdict *go_far(uint64_t set)
{
	const struct pguard_verdict *verdict = pguard_memo_begin(&memo);

	for (uint32_t context = 0; verdict && context < CONTEXTS; context++)
		if (set >> context & 1)
			verdict = go(verdict, context);
	return verdict;
}

static void test_sets(void)
{
	bool all_right = true, all_same = true;
	uint64_t set = 1ull << 3 | 1ull << 7 | 1ull << 20 | 1ull << 41;
	const struct pguard_verdict *first;
	const struct pguard_edge *edge;

	begin(CONTEXTS);
	ok(!pguard_memo_find(&memo, pguard_memo_begin(&memo), key_of(3), &edge) &&
	   !pguard_memo_find(&memo, pguard_memo_begin(&memo), INFER_NO_KEY, &edge),
	   "an empty memo knows nothing");
	first = walk(set);
	ok(first && set_of(first) == set && memo.nr_known == 5,
	   "four contexts lead to four verdicts");
	for (int i = 0; i < 1000; i++)
		all_same &= walk(set) == first;
	ok(all_same && memo.nr_known == 16, "in all orders they lead to the same, by 16 in all");
	for (int i = 0; i < 1000; i++) {
		set = 1ull << synthetic_below(CONTEXTS) | 1ull << synthetic_below(CONTEXTS);
		first = walk(set);
		all_right &= !first || set_of(first) == set;
	}
	ok(all_right, "others lead to others");
	end();
}

static void test_full(void)
{
	const struct pguard_verdict nowhere = { .edges = PGUARD_MEMO_NOWHERE };
	const uint64_t some = 1ull << 1 | 1ull << 30 | 1ull << 59;
	const struct pguard_edge *edge;
	bool is_known = false;

	begin(CONTEXTS);
	go_far(some);
	/* Each leads from one that is there: as many edges as verdicts. */
	for (uint32_t i = 0; i < 100000 && !memo.is_full; i++)
		go_far(synthetic_random() & ((1ull << CONTEXTS) - 1));
	ok(memo.is_full && memo.nr_known > memo.max_known / 8 * 7 &&
	   memo.nr_known <= memo.max_known, "a memo becomes full (%u of %u)", memo.nr_known,
	   memo.max_known);
	ok(go_far(some) && set_of(go_far(some)) == some, "what it knows is still right");
	for (uint32_t i = 0; i < CONTEXTS; i++)
		is_known |= pguard_memo_find(&memo, &nowhere, key_of(i), &edge);
	ok(!is_known, "from nowhere no edge leads on");
	end();
}

static void test_lock(void)
{
	const struct pguard_verdict *root;

	begin(CONTEXTS);
	root = pguard_memo_begin(&memo);
	spin_trylock(&memo.lock);
	ok(!go(root, 1) && !memo.is_full, "while another thread adds, none waits");
	spin_unlock(&memo.lock);
	ok(go(root, 1) && go(root, 1) == go(root, 1), "afterwards it is added");
	end();
}

static void *walk_much(void *argument)
{
	uint32_t *wrong = argument;

	for (uint32_t i = 0; i < 200000; i++) {
		uint64_t set = i * INFER_GOLDEN >> 52;
		const struct pguard_verdict *verdict = pguard_memo_begin(&memo);
		uint64_t met = 0;

		for (uint32_t context = 0; verdict && context < 12; context++) {
			if (!(set >> context & 1))
				continue;
			met |= 1ull << context;
			verdict = go(verdict, context);
			*wrong += verdict && set_of(verdict) != met;
		}
	}
	return NULL;
}

static void test_threads(void)
{
	uint32_t wrong[THREADS] = { 0 }, sum = 0;
	pthread_t threads[THREADS];

	begin(CONTEXTS);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, walk_much, &wrong[i]);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += wrong[i];
	}
	ok(!sum && memo.nr_known > 100, "threads at once find only what is right");
	end();
}

int main(void)
{
	plan(10);
	test_sets();
	test_full();
	test_lock();
	test_threads();
	return tap_status();
}
