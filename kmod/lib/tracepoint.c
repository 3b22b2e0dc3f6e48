// SPDX-License-Identifier: GPL-2.0

#include "lib/tracepoint.h"

#include <linux/string.h>
#include <linux/tracepoint.h>

struct tracepoint_search {
	const char *name;
	struct tracepoint *found;
};

static void look(struct tracepoint *tracepoint, void *data)
{
	struct tracepoint_search *search = data;

	if (!strcmp(tracepoint->name, search->name))
		search->found = tracepoint;
}

/* Of the kernel itself, not of a module; NULL if this kernel has none.  Context: may sleep. */
struct tracepoint *pguard_tracepoint_find(const char *name)
{
	struct tracepoint_search search = { .name = name };

	for_each_kernel_tracepoint(look, &search);
	return search.found;
}
