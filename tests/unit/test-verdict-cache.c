// SPDX-License-Identifier: GPL-2.0
/* The module's verdict cache: sets of contexts, in whatever order they come. */

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "../../kmod/profile/verdict-cache.c"

#include "synthetic.h"
#include "tap.h"

enum {
	CONTEXTS = 60,		/* so that a set is a word */
	MAX_KNOWN = 256,
	SEAT = 1000,		/* of context 0 */
	THREADS = 4,
};

static struct pguard_verdict_cache *cache;

/* With room for @max_known verdicts. */
static void begin(uint32_t max_known)
{
	size_t bytes = pguard_verdict_cache_bytes(max_known);

	bytes += -bytes % PGUARD_VERDICT_CACHE_ALIGN;
	cache = aligned_alloc(PGUARD_VERDICT_CACHE_ALIGN, bytes);
	memset(cache, 0, bytes);
	pguard_verdict_cache_init(cache, max_known);
}

static void end(void)
{
	free(cache);
}

/* What is kept of a set is the set. */
static uint64_t set_of(const struct pguard_verdict *verdict)
{
	return pguard_verdict_cache_verdict(verdict)->limits.ns[0];
}

static uint64_t key_of(uint32_t context)
{
	return infer_key(context / 4, 16 * (1 + context % 4));
}

/* A hit of a context.  NULL if what it means is not to be had; the first verdict if it is wrong. */
static const struct pguard_verdict *go(const struct pguard_verdict *from, uint32_t context)
{
	struct pguard_cached_verdict known = {
		.limits.ns = { set_of(from) | 1ull << context },
	};
	struct infer_slot slot = { .key = key_of(context), .context = context };
	bool is_met = set_of(from) >> context & 1;
	const struct pguard_transition *transition;

	if (pguard_verdict_cache_has_met(pguard_verdict_cache_verdict(from), context) != is_met)
		return pguard_verdict_cache_begin(cache);
	if (!pguard_verdict_cache_find(cache, from, key_of(context), &transition))
		transition = pguard_verdict_cache_add(cache, from, &slot, SEAT + context, is_met ? NULL : &known);
	if (!transition)
		return NULL;
	return transition->hit_slot == SEAT + context ? pguard_verdict_cache_at(cache, transition) : pguard_verdict_cache_begin(cache);
}

/*
 * Follow the contexts of @set in a random order, some repeated; NULL if the
 * verdict cache ends before.
 */
static const struct pguard_verdict *walk(uint64_t set)
{
	const struct pguard_verdict *verdict = pguard_verdict_cache_begin(cache);
	uint64_t met = 0;

	while (verdict && met != set) {
		uint32_t context = synthetic_below(CONTEXTS);

		if (!(set >> context & 1))
			continue;
		met |= 1ull << context;
		verdict = go(verdict, context);
		if (verdict && set_of(verdict) != met)
			return pguard_verdict_cache_begin(cache);
	}
	return verdict;
}

/* By all contexts of @set in their order; NULL if the verdict cache does not lead so far. */
static const struct pguard_verdict *go_far(uint64_t set)
{
	const struct pguard_verdict *verdict = pguard_verdict_cache_begin(cache);

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
	const struct pguard_transition *transition;

	begin(MAX_KNOWN);
	ok(!pguard_verdict_cache_find(cache, pguard_verdict_cache_begin(cache), key_of(3), &transition),
	   "an empty cache knows nothing");
	ok(!pguard_verdict_cache_find(cache, pguard_verdict_cache_begin(cache), INFER_NO_KEY, &transition) ||
	   (pguard_verdict_cache_at(cache, transition) == pguard_verdict_cache_begin(cache) &&
	    !transition->hit_slot), "no key leads nowhere but to the begin");
	first = walk(set);
	ok(first && set_of(first) == set && cache->nr_known == 5,
	   "four contexts lead to four verdicts");
	for (int i = 0; i < 1000; i++)
		all_same &= walk(set) == first;
	ok(all_same && cache->nr_known == 16, "in all orders they lead to the same, by 16 in all");
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
	const struct pguard_verdict nowhere = { .transitions = PGUARD_VERDICT_CACHE_NOWHERE };
	const uint64_t some = 1ull << 1 | 1ull << 30 | 1ull << 59;
	const struct pguard_transition *transition;
	bool is_known = false;

	begin(MAX_KNOWN);
	go_far(some);
	/* Each leads from one that is there: as many transitions as verdicts. */
	for (uint32_t i = 0; i < 100000 && !cache->is_full; i++)
		go_far(synthetic_random() & ((1ull << CONTEXTS) - 1));
	ok(cache->is_full && cache->nr_known > cache->max_known / 8 * 7 &&
	   cache->nr_known <= cache->max_known, "a cache becomes full (%u of %u)", cache->nr_known,
	   cache->max_known);
	ok(go_far(some) && set_of(go_far(some)) == some, "what it knows is still right");
	for (uint32_t i = 0; i < CONTEXTS; i++)
		is_known |= pguard_verdict_cache_find(cache, &nowhere, key_of(i), &transition);
	ok(!is_known, "from nowhere no transition leads on");
	end();
}

static void test_lock(void)
{
	const struct pguard_verdict *root;

	begin(MAX_KNOWN);
	root = pguard_verdict_cache_begin(cache);
	spin_trylock(&cache->lock);
	ok(!go(root, 1) && !cache->is_full, "while another thread adds, none waits");
	spin_unlock(&cache->lock);
	ok(go(root, 1) && go(root, 1) == go(root, 1), "afterwards it is added");
	end();
}

/* How far a transition may be from where its search starts, in a row of new contexts. */
static uint32_t longest_search(uint32_t site_step, uint32_t depth_step, uint32_t length)
{
	uint32_t longest = 0, steps;

	begin(MAX_KNOWN);
	for (uint32_t i = 0; i < length; i++) {
		/* The first hit of a context, and another one. */
		for (uint64_t from = i; from <= i + 1; from++) {
			uint64_t key = (from << PGUARD_VERDICT_CACHE_SHIFT) +
				       infer_key(i * site_step, 48 + i * depth_step);
			struct pguard_transition *transition = find_place(cache, key);

			if (!transition)
				return UINT32_MAX;
			steps = (uint32_t)(transition - &cache->transitions[pguard_transitions_place((cache)->shift, key)]);
			longest = steps > longest ? steps : longest;
			transition->key = key;
		}
	}
	end();
	return longest;
}

static void test_chains(void)
{
	uint32_t longest = 0;

	for (uint32_t site_step = 0; site_step <= 4; site_step++)
		for (uint32_t depth_step = site_step ? 0 : 16; depth_step <= 64; depth_step += 16) {
			uint32_t steps = longest_search(site_step, depth_step, MAX_KNOWN / 4 * 3);

			longest = steps > longest ? steps : longest;
		}
	ok(longest < PGUARD_VERDICT_CACHE_STEPS / 2, "in chains of contexts no search is long: %u steps",
	   longest);
}

/* The sizes of one verdict cache after the other, for a loop with so many contexts. */
static void test_sizes(void)
{
	static const struct {
		uint32_t contexts, sizes[5];
	} loops[] = {
		{ 0, { 16, 0 } },
		{ 7, { 16, 32, 0 } },
		{ 20, { 16, 64, 128, 0 } },
		{ 100, { 16, 64, 256, 512, 0 } },
		{ 10000, { 16, 64, 256, 1024, 0 } },
	};
	bool is_right = true;

	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++) {
		uint32_t size = pguard_verdict_cache_next_size(NULL, loops[i].contexts, false);

		for (const uint32_t *wanted = loops[i].sizes; size && *wanted; wanted++) {
			is_right &= size == *wanted;
			begin(size);
			is_right &= !pguard_verdict_cache_asks(cache);
			cache->nr_known = size;
			is_right &= pguard_verdict_cache_asks(cache) && !pguard_verdict_cache_asks(cache);
			size = pguard_verdict_cache_next_size(cache, loops[i].contexts, false);
			is_right &= !size == !wanted[1];
			end();
		}
		is_right &= !size;
	}
	ok(is_right, "a loop's cache grows up to four times its contexts, or 1,024");
	ok(pguard_verdict_cache_next_size(NULL, 7, true) == 256 &&
	   pguard_verdict_cache_next_size(NULL, 200, true) == 4096,
	   "where guards jump it has room for 32 times as many at once, or 4,096");
	begin(4096);
	ok(!pguard_verdict_cache_next_size(cache, 200, true), "and stays as it is");
	end();
}

static void *walk_much(void *argument)
{
	uint32_t *wrong = argument;

	for (uint32_t i = 0; i < 200000; i++) {
		uint64_t set = i * INFER_GOLDEN >> 52;
		const struct pguard_verdict *verdict = pguard_verdict_cache_begin(cache);
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

	begin(MAX_KNOWN);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, walk_much, &wrong[i]);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += wrong[i];
	}
	ok(!sum && cache->nr_known > 100, "threads at once find only what is right");
	end();
}

int main(void)
{
	plan(15);
	test_sets();
	test_full();
	test_lock();
	test_chains();
	test_sizes();
	test_threads();
	return tap_status();
}
