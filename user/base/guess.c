// SPDX-License-Identifier: GPL-2.0

#include "base/guess.h"

#include <string.h>

enum {
	MAX_WORD = 31,
	FAR = MAX_WORD + 1,
};

static unsigned int least_of(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* How many characters are to be changed, added or left out to make @a of @b (Levenshtein). */
static unsigned int distance_of(const char *a, const char *b)
{
	/* Of the first so many characters of @a, from those of @b up to the row's. */
	unsigned int row[MAX_WORD + 1];
	size_t a_size = strlen(a), b_size = strlen(b);

	if (a_size > MAX_WORD || b_size > MAX_WORD)
		return FAR;
	for (unsigned int i = 0; i <= a_size; i++)
		row[i] = i;
	for (unsigned int j = 1; j <= b_size; j++) {
		unsigned int diagonal = row[0];

		row[0] = j;
		for (unsigned int i = 1; i <= a_size; i++) {
			unsigned int above = row[i];

			row[i] = least_of(diagonal + (a[i - 1] != b[j - 1]),
					  1 + least_of(above, row[i - 1]));
			diagonal = above;
		}
	}
	return row[a_size];
}

/* A word of which half is wrong is another one. */
static bool is_near(const struct guess *guess, unsigned int distance)
{
	enum { MAX_DISTANCE = 2 };

	return distance <= MAX_DISTANCE && 2 * distance <= strlen(guess->wanted);
}

void guess_offer(struct guess *guess, const char *word)
{
	unsigned int distance = distance_of(guess->wanted, word);

	if (!is_near(guess, distance) || (guess->word && guess->distance <= distance))
		return;
	guess->word = word;
	guess->distance = distance;
}
