/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Units as text, so that a test says what they are to be.  A tree is its
 * paths, each the letters of its functions.  Trees can have a letter, too, and
 * then a sequence of units is a word.
 */
#ifndef _PGUARD_UNITS_H
#define _PGUARD_UNITS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulated.h"
#include "tap.h"
#include "train/samples/extract.h"

struct extracted {
	struct samples samples;
	struct extract_result result;
};

static inline struct extracted extracted_of(const struct trace *trace)
{
	struct extracted of;
	int error = extract_samples(trace, &of.samples, &of.result);

	if (error) {
		printf("Bail out! collect: %s\n", strerror(-error));
		exit(1);
	}
	return of;
}

static inline void extracted_deinit(struct extracted *of)
{
	samples_deinit(&of->samples);
	extract_result_deinit(&of->result);
}

static inline int units_by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static inline void tree_text(const struct samples *samples, uint32_t tree, char *text, size_t size)
{
	char paths[64][32] = { 0 };
	uint32_t nr = samples->trees[tree].nr_leaves;

	*text = '\0';
	for (uint32_t i = 0; i < nr && i < 64; i++) {
		uint32_t node = samples->trees[tree].leaves[i], at = 31;

		for (; node && at; node = samples->nodes[node].parent)
			paths[i][--at] =
				samples->functions[samples->nodes[node].function].name[0];
		memmove(paths[i], paths[i] + at, 32 - at);
	}
	qsort(paths, nr < 64 ? nr : 64, 32, units_by_text);
	for (uint32_t i = 0; i < nr && i < 64; i++) {
		if (i)
			strncat(text, " ", size - strlen(text) - 1);
		strncat(text, paths[i], size - strlen(text) - 1);
	}
	if (!nr)
		strncat(text, "-", size - 1);
}

struct tree_name {
	char letter;
	const char *tree;
};

static inline char tree_letter(const struct samples *samples, uint32_t tree,
			       const struct tree_name *names)
{
	static uint32_t strange;
	char text[4096];

	tree_text(samples, tree, text, sizeof(text));
	for (; names->letter; names++)
		if (!strcmp(text, names->tree))
			return names->letter;
	if (++strange < 4)
		diag("unexpected tree: %s", text);
	return '?';
}

/*
 * The units of a thread (0: of all), in the order of loops and time, have the
 * trees that @expected names by letters.
 */
static inline void is_units(const struct extracted *of, uint32_t tid,
			    const struct tree_name *names, const char *expected, const char *name)
{
	char *word = calloc(1, of->result.nr_units + 1);
	uint64_t nr = 0;

	for (uint64_t i = 0; i < of->result.nr_units; i++)
		if (!tid || of->result.units[i].tid == tid)
			word[nr++] = tree_letter(&of->samples, of->result.units[i].tree, names);
	if (!ok(!strcmp(word, expected), "%s", name)) {
		diag("     got: %s", word);
		diag("expected: %s", expected);
	}
	free(word);
}

static inline void is_number(uint64_t got, uint64_t expected, const char *name)
{
	if (!ok(got == expected, "%s", name))
		diag("got %llu, expected %llu", (unsigned long long)got,
		     (unsigned long long)expected);
}

/* The one loop's boundaries by role, as the letters w, c, s and l, of a life. */
static inline void is_cut_by(const struct extracted *of, const char *roles, const char *name)
{
	static const char letters[] = { 'w', 'c', 's', 'l' };
	const struct samples_loop *loop = of->samples.loops;
	char got[16] = "";

	for (uint32_t i = 0; i < loop->nr_boundaries && i < 15; i++)
		got[i] = letters[loop->boundaries[i].role];
	if (!ok(of->samples.nr_loops == 1 && !strcmp(got, roles), "%s", name))
		diag("%u loops, boundaries '%s', expected '%s'", of->samples.nr_loops, got, roles);
}

#endif /* _PGUARD_UNITS_H */
