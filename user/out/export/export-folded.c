// SPDX-License-Identifier: GPL-2.0
/*
 * Folded stacks, as flamegraph.pl and its like read them: the program, the type of the unit or
 * request, the functions from the outermost on, and behind a space the nanoseconds.
 */

#include "out/export/export-formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "out/export/exported.h"

struct folded_line {
	char *text;
	uint64_t ns;
};

struct folded {
	struct folded_line *lines;
	size_t max;
	uint32_t nr;
};

/* What parts frames and lines has no part in a name. */
static void put_name(FILE *file, const char *name, const char *begin)
{
	char text[EXPORTED_NAME_MAX];

	snprintf(text, sizeof(text), "%s", name);
	utf8_make_plain(text);
	for (char *at = text; (at = strchr(at, ';')) != NULL;)
		*at = ':';
	fprintf(file, "%s%s", begin, text);
}

static int add_line(struct folded *folded, const struct exported *exported,
		    const struct exported_stack *stack, uint64_t ns)
{
	char name[EXPORTED_NAME_MAX];
	struct folded_line *line;
	size_t size;
	FILE *file;

	if (array_grow(folded->lines, folded->nr, folded->max))
		return -ENOMEM;
	line = &folded->lines[folded->nr];
	*line = (struct folded_line){ .ns = ns };
	file = open_memstream(&line->text, &size);
	if (!file)
		return -ENOMEM;
	put_name(file, exported->program, "");
	put_name(file, *exported->type ? exported->type : exported->kind, ";");
	for (uint32_t i = stack ? stack->nr_frames : 0; i--;)
		put_name(file, exported_frame_name(&stack->frames[i], name), ";");
	if (stack && stack->syscall) {
		put_name(file, stack->syscall, ";");
		fputs("_[k]", file);
	}
	/* Of no stack it says what is known. */
	if (!stack)
		put_name(file, exported->place, ";");
	if (fclose(file)) {
		free(line->text);
		return -ENOMEM;
	}
	folded->nr++;
	return 0;
}

static int fold_one(const struct exported *exported, void *arg)
{
	struct folded *folded = arg;
	bool has_stack = false;
	int ret = 0;

	for (uint32_t i = 0; i < exported->nr_stacks && !ret; i++) {
		if (!exported->stacks[i].ns)
			continue;
		has_stack = true;
		ret = add_line(folded, exported, &exported->stacks[i], exported->stacks[i].ns);
	}
	return has_stack || ret ? ret : add_line(folded, exported, NULL, exported->elapsed_ns);
}

static int order_lines(const void *a, const void *b)
{
	const struct folded_line *one = a, *other = b;

	return strcmp(one->text, other->text);
}

int export_folded(FILE *file, const struct incidents *incidents)
{
	struct folded folded = { 0 };
	int ret = exported_each(incidents, fold_one, &folded);

	if (!ret && folded.nr)
		qsort(folded.lines, folded.nr, sizeof(*folded.lines), order_lines);
	for (uint32_t i = 0; i < folded.nr && !ret;) {
		uint64_t ns = 0;
		uint32_t first = i;

		for (; i < folded.nr && !strcmp(folded.lines[first].text, folded.lines[i].text); i++)
			ns += folded.lines[i].ns;
		fprintf(file, "%s %" PRIu64 "\n", folded.lines[first].text, ns);
	}
	for (uint32_t i = 0; i < folded.nr; i++)
		free(folded.lines[i].text);
	free(folded.lines);
	return ret;
}
