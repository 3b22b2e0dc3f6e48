/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which word was meant by one that is mistyped.
 */
#ifndef _USER_BASE_GUESS_H
#define _USER_BASE_GUESS_H

#include <stdbool.h>

/* The nearest of the words that were offered. */
struct guess {
	const char *wanted; /* set by the caller */
	const char *word; /* NULL: none is near enough */
	unsigned int distance;
};

/* Keep @word if it is nearer than those before. */
void guess_offer(struct guess *guess, const char *word);

#endif /* _USER_BASE_GUESS_H */
