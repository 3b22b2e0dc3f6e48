/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the code under test has printed, and whether it has some words.
 */
#ifndef _PGUARD_PRINTED_H
#define _PGUARD_PRINTED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t size;

static inline bool has(const char *words)
{
	bool ret = text && strstr(text, words);

	if (!ret)
		printf("# no '%s' in: %s\n", words, text ? text : "nothing");
	return ret;
}

/* Where to print to; @text has it once that is closed. */
static inline FILE *printed_open(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &size);
}

#endif /* _PGUARD_PRINTED_H */
