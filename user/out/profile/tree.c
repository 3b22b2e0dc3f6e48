// SPDX-License-Identifier: GPL-2.0

#include "out/profile/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "out/text.h"

/* While the tree is made. */
struct making {
	const struct samples *samples;
	struct making_node { /* of the samples' trie */
		bool is_in; /* the whole tree */
		uint8_t wanted; /* 2: leads to a guard that speaks for the type, 1: to another */
		uint32_t kept; /* its number in the tree, or SAMPLES_NONE */
		uint32_t nearest; /* number of itself, or of its next ancestor in the tree */
	} *nodes;
	struct making_function {
		bool is_identifying;
		bool is_seen;
	} *functions;
};

static void making_deinit(struct making *making)
{
	free(making->nodes);
	free(making->functions);
}

static int making_init(struct making *making, const struct samples *samples)
{
	*making = (struct making){
		.samples = samples,
		.nodes = calloc((size_t)samples->nr_nodes + 1, sizeof(*making->nodes)),
		.functions = calloc((size_t)samples->nr_functions + 1, sizeof(*making->functions)),
	};
	if (!making->nodes || !making->functions) {
		making_deinit(making);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < samples->nr_nodes; i++)
		making->nodes[i].kept = SAMPLES_NONE;
	return 0;
}

static void find_identifying(struct making *making, const struct profile_view *view, uint32_t type)
{
	const struct profile_identifying *best = &view->identifying[type * PROFILE_MAX_IDENTIFYING];
	const struct model *model = view->model;

	for (int i = 0; i < PROFILE_MAX_IDENTIFYING && best[i].lead; i++) {
		uint32_t guard = model->contexts[best[i].context].guard;

		making->functions[model->guards[guard].function].is_identifying = true;
	}
}

/* A node's parent has a smaller number, so one way down reaches the loop. */
static void find_nodes(struct tree *tree, struct making *making, const struct samples_tree *of)
{
	for (uint32_t i = 0; i < of->nr_leaves; i++)
		making->nodes[of->leaves[i]].is_in = true;
	for (uint32_t i = making->samples->nr_nodes; i-- > 1;) {
		uint32_t function = making->samples->nodes[i].function;
		struct making_node *node = &making->nodes[i];
		struct making_node *parent = &making->nodes[making->samples->nodes[i].parent];

		if (!node->is_in)
			continue;
		parent->is_in = true;
		if (making->functions[function].is_identifying)
			node->wanted = 2;
		else if (tree->view->is_guard[function] && !node->wanted)
			node->wanted = 1;
		if (node->wanted > parent->wanted)
			parent->wanted = node->wanted;
		tree->nr_all++;
		tree->nr_functions += !making->functions[function].is_seen;
		making->functions[function].is_seen = true;
	}
}

/* Mark those that stay, with anything but SAMPLES_NONE. */
static uint32_t choose(struct making *making, uint32_t max_nodes)
{
	uint32_t nr = 1;

	making->nodes[0].kept = 0;
	for (int wanted = 2; wanted >= 0; wanted--) {
		for (uint32_t i = 1; i < making->samples->nr_nodes && nr < max_nodes; i++) {
			struct making_node *node = &making->nodes[i];

			if (!node->is_in || node->wanted != wanted ||
			    making->nodes[making->samples->nodes[i].parent].kept == SAMPLES_NONE)
				continue;
			node->kept = 0;
			nr++;
		}
	}
	return nr;
}

static void add_node(struct tree *tree, struct making *making, uint32_t index)
{
	const struct samples_node *from = &making->samples->nodes[index];
	uint32_t parent = making->nodes[from->parent].kept;
	struct tree_node *node = &tree->nodes[tree->nr_nodes];

	making->nodes[index].kept = tree->nr_nodes++;
	node->function = from->function;
	node->parent = parent;
	node->depth = tree->nodes[parent].depth + 1;
	node->is_guard = tree->view->is_guard[from->function];
	node->is_identifying = making->functions[from->function].is_identifying;
	tree->nodes[parent].nr_children++;
}

/* One that is left out counts for the nearest ancestor that is not. */
static int add_nodes(struct tree *tree, struct making *making, uint32_t max_nodes)
{
	const struct samples *samples = making->samples;
	uint32_t nr = choose(making, max_nodes);

	tree->nodes = calloc(nr, sizeof(*tree->nodes));
	if (!tree->nodes)
		return -ENOMEM;
	tree->nodes[tree->nr_nodes++].function = SAMPLES_NONE;
	for (uint32_t i = 1; i < samples->nr_nodes; i++) {
		struct making_node *node = &making->nodes[i];

		if (!node->is_in)
			continue;
		node->nearest = making->nodes[samples->nodes[i].parent].nearest;
		if (node->kept == SAMPLES_NONE) {
			tree->nodes[node->nearest].nr_more++;
		} else {
			add_node(tree, making, i);
			node->nearest = node->kept;
		}
	}
	return 0;
}

static bool is_plain(const struct tree *tree, uint32_t node)
{
	return node && !tree->nodes[node].is_guard && !tree->nodes[node].is_identifying &&
	       !tree->nodes[node].nr_more;
}

/*
 * Add the line of the next node of a chain.  Of more than three plain ones in a
 * row the first and the last stay; the last is known only when it is there.
 */
static void add_line(struct tree *tree, struct tree_box *box, uint32_t node, uint32_t *plain)
{
	struct tree_line *end = &tree->lines[tree->nr_lines];

	*plain = is_plain(tree, node) ? *plain + 1 : 0;
	if (*plain < 4) {
		end->node = node;
	} else if (*plain == 4) {
		/* first, second, third -> first, 2 more, this one */
		end[-2] = (struct tree_line){ .node = SAMPLES_NONE, .nr_more = 2 };
		end[-1].node = node;
		return;
	} else {
		end[-2].nr_more++;
		end[-1].node = node;
		return;
	}
	tree->nr_lines++;
	box->nr_lines++;
}

/* The chain that begins with @node; @next is a node's only child. */
static void add_box(struct tree *tree, uint32_t node, const uint32_t *next, uint32_t *box_of)
{
	uint32_t index = tree->nr_boxes++, plain = 0;
	struct tree_box *box = &tree->boxes[index];

	if (node) {
		box->parent = box_of[tree->nodes[node].parent];
		box->level = tree->boxes[box->parent].level + 1;
	}
	box->first_line = tree->nr_lines;
	for (;; node = next[node]) {
		add_line(tree, box, node, &plain);
		box_of[node] = index;
		if (tree->nodes[node].nr_children != 1)
			break;
	}
}

static void add_boxes(struct tree *tree, uint32_t *next, uint32_t *box_of)
{
	for (uint32_t i = 1; i < tree->nr_nodes; i++)
		next[tree->nodes[i].parent] = i;
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		if (!i || tree->nodes[tree->nodes[i].parent].nr_children != 1)
			add_box(tree, i, next, box_of);
	}
}

static int fold(struct tree *tree)
{
	size_t nr = tree->nr_nodes;
	uint32_t *next = calloc(nr, sizeof(*next)), *box_of = calloc(nr, sizeof(*box_of));
	int ret = -ENOMEM;

	tree->lines = calloc(nr, sizeof(*tree->lines));
	tree->boxes = calloc(nr, sizeof(*tree->boxes));
	if (next && box_of && tree->lines && tree->boxes) {
		add_boxes(tree, next, box_of);
		ret = 0;
	}
	free(next);
	free(box_of);
	return ret;
}

int tree_init(struct tree *tree, const struct profile_view *view, uint32_t type, uint32_t max_nodes)
{
	uint32_t example = view->model->types[type].example;
	struct making making;
	int ret;

	*tree = (struct tree){ .view = view, .type = type };
	if (example == SAMPLES_NONE || !view->samples->nr_nodes)
		return -ENOENT;
	ret = making_init(&making, view->samples);
	if (ret)
		return ret;
	tree->nr_paths = view->samples->trees[example].nr_leaves;
	find_identifying(&making, view, type);
	find_nodes(tree, &making, &view->samples->trees[example]);
	ret = add_nodes(tree, &making, max_nodes);
	if (!ret)
		ret = fold(tree);
	making_deinit(&making);
	if (ret)
		tree_deinit(tree);
	return ret;
}

void tree_deinit(struct tree *tree)
{
	free(tree->nodes);
	free(tree->lines);
	free(tree->boxes);
	memset(tree, 0, sizeof(*tree));
}

char *tree_label(const struct tree *tree, uint32_t node, size_t max, char label[PROFILE_LABEL_MAX])
{
	const struct samples *samples = tree->view->samples;
	const struct model_type *type = &tree->view->model->types[tree->type];
	uint32_t function = node ? tree->nodes[node].function : samples->loops[type->loop].function;

	if (function != SAMPLES_NONE)
		return profile_function_label(samples, function, max, label);
	snprintf(label, PROFILE_LABEL_MAX, "event loop %" PRIu32, type->loop + 1);
	return label;
}

char *tree_line_label(const struct tree *tree, const struct tree_line *line, size_t max,
		      char label[PROFILE_LABEL_MAX])
{
	char text[TEXT_MAX];

	if (line->node == SAMPLES_NONE) {
		snprintf(label, PROFILE_LABEL_MAX, "... %s calls", text_count(line->nr_more, text));
		return label;
	}
	tree_label(tree, line->node, max, label);
	if (tree->nodes[line->node].nr_more)
		text_append(label, PROFILE_LABEL_MAX, " +%s",
			    text_count(tree->nodes[line->node].nr_more, text));
	return label;
}

void tree_escape(FILE *file, const char *text)
{
	static const char *const escapes[256] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;",
	};

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (escapes[c])
			fputs(escapes[c], file);
		else
			fputc(c < 0x20 || c > 0x7e ? '?' : c, file);
	}
}

char *tree_title(const struct tree *tree, char title[TREE_TITLE_MAX])
{
	const struct profile_view *view = tree->view;
	const struct model_type *type = &view->model->types[tree->type];
	char units[TEXT_MAX], time[TEXT_MAX];

	snprintf(title, TREE_TITLE_MAX,
		 "Type %" PRIu32 " of event loop %" PRIu32 " in %.60s: %s of units, %s of time",
		 type->id, type->loop + 1, text_basename(view->samples->objects[0].path),
		 text_share(type->units, view->units, units),
		 text_share(type->times.sum_ns, view->time_ns, time));
	utf8_make_plain(title);
	return title;
}
