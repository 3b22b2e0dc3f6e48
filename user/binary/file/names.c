// SPDX-License-Identifier: GPL-2.0

#include "binary/file/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash ^ hash >> 32;
}

static char **find_slot(char **slots, size_t size, const char *text)
{
	size_t i = hash_text(text) & (size - 1);

	while (slots[i] && strcmp(slots[i], text))
		i = (i + 1) & (size - 1);
	return &slots[i];
}

static int grow(struct names *names)
{
	size_t size = names->size ? 2 * names->size : 256;
	char **slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < names->size; i++)
		if (names->slots[i])
			*find_slot(slots, size, names->slots[i]) = names->slots[i];
	free(names->slots);
	names->slots = slots;
	names->size = size;
	return 0;
}

const char *names_add(struct names *names, const char *text)
{
	char **slot;

	if (2 * names->nr >= names->size && grow(names))
		return NULL;
	slot = find_slot(names->slots, names->size, text);
	if (!*slot) {
		*slot = strdup(text);
		if (*slot)
			names->nr++;
	}
	return *slot;
}

void names_deinit(struct names *names)
{
	for (size_t i = 0; i < names->size; i++)
		free(names->slots[i]);
	free(names->slots);
	memset(names, 0, sizeof(*names));
}
