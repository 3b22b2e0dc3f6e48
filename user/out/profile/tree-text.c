// SPDX-License-Identifier: GPL-2.0

#include "out/profile/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "out/text.h"

enum {
	MAX_INDENT = 40,
	MAX_NAME = 60,
};

/* Of a node, for the order in which a tree is read: children right below their parent. */
struct tree_reading {
	uint32_t first_child; /* node, or 0 */
	uint32_t next; /* sibling, or 0 */
	uint32_t indent; /* branches above */
};

/* By node; NULL without memory. */
static struct tree_reading *reading_order(const struct tree *tree)
{
	struct tree_reading *order = calloc(tree->nr_nodes, sizeof(*order));

	for (uint32_t i = tree->nr_nodes; order && i-- > 1;) {
		struct tree_reading *parent = &order[tree->nodes[i].parent];

		order[i].next = parent->first_child;
		parent->first_child = i;
	}
	for (uint32_t i = 1; order && i < tree->nr_nodes; i++) {
		uint32_t parent = tree->nodes[i].parent;

		order[i].indent = order[parent].indent + (tree->nodes[parent].nr_children > 1);
	}
	return order;
}

static int columns(uint32_t indent)
{
	return (int)(2 * indent > MAX_INDENT ? MAX_INDENT : 2 * indent);
}

static void print_node(FILE *file, const struct tree *tree, const struct tree_reading *order, uint32_t node)
{
	const struct tree_node *of = &tree->nodes[node];
	const struct samples *samples = tree->view->samples;
	const struct samples_function *function = NULL;
	char label[PROFILE_LABEL_MAX], depth[16] = "loop", text[TEXT_MAX];

	if (node) {
		snprintf(depth, sizeof(depth), "%" PRIu32, of->depth);
		function = &samples->functions[of->function];
	}
	fprintf(file, "  %5s %c%c %*s%s", depth, of->is_identifying ? '*' : ' ',
		of->is_guard ? 'g' : ' ', columns(order[node].indent), "",
		tree_label(tree, node, MAX_NAME - (size_t)columns(order[node].indent) / 2, label));
	/* A name alone does not identify the file. */
	if (function && function->name && function->object) {
		fputs("  ", file);
		text_safe(file, text_basename(samples->objects[function->object].path));
	}
	if (of->nr_more)
		fprintf(file, "  +%s", text_count(of->nr_more, text));
	fputc('\n', file);
}

static void print_nodes(FILE *file, const struct tree *tree, const struct tree_reading *order)
{
	uint32_t node = 0;

	for (;;) {
		print_node(file, tree, order, node);
		if (order[node].first_child) {
			node = order[node].first_child;
			continue;
		}
		while (node && !order[node].next)
			node = tree->nodes[node].parent;
		if (!node)
			return;
		node = order[node].next;
	}
}

int tree_text(FILE *file, const struct tree *tree)
{
	const struct model_type *type = &tree->view->model->types[tree->type];
	const struct samples_tree *example = &tree->view->samples->trees[type->example];
	char title[TREE_TITLE_MAX], text[TEXT_MAX];
	struct tree_reading *order = reading_order(tree);

	if (!order)
		return -ENOMEM;
	fprintf(file, "%s%s%s\n", text_bold(file), tree_title(tree, title), text_plain(file));
	if (type->nr_trees > 1)
		fprintf(file, "  The most frequent of its %s call trees, of ",
			text_count(type->nr_trees, text));
	else
		fputs("  Its call tree, of ", file);
	fprintf(file, "%s units:\n", text_count(example->units[0] + example->units[1], text));
	fprintf(file, "  %s paths", text_count(tree->nr_paths, text));
	fprintf(file, " through %s functions.", text_count(tree->nr_functions, text));
	fputs("\n  g: has a guard, *: one that speaks for this type", file);
	if (tree->nr_nodes <= tree->nr_all)
		fputs(", +n: calls below that are not shown", file);
	fputs("\n\n", file);
	fputs("  depth    function\n", file);
	print_nodes(file, tree, order);
	free(order);
	return 0;
}
