/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The call tree of a type's example, cut to a size that can be looked at, and
 * with chains of calls folded into boxes.
 */
#ifndef _USER_OUT_PROFILE_TREE_H
#define _USER_OUT_PROFILE_TREE_H

#include <stdint.h>
#include <stdio.h>

#include "out/profile/profile-view.h"

/* Node 0 is the loop; a parent comes before its children. */
struct tree_node {
	uint32_t function; /* SAMPLES_NONE for the loop */
	uint32_t parent;
	uint32_t depth; /* calls below the loop */
	uint32_t nr_children; /* that are in the tree */
	uint32_t nr_more; /* descendants that were left out */
	uint8_t is_guard;
	uint8_t is_identifying; /* speaks for the type; see profile-view.h */
};

/* A line of a box: a node, or the middle of a chain of plain ones. */
struct tree_line {
	uint32_t node; /* SAMPLES_NONE: so many calls in a row are not shown */
	uint32_t nr_more;
};

/* A node and those it leads to without a branch.  Box 0 begins at the loop. */
struct tree_box {
	uint32_t parent; /* box; of box 0 itself */
	uint32_t level;
	uint32_t first_line;
	uint32_t nr_lines;
};

struct tree {
	const struct profile_view *view;
	uint32_t type; /* index */
	uint32_t nr_paths; /* of the whole tree */
	uint32_t nr_functions; /* different ones, of the whole tree */
	uint32_t nr_all; /* nodes of the whole tree, without the loop */
	struct tree_node *nodes;
	uint32_t nr_nodes;
	struct tree_line *lines;
	uint32_t nr_lines;
	struct tree_box *boxes;
	uint32_t nr_boxes;
};

/*
 * At most @max_nodes nodes stay: those on the way to guards that speak for the
 * type first, then to others, then those near the loop.  The view is lent.
 * Returns 0, -ENOENT (the type has no example) or -ENOMEM.
 */
int tree_init(struct tree *tree, const struct profile_view *view, uint32_t type,
	      uint32_t max_nodes);
void tree_deinit(struct tree *tree);

/* "function", "module+0xoffset", or what the loop is called. */
char *tree_label(const struct tree *tree, uint32_t node, size_t max,
		 char label[PROFILE_LABEL_MAX]);

/* The same, with "+12" where 12 nodes below were left out; "... 2 calls". */
char *tree_line_label(const struct tree *tree, const struct tree_line *line, size_t max,
		      char label[PROFILE_LABEL_MAX]);

/* For XML and HTML.  What is not ASCII, and so perhaps no text at all, is '?'. */
void tree_escape(FILE *file, const char *text);

/* One line that says what tree it is; without a newline. */
#define TREE_TITLE_MAX 160
char *tree_title(const struct tree *tree, char title[TREE_TITLE_MAX]);

/*
 * As lines: calls without a branch stay below each other, each branch is
 * indented.  Returns 0 or -ENOMEM, as the next one does.
 */
int tree_text(FILE *file, const struct tree *tree);

/*
 * As a picture, from left to right: a box is a chain of calls, a line leads to
 * each place where it branches.
 */
int tree_svg(FILE *file, const struct tree *tree);

/* As a graph, from left to right, for Graphviz. */
void tree_dot(FILE *file, const struct tree *tree);

#endif /* _USER_OUT_PROFILE_TREE_H */
