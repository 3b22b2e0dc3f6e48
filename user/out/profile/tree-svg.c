// SPDX-License-Identifier: GPL-2.0

#include "out/profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_NAME = 36,
	/* Pixels. */
	MARGIN = 16,
	HEAD = 56, /* title and legend */
	LINE = 18,
	PAD = 8, /* inside of a box */
	GAP_X = 48,
	GAP_Y = 12,
	MIN_WIDTH = 760, /* of the legend */
};

/* Of the font, which is 12 pixels high; texts are set to their length by it. */
#define CHARACTER 7.2

struct box_place {
	double x;
	double y; /* of the box's top */
	double width;
	double height;
	double below; /* height of all that it leads to */
	double space; /* the same, or its own, if that is more */
	double next; /* where its next child's space begins */
};

struct layout {
	struct box_place *places; /* by box */
	double *columns; /* by level: width */
	double width;
	double height;
};

static void measure(const struct tree *tree, struct layout *layout)
{
	char label[PROFILE_LABEL_MAX];

	for (uint32_t i = 0; i < tree->nr_boxes; i++) {
		const struct tree_box *box = &tree->boxes[i];
		struct box_place *place = &layout->places[i];
		size_t longest = 0;

		for (uint32_t j = 0; j < box->nr_lines; j++) {
			size_t len = strlen(tree_line_label(tree, &tree->lines[box->first_line + j],
							    MAX_NAME, label));

			longest = len > longest ? len : longest;
		}
		place->width = (double)longest * CHARACTER + 2 * PAD;
		place->height = box->nr_lines * LINE + PAD;
		if (place->width > layout->columns[box->level])
			layout->columns[box->level] = place->width;
	}
}

/* Children come after their parents, and are stacked in this order. */
static void arrange(const struct tree *tree, struct layout *layout)
{
	struct box_place *places = layout->places;

	for (uint32_t i = tree->nr_boxes; i-- > 0;) {
		struct box_place *place = &places[i];

		place->space = place->height + GAP_Y;
		if (place->space < place->below)
			place->space = place->below;
		if (i)
			places[tree->boxes[i].parent].below += place->space;
	}
	for (uint32_t i = 0; i < tree->nr_boxes; i++) {
		const struct tree_box *box = &tree->boxes[i];
		struct box_place *place = &places[i];
		double top = HEAD;

		if (i) {
			top = places[box->parent].next;
			places[box->parent].next += place->space;
		}
		place->y = top + (place->space - place->height) / 2;
		place->next = top + (place->space - place->below) / 2;
		place->x = MARGIN;
		for (uint32_t level = 0; level < box->level; level++)
			place->x += layout->columns[level] + GAP_X;
		if (place->x + place->width + MARGIN > layout->width)
			layout->width = place->x + place->width + MARGIN;
	}
	layout->height = HEAD + places[0].space + MARGIN;
}

static void print_text(FILE *file, double x, double y, const char *class, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	tree_escape(file, text);
	fputs("</text>\n", file);
}

static void print_rect(FILE *file, double x, double y, double width, double height,
		       const char *class)
{
	fprintf(file,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n", x,
		y, width, height, class);
}

static void print_edges(FILE *file, const struct tree *tree, const struct layout *layout)
{
	for (uint32_t i = 1; i < tree->nr_boxes; i++) {
		const struct box_place *to = &layout->places[i];
		const struct box_place *from = &layout->places[tree->boxes[i].parent];
		double x1 = from->x + from->width, y1 = from->y + from->height / 2;
		double x2 = to->x, y2 = to->y + to->height / 2, middle = (x1 + x2) / 2;

		fprintf(file, "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\"", x1, y1,
			middle, y1, middle, y2, x2, y2);
		fputs(" class=\"edge\"/>\n", file);
	}
}

static void print_box(FILE *file, const struct tree *tree, const struct layout *layout,
		      uint32_t index)
{
	const struct tree_box *box = &tree->boxes[index];
	const struct box_place *place = &layout->places[index];
	char label[PROFILE_LABEL_MAX];

	print_rect(file, place->x, place->y, place->width, place->height, "box");
	for (uint32_t i = 0; i < box->nr_lines; i++) {
		const struct tree_line *line = &tree->lines[box->first_line + i];
		double y = place->y + PAD / 2.0 + i * LINE;
		const char *class = "more";

		if (line->node != SAMPLES_NONE) {
			const struct tree_node *node = &tree->nodes[line->node];

			class = line->node ? "name" : "loop";
			if (node->is_guard || node->is_identifying)
				print_rect(file, place->x + 1, y, place->width - 2, LINE,
					   node->is_identifying ? "identifying" : "guard");
		}
		print_text(file, place->x + PAD, y + LINE - 5, class,
			   tree_line_label(tree, line, MAX_NAME, label));
	}
}

static void print_head(FILE *file, const struct tree *tree, const struct layout *layout)
{
	char title[TREE_TITLE_MAX];

	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\""
		" viewBox=\"0 0 %.0f %.0f\">\n",
		layout->width, layout->height, layout->width, layout->height);
	fputs("<style>\n"
	      "text { font: 12px monospace; fill: #0f172a }\n"
	      ".title { font: bold 14px sans-serif }\n"
	      ".key { font: 12px sans-serif }\n"
	      ".loop { font-weight: bold }\n"
	      ".more { fill: #64748b }\n"
	      ".box { fill: #f8fafc; stroke: #94a3b8; rx: 4px }\n"
	      ".guard { fill: #bfdbfe }\n"
	      ".identifying { fill: #fcd34d }\n"
	      ".edge { fill: none; stroke: #94a3b8 }\n"
	      "</style>\n"
	      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", file);
	print_text(file, MARGIN, 22, "title", tree_title(tree, title));
	print_rect(file, MARGIN, 31, 14, 14, "guard");
	print_text(file, MARGIN + 20, 42, "key", "has a guard");
	print_rect(file, MARGIN + 110, 31, 14, 14, "identifying");
	print_text(file, MARGIN + 130, 42, "key",
		   "has one that speaks for this type; in a box each calls the next;"
		   " +n: calls below that are not shown");
}

int tree_svg(FILE *file, const struct tree *tree)
{
	struct layout layout = {
		.places = calloc(tree->nr_boxes, sizeof(*layout.places)),
		.columns = calloc(tree->nr_boxes, sizeof(*layout.columns)),
		.width = MIN_WIDTH,
	};

	if (!layout.places || !layout.columns) {
		free(layout.places);
		free(layout.columns);
		return -ENOMEM;
	}
	measure(tree, &layout);
	arrange(tree, &layout);
	print_head(file, tree, &layout);
	print_edges(file, tree, &layout);
	for (uint32_t i = 0; i < tree->nr_boxes; i++)
		print_box(file, tree, &layout, i);
	fputs("</svg>\n", file);
	free(layout.places);
	free(layout.columns);
	return 0;
}
