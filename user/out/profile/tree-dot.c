// SPDX-License-Identifier: GPL-2.0

#include "out/profile/tree.h"

#include <inttypes.h>

#define MAX_NAME 36

static void print_line(FILE *file, const struct tree *tree, const struct tree_line *line)
{
	char label[PROFILE_LABEL_MAX];
	const char *colour = "";

	if (line->node != SAMPLES_NONE && tree->nodes[line->node].is_identifying)
		colour = " bgcolor=\"#fcd34d\"";
	else if (line->node != SAMPLES_NONE && tree->nodes[line->node].is_guard)
		colour = " bgcolor=\"#bfdbfe\"";
	fprintf(file, "<tr><td align=\"left\"%s>", colour);
	tree_escape(file, tree_line_label(tree, line, MAX_NAME, label));
	fputs("</td></tr>", file);
}

void tree_dot(FILE *file, const struct tree *tree)
{
	char title[TREE_TITLE_MAX];

	fputs("digraph tree {\n"
	      "\trankdir=LR;\n"
	      "\tnode [shape=plain, fontname=\"monospace\", fontsize=11];\n"
	      "\tedge [arrowsize=0.6, color=\"#64748b\"];\n"
	      "\tlabelloc=t; labeljust=l; fontname=\"sans-serif\"; fontsize=13;\n"
	      "\tlabel=<", file);
	tree_escape(file, tree_title(tree, title));
	fputs("<br align=\"left\"/>blue: has a guard; yellow: has one that speaks for this type;"
	      " in a box each calls the next; +n: calls below that are not shown"
	      "<br align=\"left\"/>>;\n", file);
	for (uint32_t i = 0; i < tree->nr_boxes; i++) {
		const struct tree_box *box = &tree->boxes[i];

		fprintf(file, "\tb%" PRIu32 " [label=<", i);
		fputs("<table border=\"1\" cellborder=\"0\" cellspacing=\"0\">", file);
		for (uint32_t j = 0; j < box->nr_lines; j++)
			print_line(file, tree, &tree->lines[box->first_line + j]);
		fputs("</table>>];\n", file);
	}
	for (uint32_t i = 1; i < tree->nr_boxes; i++)
		fprintf(file, "\tb%" PRIu32 " -> b%" PRIu32 ";\n", tree->boxes[i].parent, i);
	fputs("}\n", file);
}
