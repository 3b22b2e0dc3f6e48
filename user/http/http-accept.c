// SPDX-License-Identifier: GPL-2.0
/* "TYPE/SUBTYPE; NAME=VALUE; q=0.5, ...". */

#include "http/http-accept.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t skip_blanks(const char *text, size_t len)
{
	size_t nr = 0;

	while (nr < len && isspace((unsigned char)text[nr]))
		nr++;
	return nr;
}

/* The q of one element, without the type; 1 if it has none. */
static double quality_of(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] != ';')
			continue;
		i += 1 + skip_blanks(text + i + 1, len - i - 1);
		if (i + 2 < len && (text[i] == 'q' || text[i] == 'Q') && text[i + 1] == '=')
			return strtod(text + i + 2, NULL);
	}
	return 1;
}

/* How much the type is wanted; 0 if it is not named. */
static double wanted(const char *accept, const char *type)
{
	size_t size = strlen(type);
	double best = 0;

	while (*accept) {
		size_t len = strcspn(accept, ","), blanks = skip_blanks(accept, len);
		const char *element = accept + blanks;
		double quality;

		len -= blanks;
		if (len >= size && !strncasecmp(element, type, size) &&
		    (len == size || element[size] == ';' || isspace((unsigned char)element[size]))) {
			quality = quality_of(element + size, len - size);
			best = quality > best ? quality : best;
		}
		accept = element + len;
		accept += *accept == ',';
	}
	return best;
}

bool http_accept_prefers(const char *accept, const char *type, const char *other)
{
	double quality = wanted(accept, type);

	return quality > 0 && quality >= wanted(accept, other);
}
