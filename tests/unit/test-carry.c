// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of a program are carried to another build of it, both without symbols.  Where
 * functions and waits are there is known from the symbols of copies, and from what these
 * print when they run.
 */

#include <libgen.h>

#include "program.h"
#include "tap.h"

#include "base/array.h"
#include "binary/code/fingerprint-read.h"
#include "train/carry/carry.h"
#include "train/samples/unify.h"

enum { MAX_NAMES = 16 };

/* The program's functions, and by whom each is called on the ways that are tried. */
static const char *const names[] = {
	"handle", "serve_get", "serve_put", "parse", "look_up", "leaf", "answer", "only_old",
	"twin_first", "twin_second",
};

enum { NR_NAMES = sizeof(names) / sizeof(names[0]) };

/* Nodes of the call tree: their callers' numbers from 1, and functions. */
static const struct {
	uint32_t parent;
	const char *name;
} tree[] = {
	{ 0, "handle" }, { 1, "serve_get" }, { 2, "parse" }, { 3, "look_up" }, { 4, "leaf" },
	{ 1, "serve_put" }, { 6, "look_up" }, { 7, "leaf" }, { 6, "only_old" },
	{ 2, "answer" }, { 10, "twin_first" },
};

enum { NR_NODES = sizeof(tree) / sizeof(tree[0]) };

struct truth {
	char name[32];
	uint32_t depth;
};

struct carried_build {
	char path[512]; /* with symbols */
	struct program program;
	struct code_map *code; /* of the copy without */
	struct fingerprints prints;
	struct samples_function *functions;
	uint32_t nr_functions;
	struct truth depths[64];
	uint32_t nr_depths;
	uint64_t return_offset;
	uint32_t distance;
	uint32_t rise;
};

static void bail_out(const char *why)
{
	diag("%s", why);
	exit(1);
}

static void run_build(struct carried_build *build)
{
	FILE *out = popen(build->path, "r");
	char line[256];

	while (out && fgets(line, sizeof(line), out) && build->nr_depths < 64) {
		struct truth *to = &build->depths[build->nr_depths];

		build->nr_depths += sscanf(line, "F %31s %u", to->name, &to->depth) == 2;
		sscanf(line, "W %lu %u %u", &build->return_offset, &build->distance, &build->rise);
	}
	if (!out || pclose(out))
		bail_out("the program does not run");
}

static void read_build(struct carried_build *build, const char *self, const char *name)
{
	char stripped[600];
	int fd;

	snprintf(build->path, sizeof(build->path), "%s/%s", self, name);
	snprintf(stripped, sizeof(stripped), "%s.stripped", build->path);
	build->program = read_program(build->path, SHT_SYMTAB);
	fd = open(stripped, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || code_map_open(fd, stripped, &build->code) ||
	    fingerprints_read(build->code->object, &build->code->functions, &build->prints) ||
	    array_new(build->functions, build->code->functions.nr))
		bail_out("cannot read the program");
	for (uint32_t i = 0; i < build->code->functions.nr; i++)
		build->nr_functions += !code_map_describe(build->code,
							  &build->code->functions.entries[i], 0,
							  &build->functions[build->nr_functions]);
	run_build(build);
}

static uint64_t offset_of(const struct carried_build *build, const char *name)
{
	const struct program_symbol *symbol = find_symbol(&build->program, name);

	return symbol ? symbol->addr : 0;
}

static uint32_t index_of(const char *name)
{
	uint32_t i = 0;

	while (strcmp(names[i], name))
		i++;
	return i;
}

static void add_function(struct samples *samples, const struct carried_build *build, uint32_t i)
{
	for (uint32_t j = 0; j < build->nr_functions; j++)
		if (build->functions[j].offset == offset_of(build, names[i]))
			samples->functions[i] = build->functions[j];
	samples->functions[i].name = NULL;
}

/* All that the program printed of one pass of its loop, as one unit. */
static void make_samples(const struct carried_build *old, struct samples *samples)
{
	struct samples_unit *unit;

	*samples = (struct samples){ .nr_objects = 1, .nr_functions = NR_NAMES, .nr_loops = 1,
				     .nr_nodes = NR_NODES + 1, .nr_trees = 1, .nr_units = 1 };
	if (array_new(samples->objects, 1) || array_new(samples->functions, NR_NAMES) ||
	    array_new(samples->loops, 1) || array_new(samples->nodes, NR_NODES + 1) ||
	    array_new(samples->trees, 1) || array_new(samples->units, 1) ||
	    array_new(samples->loops[0].boundaries, 1) ||
	    array_new(samples->trees[0].leaves, NR_NODES) ||
	    array_new(samples->units[0].hits, 64))
		bail_out("no memory");
	samples->objects[0] = (struct samples_object){ .path = strdup("/x"), .build_id = strdup("aa") };
	for (uint32_t i = 0; i < NR_NAMES; i++)
		add_function(samples, old, i);
	samples->nodes[0].function = SAMPLES_NONE;
	for (uint32_t i = 0; i < NR_NODES; i++) {
		samples->nodes[i + 1] = (struct samples_node){ tree[i].parent, index_of(tree[i].name) };
		samples->trees[0].leaves[samples->trees[0].nr_leaves++] = i + 1;
	}
	samples->loops[0].nr_boundaries = 1;
	samples->loops[0].function = SAMPLES_NONE;
	samples->loops[0].boundaries[0] = (struct samples_boundary){
		.role = SAMPLES_ROLE_WAIT, .syscall = 110, .return_offset = old->return_offset,
		.distance = old->distance, .rise = old->rise, .function = SAMPLES_NONE,
	};
	unit = &samples->units[0];
	for (uint32_t i = 0; i < old->nr_depths; i++)
		unit->hits[unit->nr_hits++] = (struct samples_hit){
			.function = index_of(old->depths[i].name), .depth = old->depths[i].depth,
			.count = 1,
		};
}

static bool has_depth(const struct carried_build *build, const char *name, uint32_t depth)
{
	for (uint32_t i = 0; i < build->nr_depths; i++)
		if (!strcmp(build->depths[i].name, name) && build->depths[i].depth == depth)
			return true;
	diag("%s is not at depth %u", name, depth);
	return false;
}

static const char *name_at(const struct carried_build *build, uint64_t offset)
{
	for (uint32_t i = 0; i < NR_NAMES; i++)
		if (offset_of(build, names[i]) == offset)
			return names[i];
	return "?";
}

static void test_functions(const struct carried_build *new, const struct samples *samples,
			   const struct carry_report *report)
{
	static const char *const certain[] = { "handle", "serve_get", "parse", "look_up", "leaf", "answer" };
	bool are_found = true, are_right = true;
	uint32_t place = 0;

	for (size_t i = 0; i < sizeof(certain) / sizeof(certain[0]); i++)
		if (report->functions[index_of(certain[i])] != CARRY_FOUND) {
			diag("%s: %d", certain[i], report->functions[index_of(certain[i])]);
			are_found = false;
		}
	ok(are_found, "functions that changed a little are found");
	for (uint32_t i = 0; i < NR_NAMES; i++) {
		if (report->functions[i] == CARRY_LOST || report->functions[i] == CARRY_NO_SITE)
			continue;
		if (strcmp(names[i], name_at(new, samples->functions[place].offset))) {
			diag("%s is taken for %s", names[i], name_at(new, samples->functions[place].offset));
			are_right = false;
		}
		place++;
	}
	ok(are_right, "all that are found are the right ones");
	ok(report->functions[index_of("only_old")] == CARRY_LOST, "what is gone is not found");
}

static void test_depths(const struct carried_build *new, const struct samples *samples)
{
	const struct samples_unit *unit = &samples->units[0];
	bool are_right = unit->nr_hits > 5;

	for (uint32_t i = 0; i < unit->nr_hits; i++)
		are_right &= has_depth(new, name_at(new, samples->functions[unit->hits[i].function].offset),
				       unit->hits[i].depth);
	ok(are_right, "%u hits are as deep as the new build calls them", unit->nr_hits);
}

static void test_wait(const struct carried_build *old, const struct carried_build *new,
		      const struct samples *samples)
{
	const struct samples_boundary *wait = &samples->loops[0].boundaries[0];

	ok(wait->return_offset == new->return_offset && old->return_offset != new->return_offset,
	   "its wait returns to %#lx", new->return_offset);
	ok(wait->distance == new->distance && old->distance != new->distance,
	   "its return address is %u bytes away (%u), as the program says", wait->distance,
	   new->distance);
	ok(wait->rise == new->rise && old->rise != new->rise, "and its frame %u (%u)", wait->rise,
	   new->rise);
}

static void test_carry(const struct carried_build *old, const struct carried_build *new)
{
	struct carry_object object = { .old = old->prints, .new = new->prints,
				       .functions = new->functions,
				       .nr_functions = new->nr_functions };
	struct carry_report report;
	struct samples samples;

	make_samples(old, &samples);
	ok(!function_match_init(&object.match, &old->prints, &new->prints) &&
	   !carry_samples(&samples, &object, &report), "samples are carried");
	if (!ok(!report.loops[0], "the loop stays")) {
		diag("it went for %d", report.loops[0]);
		exit(1);
	}
	test_functions(new, &samples, &report);
	test_depths(new, &samples);
	test_wait(old, new, &samples);
	ok(!samples_unify(&samples) && samples.nr_trees == 1, "and can be put in order");
	carry_report_deinit(&report);
	function_match_deinit(&object.match);
	samples_deinit(&samples);
}

/* A wait of which the old build's code has no call is nowhere in the new one. */
static void test_unknown_wait(const struct carried_build *old, const struct carried_build *new)
{
	struct carry_object object = { .old = old->prints, .new = new->prints,
				       .functions = new->functions,
				       .nr_functions = new->nr_functions };
	enum carry_wait_fate fates[3];
	struct carry_report report;
	struct samples samples;

	for (int i = 0; i < 3; i++) {
		make_samples(old, &samples);
		samples.loops[0].boundaries[0].return_offset += i == 0;
		samples.loops[0].boundaries[0].distance += i == 1 ? 24 : 0;
		samples.loops[0].boundaries[0].rise += i == 2 ? 48 : 0;
		if (function_match_init(&object.match, &old->prints, &new->prints) ||
		    carry_samples(&samples, &object, &report))
			bail_out("no memory");
		fates[i] = report.loops[0];
		carry_report_deinit(&report);
		function_match_deinit(&object.match);
		samples_deinit(&samples);
	}
	ok(fates[0] == CARRY_WAIT_CALL, "a loop whose wait is no call is dropped");
	ok(fates[1] == CARRY_WAIT_DISTANCE, "as is one whose return address no calls explain");
	ok(fates[2] == CARRY_WAIT_FRAME, "and one whose frame none explain");
}

static void test_packing(const struct carried_build *build)
{
	struct fingerprints back;
	uint32_t size, refused = 0;
	uint8_t *bytes;
	bool is_same;

	if (fingerprints_pack(&build->prints, &bytes, &size))
		bail_out("no memory");
	is_same = !fingerprints_unpack(bytes, size, &back) && back.nr == build->prints.nr &&
		  !memcmp(back.functions, build->prints.functions, back.nr * sizeof(*back.functions)) &&
		  back.nr_refs == build->prints.nr_refs;
	for (uint32_t i = 0; i < back.nr_refs && is_same; i++)
		is_same = back.refs[i].end == build->prints.refs[i].end &&
			  back.refs[i].kind == build->prints.refs[i].kind &&
			  back.refs[i].value == build->prints.refs[i].value &&
			  back.refs[i].frame == build->prints.refs[i].frame;
	ok(is_same, "fingerprints are the same when they were packed: %u bytes", size);
	fingerprints_deinit(&back);
	for (uint32_t cut = 0; cut < size; cut++)
		refused += fingerprints_unpack(bytes, cut, &back) == -EBADMSG;
	ok(refused == size, "cut ones are refused");
	srandom(1);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t at = (uint32_t)random() % size;
		uint8_t byte = bytes[at];

		bytes[at] = (uint8_t)random();
		if (!fingerprints_unpack(bytes, size, &back)) {
			struct function_match match;

			/* What is taken can be worked with. */
			if (!(i % 16) && function_match_init(&match, &back, &build->prints))
				bail_out("no memory");
			if (!(i % 16))
				function_match_deinit(&match);
			fingerprints_deinit(&back);
		}
		bytes[at] = byte;
	}
	ok(1, "damaged ones do no harm");
	free(bytes);
}

int main(int argc, char **argv)
{
	static struct carried_build old, new;
	const char *self = dirname(argv[0]);

	(void)argc;
	plan(16);
	read_build(&old, self, "carried-old");
	read_build(&new, self, "carried-new");
	test_packing(&old);
	test_carry(&old, &new);
	test_unknown_wait(&old, &new);
	return tap_status();
}
