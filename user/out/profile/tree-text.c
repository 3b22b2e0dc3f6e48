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

/* In the order in which a tree is read: children right below their parent. */
struct reading_order {
	uint32_t *first_child; /* node, or 0 */
	uint32_t *next; /* sibling, or 0 */
	uint32_t *indent; /* branches above */
};

static void order_deinit(struct reading_order *order)
{
	free(order->first_child);
	free(order->next);
	free(order->indent);
}

static int order_init(struct reading_order *order, const struct tree *tree)
{
	*order = (struct reading_order){
		.first_child = calloc(tree->nr_nodes, sizeof(uint32_t)),
		.next = calloc(tree->nr_nodes, sizeof(uint32_t)),
		.indent = calloc(tree->nr_nodes, sizeof(uint32_t)),
	};
	if (!order->first_child || !order->next || !order->indent) {
		order_deinit(order);
		return -ENOMEM;
	}
	for (uint32_t i = tree->nr_nodes; i-- > 1;) {
		order->next[i] = order->first_child[tree->nodes[i].parent];
		order->first_child[tree->nodes[i].parent] = i;
	}
	for (uint32_t i = 1; i < tree->nr_nodes; i++) {
		const struct tree_node *parent = &tree->nodes[tree->nodes[i].parent];

		order->indent[i] = order->indent[tree->nodes[i].parent] + (parent->nr_children > 1);
	}
	return 0;
}

static int columns(uint32_t indent)
{
	return (int)(2 * indent > MAX_INDENT ? MAX_INDENT : 2 * indent);
}

static void print_node(FILE *file, const struct tree *tree, const struct reading_order *order, uint32_t node)
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
		of->is_guard ? 'g' : ' ', columns(order->indent[node]), "",
		tree_label(tree, node, MAX_NAME - (size_t)columns(order->indent[node]) / 2, label));
	/* A name alone does not identify the file. */
	if (function && function->name && function->object) {
		fputs("  ", file);
		text_safe(file, text_basename(samples->objects[function->object].path));
	}
	if (of->nr_more)
		fprintf(file, "  +%s", text_count(of->nr_more, text));
	fputc('\n', file);
}

static void print_nodes(FILE *file, const struct tree *tree, const struct reading_order *order)
{
	uint32_t node = 0;

	for (;;) {
		print_node(file, tree, order, node);
		if (order->first_child[node]) {
			node = order->first_child[node];
			continue;
		}
		while (node && !order->next[node])
			node = tree->nodes[node].parent;
		if (!node)
			return;
		node = order->next[node];
	}
}

int tree_text(FILE *file, const struct tree *tree)
{
	const struct model_type *type = &tree->view->model->types[tree->type];
	const struct samples_tree *example = &tree->view->samples->trees[type->example];
	char title[TREE_TITLE_MAX], text[TEXT_MAX];
	struct reading_order order;
	int ret = order_init(&order, tree);

	if (ret)
		return ret;
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
	print_nodes(file, tree, &order);
	order_deinit(&order);
	return 0;
}
