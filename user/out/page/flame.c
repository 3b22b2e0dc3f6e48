// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "out/page/drawing.h"
#include "out/page/markup.h"
#include "out/text.h"

enum {
	FLAME_ROW = 18,
	MAX_LEVELS = 60,
	MAX_BOXES = 140,
	NO_BOX = UINT32_MAX,
};
#define MIN_BOX 0.4 /* per cent */
#define MIN_NAMED 4.0

struct flame_node {
	struct hotpath_place place;
	const char *syscall; /* not NULL: this, and no function */
	uint64_t ns;
	uint32_t first_child;
	uint32_t next;
	uint32_t level;
};

/* Node 0 is all. */
struct flame {
	struct flame_node *nodes;
	uint32_t nr;
	uint32_t nr_boxes;
	uint32_t nr_levels;
	const char *exe;
};

static bool is_same(const struct flame_node *node, const struct hotpath_place *place,
		    const char *syscall)
{
	const char *module = node->place.module;

	if (syscall || node->syscall)
		return syscall && node->syscall && !strcmp(syscall, node->syscall);
	return node->place.offset == place->offset && !module == !place->module &&
	       (!module || !strcmp(module, place->module));
}

static uint32_t flame_child(struct flame *flame, uint32_t parent, const struct hotpath_place *place,
			    const char *syscall)
{
	uint32_t *link = &flame->nodes[parent].first_child;

	/* A function that calls itself is one box. */
	if (!syscall && parent && is_same(&flame->nodes[parent], place, NULL))
		return parent;
	while (*link != NO_BOX && !is_same(&flame->nodes[*link], place, syscall))
		link = &flame->nodes[*link].next;
	if (*link != NO_BOX)
		return *link;
	*link = flame->nr;
	flame->nodes[flame->nr] = (struct flame_node){
		.place = *place,
		.syscall = syscall,
		.first_child = NO_BOX,
		.next = NO_BOX,
		.level = flame->nodes[parent].level + 1,
	};
	return flame->nr++;
}

static void flame_add(struct flame *flame, const struct read_stack *stack, uint64_t ns)
{
	uint32_t at = 0, before = 0;

	flame->nodes[0].ns += ns;
	for (uint32_t i = stack->nr_frames; i-- && flame->nodes[at].level < MAX_LEVELS;
	     before = at) {
		const struct hotpath_place place = hotpath_place(&stack->frames[i]);

		at = flame_child(flame, at, &place, NULL);
		if (at != before)
			flame->nodes[at].ns += ns;
	}
	if (stack->is_blocked && stack->syscall) {
		at = flame_child(flame, at, &(struct hotpath_place){ 0 }, stack->syscall);
		flame->nodes[at].ns += ns;
	}
}

static int flame_init(struct flame *flame, const struct read_stacks *stacks, uint64_t elapsed_ns)
{
	if (array_new(flame->nodes, 1 + stacks->nr_frames + stacks->nr))
		return -1;
	flame->nodes[0] = (struct flame_node){ .first_child = NO_BOX, .next = NO_BOX };
	flame->nr = 1;
	for (uint32_t i = 0; i < stacks->nr; i++) {
		uint64_t ns = read_stacks_weight(stacks, i, elapsed_ns);

		if (ns)
			flame_add(flame, &stacks->of[i], ns);
	}
	return 0;
}

static const char *style_of(const struct flame *flame, const struct flame_node *node)
{
	const char *module = node->place.module;

	if (node->syscall)
		return "w";
	if (module && flame->exe && !strcmp(module, flame->exe))
		return "o";
	return hotpath_is_system(module) ? "l" : "m";
}

static void put_box(FILE *file, const struct flame *flame, const struct flame_node *node, double x,
		    double width)
{
	char text[512], duration[DURATION_TEXT_MAX];

	if (node->syscall)
		snprintf(text, sizeof(text), "system call %s", node->syscall);
	else
		markup_place(node->place.module, node->place.function, node->place.offset, text,
			     sizeof(text));
	fprintf(file, "<svg x=%.2f%% y=%" PRIu32 " width=%.2f%% height=%d><title>", x,
		(node->level - 1) * FLAME_ROW, width, FLAME_ROW - 1);
	markup_text(file, text);
	if (node->place.module && node->place.function)
		markup_put(file, " (%s)", text_basename(node->place.module));
	fprintf(file, ", %.0f %%, %s</title><rect class=%s width=100%% height=100%% />",
		drawing_percent(node->ns, flame->nodes[0].ns), duration_format(node->ns, duration),
		style_of(flame, node));
	if (width >= MIN_NAMED) {
		fputs("<text x=4 y=13>", file);
		markup_text_cut(file, text, 60);
		fputs("</text>", file);
	}
	fputs("</svg>\n", file);
}

static uint32_t heaviest(const struct flame *flame, uint32_t parent, uint64_t below_ns,
			 uint32_t after)
{
	uint32_t best = NO_BOX;

	for (uint32_t i = flame->nodes[parent].first_child; i != NO_BOX; i = flame->nodes[i].next) {
		uint64_t ns = flame->nodes[i].ns;

		if ((ns < below_ns || (ns == below_ns && after != NO_BOX && i > after)) &&
		    (best == NO_BOX || ns > flame->nodes[best].ns))
			best = i;
	}
	return best;
}

/* The children of a node from @x on, the one with most time first.  Not deeper than MAX_LEVELS. */
static void put_boxes(FILE *file, struct flame *flame, uint32_t parent, double x)
{
	uint64_t whole = flame->nodes[0].ns;
	uint32_t at = NO_BOX;

	for (at = heaviest(flame, parent, UINT64_MAX, at); at != NO_BOX;
	     at = heaviest(flame, parent, flame->nodes[at].ns, at)) {
		double width = drawing_percent(flame->nodes[at].ns, whole);

		if (width < MIN_BOX || flame->nr_boxes >= MAX_BOXES)
			return;
		flame->nr_boxes++;
		if (flame->nodes[at].level > flame->nr_levels)
			flame->nr_levels = flame->nodes[at].level;
		if (file)
			put_box(file, flame, &flame->nodes[at], x, width);
		put_boxes(file, flame, at, x);
		x += width;
	}
}

int drawing_flame(FILE *file, const struct read_stacks *stacks, uint64_t elapsed_ns,
		  const char *exe)
{
	struct flame flame = { .exe = exe };

	if (flame_init(&flame, stacks, elapsed_ns))
		return -ENOMEM;
	/* How high it is, first. */
	put_boxes(NULL, &flame, 0, 0);
	if (flame.nr_boxes) {
		flame.nr_boxes = 0;
		fprintf(file, "<svg class=flame width=100%% height=%" PRIu32 " role=img aria-label="
			"\"Flame graph of its stacks, the outermost function on top\">\n",
			flame.nr_levels * FLAME_ROW);
		put_boxes(file, &flame, 0, 0);
		fputs("</svg>\n", file);
	}
	free(flame.nodes);
	return 0;
}
