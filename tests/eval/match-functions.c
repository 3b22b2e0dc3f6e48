// SPDX-License-Identifier: GPL-2.0
/*
 * Matches the functions of two builds of a program, and judges it by the names that these
 * export, which the matching does not see.
 *
 * usage: match-functions OLD NEW
 *
 * Prints JSON: a line of the whole, then one of each function of OLD.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "binary/code/code-map.h"
#include "binary/code/fingerprint-read.h"
#include "train/carry/function-match.h"

struct build {
	struct code_map *code;
	struct fingerprints prints;
	const char **names; /* by fingerprint; NULL without one */
	uint32_t packed; /* bytes */
	double read_s; /* that making the fingerprints took */
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* As in a profile: packed, and unpacked again, without names. */
static void read_build(const char *path, struct build *build)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct fingerprints prints;
	uint8_t *bytes;

	if (fd < 0 || code_map_open(fd, path, &build->code)) {
		fprintf(stderr, "match-functions: cannot read %s\n", path);
		exit(2);
	}
	build->read_s = -now_s();
	if (fingerprints_read(build->code->object, &build->code->functions, &prints))
		exit(2);
	build->read_s += now_s();
	if (array_new(build->names, prints.nr) ||
	    fingerprints_pack(&prints, &bytes, &build->packed) ||
	    fingerprints_unpack(bytes, build->packed, &build->prints))
		exit(2);
	for (uint32_t i = 0; i + 1 < prints.nr; i++) {
		const struct function *function =
			code_map_function(build->code, prints.functions[i].offset);

		build->names[i] = function ? function->name : NULL;
		build->prints.functions[i].name = 0;
	}
	fingerprints_deinit(&prints);
	free(bytes);
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static const char **sorted_names(const struct build *build, uint32_t *ret_nr)
{
	const char **names = calloc(build->prints.nr, sizeof(*names));

	for (uint32_t i = 0; names && i < build->prints.nr; i++)
		if (build->names[i])
			names[(*ret_nr)++] = build->names[i];
	if (names)
		qsort(names, *ret_nr, sizeof(*names), by_name);
	return names;
}

static void print_name(const char *key, const char *name)
{
	if (name)
		printf(", \"%s\": \"%s\"", key, name); /* a symbol's has nothing to escape */
	else
		printf(", \"%s\": null", key);
}

static void print_function(const struct build *old, const struct build *new, uint32_t i, uint32_t to,
			   bool is_there)
{
	bool is_matched = to != FUNCTION_MATCH_NONE;

	printf("{\"offset\": %" PRIu64 ", \"is_there\": %s, \"is_matched\": %s",
	       old->prints.functions[i].offset, is_there ? "true" : "false",
	       is_matched ? "true" : "false");
	print_name("old", old->names[i]);
	print_name("new", is_matched ? new->names[to] : NULL);
	puts("}");
}

int main(int argc, char **argv)
{
	struct function_match match;
	struct build old, new;
	uint32_t nr_new = 0;
	const char **names;
	double match_s;

	if (argc != 3) {
		fputs("usage: match-functions OLD NEW\n", stderr);
		return 2;
	}
	read_build(argv[1], &old);
	read_build(argv[2], &new);
	match_s = -now_s();
	if (function_match_init(&match, &old.prints, &new.prints))
		return 2;
	match_s += now_s();
	printf("{\"bytes\": [%u, %u], \"read_s\": [%.3f, %.3f], \"match_s\": %.3f}\n", old.packed,
	       new.packed, old.read_s, new.read_s, match_s);
	names = sorted_names(&new, &nr_new);
	for (uint32_t i = 0; i + 1 < old.prints.nr && names; i++)
		print_function(&old, &new, i, match.to[i],
			       old.names[i] && nr_new && bsearch(&old.names[i], names, nr_new,
								 sizeof(*names), by_name));
	return names ? 0 : 2;
}
