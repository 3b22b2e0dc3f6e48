// SPDX-License-Identifier: GPL-2.0

#include "train/types/lcs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef uint16_t lanes_16 __attribute__((vector_size(2 * LCS_LANES)));
typedef uint32_t lanes_32 __attribute__((vector_size(4 * LCS_LANES)));
typedef uint64_t lanes_64 __attribute__((vector_size(8 * LCS_LANES)));

enum {
	WORD_BITS = 64,
	MAX_WORDS = PATHS_MAX_LENGTH / WORD_BITS,
	/* So many words of all lanes take no more room than the most of one. */
	MAX_LANE_WORDS = MAX_WORDS / LCS_LANES,
};

int lcs_init(struct lcs *lcs, const struct paths *paths)
{
	/* patterns may be longer than these paths, but not than the stated maximum */
	const size_t size = sizeof(uint64_t) * MAX_WORDS;

	*lcs = (struct lcs){ .paths = paths };
	lcs->lengths = aligned_alloc(64, (paths->nr * sizeof(*lcs->lengths) + 127) / 64 * 64);
	lcs->masks = aligned_alloc(64, (paths->nr_functions + 1UL) * size);
	lcs->stack = aligned_alloc(64, (paths->max_length + 1UL) * size);
	if (!lcs->lengths || !lcs->masks || !lcs->stack) {
		lcs_deinit(lcs);
		return -ENOMEM;
	}
	memset(lcs->masks, 0, (paths->nr_functions + 1UL) * size);
	return 0;
}

void lcs_deinit(struct lcs *lcs)
{
	free(lcs->lengths);
	free(lcs->masks);
	free(lcs->stack);
	memset(lcs, 0, sizeof(*lcs));
}

enum lcs_width lcs_width(uint32_t length)
{
	if (length <= 16)
		return LCS_WIDTH_16;
	if (length <= 32)
		return LCS_WIDTH_32;
	return length <= 64 ? LCS_WIDTH_64 : LCS_WIDTH_MANY;
}

/* How the masks of a batch lie in memory: by function, word of a pattern and lane. */
struct lcs_layout {
	uint32_t bits; /* of a word */
	uint32_t words; /* of a pattern */
	uint32_t lanes;
};

/*
 * Set the bits of the patterns' functions, or clear these words again: masks of
 * functions that no pattern has are 0.
 */
static void mask(const struct lcs *lcs, const struct lcs_layout *layout,
		 const struct lcs_pattern *patterns, uint32_t nr, bool set)
{
	for (uint32_t lane = 0; lane < nr; lane++) {
		for (uint32_t i = 0; i < patterns[lane].length; i++) {
			uint32_t number = lcs->paths->number[patterns[lane].functions[i]];
			size_t word = (size_t)number * layout->words + i / layout->bits;
			size_t bit = (word * layout->lanes + lane) * layout->bits +
				     i % layout->bits;
			uint8_t *byte = (uint8_t *)lcs->masks + bit / 8; /* little endian */

			if (number != SAMPLES_NONE)
				*byte = set ? *byte | 1 << bit % 8 : 0;
		}
	}
}

/* A traversal for each width of lanes: the same code on another type. */
#define DEFINE_WALK(bits)								\
static void walk_##bits(const struct lcs *lcs, uint32_t last)				\
{											\
	const struct paths_node *node = lcs->paths->nodes;				\
	const struct paths_node *end = node + last;					\
	const lanes_##bits *masks = lcs->masks;						\
	lanes_##bits *stack = lcs->stack;						\
	lcs_lanes *lengths = lcs->lengths;						\
											\
	stack[0] = ~(lanes_##bits){ 0 };						\
	if (node->is_end)								\
		*lengths++ = (lcs_lanes){ 0 };						\
	while (node++ < end) {								\
		lanes_##bits v = stack[node->depth - 1];				\
		lanes_##bits u = v & masks[node->function];				\
											\
		v = (v + u) | (v - u);							\
		stack[node->depth] = v;							\
		if (node->is_end)							\
			*lengths++ = count_clear_##bits(&v);				\
	}										\
}

#define COUNT_BITS(bits, x)								\
	((x) -= ((x) >> 1) & (uint##bits##_t)0x5555555555555555,			\
	 (x) = ((x) & (uint##bits##_t)0x3333333333333333) +				\
	       (((x) >> 2) & (uint##bits##_t)0x3333333333333333),			\
	 (x) = ((x) + ((x) >> 4)) & (uint##bits##_t)0x0f0f0f0f0f0f0f0f)

static inline lcs_lanes count_clear_16(const lanes_16 *v)
{
	lanes_16 x = ~*v;

	COUNT_BITS(16, x);
	return (x + (x >> 8)) & 0xff;
}

static inline lcs_lanes count_clear_32(const lanes_32 *v)
{
	lanes_32 x = ~*v;

	COUNT_BITS(32, x);
	x += x >> 8;
	return __builtin_convertvector((x + (x >> 16)) & 0xff, lcs_lanes);
}

static inline lcs_lanes count_clear_64(const lanes_64 *v)
{
	lanes_64 x = ~*v;

	COUNT_BITS(64, x);
	x += x >> 8;
	x += x >> 16;
	return __builtin_convertvector((x + (x >> 32)) & 0xff, lcs_lanes);
}

DEFINE_WALK(16)
DEFINE_WALK(32)
DEFINE_WALK(64)

/* With the carry from word to word: v + u has one where u has a bit, or v had and has none. */
static inline void step_words(lanes_64 *to, const lanes_64 *from, const lanes_64 *mask,
			      uint32_t words)
{
	lanes_64 carry = { 0 };

	for (uint32_t i = 0; i < words; i++) {
		lanes_64 v = from[i], u = v & mask[i], sum = v + u + carry;

		carry = (u | (v & ~sum)) >> (WORD_BITS - 1);
		to[i] = sum | (v - u);
	}
}

/* A byte sums up to 8 for each word, so that there may be 31 of them. */
static inline lcs_lanes count_clear_words(const lanes_64 *v, uint32_t words)
{
	const uint64_t even = 0x00ff00ff00ff00ff;
	lanes_64 sum = { 0 };

	for (uint32_t i = 0; i < words; i++) {
		lanes_64 x = ~v[i];

		COUNT_BITS(64, x);
		sum += x;
	}
	sum = (sum & even) + (sum >> 8 & even);
	sum += sum >> 16;
	return __builtin_convertvector((sum + (sum >> 32)) & 0xffff, lcs_lanes);
}

static void walk_words(const struct lcs *lcs, uint32_t words, uint32_t last)
{
	const struct paths_node *node = lcs->paths->nodes;
	const struct paths_node *end = node + last;
	const lanes_64 *masks = lcs->masks;
	lanes_64 *stack = lcs->stack;
	lcs_lanes *lengths = lcs->lengths;

	memset(stack, 0xff, words * sizeof(*stack));
	if (node->is_end)
		*lengths++ = (lcs_lanes){ 0 };
	while (node++ < end) {
		lanes_64 *v = stack + (size_t)node->depth * words;

		step_words(v, v - words, masks + (size_t)node->function * words, words);
		if (node->is_end)
			*lengths++ = count_clear_words(v, words);
	}
}

static void step_many(uint64_t *to, const uint64_t *from, const uint64_t *mask, uint32_t words)
{
	uint64_t carry = 0;

	for (uint32_t i = 0; i < words; i++) {
		uint64_t v = from[i], u = v & mask[i], sum = v + u + carry;

		carry = (u | (v & ~sum)) >> (WORD_BITS - 1);
		to[i] = sum | (v - u);
	}
}

static uint32_t count_clear_many(const uint64_t *v, uint32_t words)
{
	uint32_t clear = 0;

	for (uint32_t i = 0; i < words; i++)
		clear += WORD_BITS - __builtin_popcountll(v[i]);
	return clear;
}

static uint32_t count_words(const struct lcs_pattern *pattern)
{
	return (pattern->length + WORD_BITS - 1) / WORD_BITS;
}

static void walk_many(const struct lcs *lcs, uint32_t lane, uint32_t words, uint32_t last)
{
	const struct paths_node *nodes = lcs->paths->nodes;
	const uint64_t *masks = lcs->masks;
	uint64_t *stack = lcs->stack;
	uint32_t path = 0;

	memset(stack, 0xff, words * sizeof(*stack));
	if (nodes[0].is_end)
		lcs->lengths[path++][lane] = 0;
	for (uint32_t i = 1; i <= last; i++) {
		uint64_t *v = stack + (size_t)nodes[i].depth * words;

		step_many(v, v - words, masks + (size_t)nodes[i].function * words, words);
		if (nodes[i].is_end)
			lcs->lengths[path++][lane] = count_clear_many(v, words);
	}
}

/* Patterns of several words: lanes of the words in turn, up to MAX_LANE_WORDS each. */
static void compare_words(struct lcs *lcs, const struct lcs_pattern *patterns, uint32_t nr,
			  uint32_t words, uint32_t last)
{
	const struct lcs_layout layout = { WORD_BITS, words, LCS_LANES };

	mask(lcs, &layout, patterns, nr, true);
	walk_words(lcs, words, last);
	mask(lcs, &layout, patterns, nr, false);
}

/* Still longer patterns: a word after the other, each pattern by itself. */
static void compare_many(struct lcs *lcs, const struct lcs_pattern *patterns, uint32_t nr,
			 uint32_t last)
{
	for (uint32_t lane = 0; lane < nr; lane++) {
		const struct lcs_layout layout = { WORD_BITS, count_words(&patterns[lane]), 1 };

		mask(lcs, &layout, &patterns[lane], 1, true);
		walk_many(lcs, lane, layout.words, last);
		mask(lcs, &layout, &patterns[lane], 1, false);
	}
}

static void compare_wide(struct lcs *lcs, const struct lcs_pattern *patterns, uint32_t nr,
			 uint32_t last)
{
	uint32_t most = 0;

	for (uint32_t lane = 0; lane < nr; lane++)
		if (count_words(&patterns[lane]) > most)
			most = count_words(&patterns[lane]);
	if (most <= MAX_LANE_WORDS)
		compare_words(lcs, patterns, nr, most, last);
	else
		compare_many(lcs, patterns, nr, last);
}

void lcs_compare(struct lcs *lcs, const struct lcs_pattern *patterns, uint32_t nr,
		 uint32_t nr_paths)
{
	static void (*const walks[])(const struct lcs *lcs, uint32_t last) = {
		[LCS_WIDTH_16] = walk_16, [LCS_WIDTH_32] = walk_32, [LCS_WIDTH_64] = walk_64,
	};
	struct lcs_layout layout = { .words = 1, .lanes = LCS_LANES };
	enum lcs_width width;
	uint32_t last;

	if (!nr || !nr_paths)
		return;
	last = lcs->paths->end[nr_paths - 1];
	width = lcs_width(patterns[0].length);
	if (width == LCS_WIDTH_MANY) {
		memset(lcs->lengths, 0, nr_paths * sizeof(*lcs->lengths));
		compare_wide(lcs, patterns, nr, last);
		return;
	}
	layout.bits = 16U << width;
	mask(lcs, &layout, patterns, nr, true);
	walks[width](lcs, last);
	mask(lcs, &layout, patterns, nr, false);
}
