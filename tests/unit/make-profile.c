// SPDX-License-Identifier: GPL-2.0
/*
 * Make a profile for the tests of pg-collect, and save it.
 *
 * usage: make-profile example FILE	what training might have found in a server
 *        make-profile recorded FILE	the same, before anything was learnt
 *        make-profile here FILE PROGRAM LIBRARY	the same, of files that are here
 *        make-profile random FILE [SEED]	all that can be in a profile
 *        make-profile wide FILE	call trees of many and deep paths
 *        make-profile large FILE	20,000 variants of 300 hits
 *        make-profile names FILE	the example, with names that command a terminal
 *        make-profile again FILE N	save N times, each time another one
 *        make-profile load FILE	load it, and say what is wrong with it
 *        make-profile seconds FILE	how long a save and a load take
 */

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "binary/file/elf.h"
#include "fixture.h"
#include "store/profile-file.h"
#include "store/spool.h"

static const struct training training = {
	.tool = "0.1",
	.settings = "--duration 60s --runs 3 -e /usr/sbin/exampled",
	.created_s = 1767225600,
	.changed_s = 1767312000,
};

/* The functions of a server, as (object, offset, name). */
static const struct {
	uint32_t object;
	uint64_t offset;
	const char *name;
} functions[] = {
	{ 0, 0x11c80, NULL }, /* 0: owns the loop */
	{ 0, 0x12a40, NULL }, /* 1: event dispatch */
	{ 0, 0x14310, "http_read_request" }, /* 2 */
	{ 0, 0x14990, "http_parse_headers" }, /* 3 */
	{ 0, 0x15500, NULL }, /* 4: route */
	{ 0, 0x16020, "serve_static_file" }, /* 5 */
	{ 0, 0x16770, "open_cached_file" }, /* 6 */
	{ 0, 0x17010, "send_chain" }, /* 7 */
	{ 0, 0x18120, "serve_api" }, /* 8 */
	{ 0, 0x18ab0, NULL }, /* 9: query */
	{ 1, 0x4210, "json_begin(json::writer&, unsigned long)" }, /* 10 */
	{ 1, 0x4480, "json_string(json::writer&, std::string_view)" }, /* 11 */
	{ 2, 0x8ff0, NULL }, /* 12: compress */
	{ 2, 0x9a10, "deflate" }, /* 13 */
	{ 0, 0x1a000, "close_connection" }, /* 14 */
	{ 3, 0x8a3f0, "malloc" }, /* 15 */
	{ 3, 0x8aa20, "free" }, /* 16 */
	{ 0, 0x1b330, "log_access" }, /* 17 */
	{ 0, 0x1c450, NULL }, /* 18: a timer */
	{ 0, 0x1d560, "expire_sessions" }, /* 19 */
};

enum { NR_FUNCTIONS = sizeof(functions) / sizeof(functions[0]), END = 99 };

/* Paths from the loop, by function, ended by END. */
static const uint8_t paths[][8] = {
	{ 1, 2, 3, END }, /* 0 */
	{ 1, 2, 3, 15, END }, /* 1 */
	{ 1, 4, 5, 6, END }, /* 2 */
	{ 1, 4, 5, 7, END }, /* 3 */
	{ 1, 4, 8, 9, 15, END }, /* 4 */
	{ 1, 4, 8, 9, 16, END }, /* 5 */
	{ 1, 4, 8, 10, 11, 15, END }, /* 6 */
	{ 1, 4, 8, 7, END }, /* 7 */
	{ 1, 4, 5, 12, 13, END }, /* 8 */
	{ 1, 14, 16, END }, /* 9 */
	{ 1, 14, 17, END }, /* 10 */
	{ 1, 17, END }, /* 11 */
	{ 18, 19, 16, END }, /* 12 */
	{ 18, 19, 17, END }, /* 13 */
};

enum { NR_PATHS = sizeof(paths) / sizeof(paths[0]) };

/* Types of units: which paths, how many, how long. */
static const struct {
	const char *paths; /* 'a' is path 0 */
	uint32_t units;
	uint32_t timed;
	uint32_t mean_ns;
	uint32_t spread_ns;
	uint32_t loop;
} types[] = {
	{ "abcdl", 81200, 60400, 182000, 40000, 0 },
	{ "abefghl", 20110, 15020, 1340000, 700000, 0 },
	{ "abcdil", 4100, 2050, 5200000, 1900000, 0 },
	{ "jk", 80900, 61000, 21000, 4000, 0 },
	{ "mn", 600, 40, 90000, 70000, 1 },
	{ "m", 3, 0, 0, 0, 1 },
};

enum { NR_TYPES = sizeof(types) / sizeof(types[0]) };

static char *text_of(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		abort();
	return copy;
}

static void make_program(struct samples *samples)
{
	static const char *const objects[][2] = {
		{ "/usr/sbin/exampled", "5f1c06f1d2a9f3b6f5b4a7b1d8e3c29a77410e02" },
		{ "/usr/lib/x86_64-linux-gnu/libjson++.so.3", "0d6e0f2a1cbb32f1a8f4c6d5e0b7a9c8d7e6f5a4" },
		{ "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "9b1c2d3e4f5061728394a5b6c7d8e9f001122334" },
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "" },
	};

	FIXTURE_ARRAY(samples, objects, 4);
	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		samples->objects[i].path = text_of(objects[i][0]);
		samples->objects[i].build_id = text_of(objects[i][1]);
	}
	FIXTURE_ARRAY(samples, functions, NR_FUNCTIONS);
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++)
		samples->functions[i] = (struct samples_function){
			.object = functions[i].object,
			.offset = functions[i].offset,
			.size = 0x180,
			.site = functions[i].offset + 4,
			.sp_delta = 8,
			.cost = i == 13 ? SAMPLES_COST_STEPPED : SAMPLES_COST_CHEAP,
			.name = text_of(functions[i].name),
		};
}

static void make_loops(struct samples *samples)
{
	FIXTURE_ARRAY(samples, loops, 2);
	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		struct samples_loop *loop = &samples->loops[i];

		loop->boundaries = fixture_array(3, sizeof(*loop->boundaries));
		loop->boundaries[0] = (struct samples_boundary){
			.role = SAMPLES_ROLE_WAIT,
			.syscall = i ? 202 : 232,
			.object = i ? 3 : 0,
			.return_offset = i ? 0x85e1b : 0x11d02,
			.distance = i ? 136 : 72,
			.function = SAMPLES_NONE,
		};
		loop->nr_boundaries = 1;
		if (!i)
			loop->boundaries[loop->nr_boundaries++] = (struct samples_boundary){
				.role = SAMPLES_ROLE_EVENT_CALL,
				.syscall = 45,
				.object = 0,
				.return_offset = 0x14377,
				.distance = 40,
				.function = SAMPLES_NONE,
			};
		loop->function = i ? SAMPLES_NONE : 0;
		strcpy(loop->comm, i ? "timer" : "exampled");
		loop->units = i ? 603 : 186310;
		loop->cut_off = i ? 0 : 214;
		loop->unmarked = i ? 0 : 3120;
	}
}

/* The node of a path, added if it is not there. */
static uint32_t add_path(struct samples *samples, const uint8_t *path)
{
	uint32_t node = 0;

	for (; *path != END; path++) {
		uint32_t child = node + 1;

		while (child < samples->nr_nodes && (samples->nodes[child].parent != node ||
						     samples->nodes[child].function != *path))
			child++;
		if (child == samples->nr_nodes)
			samples->nodes[samples->nr_nodes++] =
				(struct samples_node){ .parent = node, .function = *path };
		node = child;
	}
	return node;
}

static int compare_nodes(const void *a, const void *b)
{
	return (int)*(const uint32_t *)a - (int)*(const uint32_t *)b;
}

static void make_units(struct samples *samples)
{
	FIXTURE_ARRAY(samples, nodes, 8 * NR_PATHS + 1);
	samples->nr_nodes = 1;
	samples->nodes[0].function = SAMPLES_NONE;
	FIXTURE_ARRAY(samples, trees, NR_TYPES);
	FIXTURE_ARRAY(samples, units, NR_TYPES);
	for (uint32_t i = 0; i < NR_TYPES; i++) {
		struct samples_tree *tree = &samples->trees[i];
		struct samples_unit *unit = &samples->units[i];

		tree->loop = types[i].loop;
		tree->nr_leaves = (uint32_t)strlen(types[i].paths);
		tree->leaves = fixture_array(tree->nr_leaves, sizeof(*tree->leaves));
		tree->units[0] = unit->units[0] = types[i].units / 2;
		tree->units[1] = unit->units[1] = types[i].units - types[i].units / 2;
		for (uint32_t j = 0; j < tree->nr_leaves; j++)
			tree->leaves[j] = add_path(samples, paths[types[i].paths[j] - 'a']);
		qsort(tree->leaves, tree->nr_leaves, sizeof(*tree->leaves), compare_nodes);
		unit->tree = i;
		unit->nr_hits = 1;
		unit->hits = fixture_array(1, sizeof(*unit->hits));
		unit->hits[0] = (struct samples_hit){ .function = i + 3, .depth = 64, .count = 1 };
	}
}

/* About a bell, by the sum of four numbers; the histogram is of netlink's kind. */
static void make_times(struct fixture *fixture, struct samples_times *times, uint32_t type)
{
	for (uint32_t i = 0; i < types[type].timed; i++) {
		uint64_t ns = types[type].mean_ns - types[type].spread_ns;
		uint32_t power, bucket;

		for (int j = 0; j < 4; j++)
			ns += fixture_number(fixture, types[type].spread_ns / 2 + 1);
		power = 63 - (uint32_t)__builtin_clzll(ns);
		bucket = (power - 3) * 16 + (uint32_t)(ns >> (power - 4)) - 16;
		times->nr++;
		times->sum_ns += ns;
		times->sum_squares += (unsigned __int128)ns * ns;
		times->hist[bucket < PERFGUARD_HIST_BUCKETS ? bucket : PERFGUARD_HIST_BUCKETS - 1]++;
		if (!times->nr_largest || ns > times->largest_ns[0])
			times->largest_ns[0] = ns;
		times->nr_largest = 1;
	}
}

static void make_types(struct model *model)
{
	struct fixture fixture = { .state = 1 };

	FIXTURE_ARRAY(model, types, NR_TYPES);
	for (uint32_t i = 0; i < NR_TYPES; i++) {
		struct model_type *type = &model->types[i];
		bool is_sure = types[i].timed > 3000;

		*type = (struct model_type){
			.id = i + 1,
			.loop = types[i].loop,
			.example = i,
			.units = types[i].units,
			.nr_trees = 1 + i,
			.nr_merged = i == 2 ? 3 : 1,
			.accuracy = is_sure ? 0.987 : 0.9,
			.mean_ns = {
				[SAMPLES_OWN] = (double)types[i].mean_ns,
				[SAMPLES_CPU] = (double)types[i].mean_ns / 2,
			},
			.limit_ns = {
				[SAMPLES_OWN] = types[i].mean_ns + 4 * types[i].spread_ns,
				[SAMPLES_CPU] = types[i].mean_ns / 2 + types[i].spread_ns,
			},
			.novel_ns = 21000000,
			.confidence = is_sure	      ? MODEL_CONFIDENCE_FULL :
				      types[i].timed ? MODEL_CONFIDENCE_FEW :
						       MODEL_CONFIDENCE_NONE,
			.units_needed = is_sure ? 0 : 3000 - types[i].timed,
			.false_alarms = 0.001,
			.held_back_alarms = is_sure ? 0.0008 : 0,
			.held_back_units = is_sure ? types[i].timed / 2 : 0,
		};
		make_times(&fixture, &type->times, i);
	}
	model->nr_trees = NR_TYPES;
	model->type_of_tree = fixture_array(NR_TYPES, sizeof(uint32_t));
	for (uint32_t i = 0; i < NR_TYPES; i++)
		model->type_of_tree[i] = i;
}

/* Guards at some functions; each speaks for the types whose tree has it. */
static void make_guards(struct model *model)
{
	static const uint32_t guards[] = { 3, 5, 8, 9, 11, 13, 14, 19 };
	enum { NR_GUARDS = sizeof(guards) / sizeof(guards[0]) };

	FIXTURE_ARRAY(model, guards, NR_GUARDS);
	FIXTURE_ARRAY(model, contexts, NR_GUARDS);
	FIXTURE_ARRAY(model, weights, NR_GUARDS * NR_TYPES);
	model->nr_weights = 0;
	for (uint32_t i = 0; i < NR_GUARDS; i++) {
		struct model_context *context = &model->contexts[i];
		double hits = 0.9 / (1 + i);

		model->guards[i] = (struct model_guard){ guards[i], hits, 1 + i % 3, 1100 * hits };
		*context = (struct model_context){
			.loop = guards[i] == 19,
			.guard = i,
			.depth = 48 + 32 * i,
			.first_weight = model->nr_weights,
		};
		for (uint32_t type = 0; type < NR_TYPES; type++) {
			bool has = false;

			for (const char *path = types[type].paths; *path; path++)
				for (int j = 0; paths[*path - 'a'][j] != END; j++)
					has |= paths[*path - 'a'][j] == guards[i];
			if (!has)
				continue;
			model->weights[model->nr_weights++] = (struct model_weight){
				.type = type,
				.early = (uint8_t)(40 + type),
				.final = (uint8_t)(60 + 7 * type + i),
			};
			context->nr_weights++;
		}
	}
}

static void make_example(struct samples *samples, struct model *model)
{
	memset(samples, 0, sizeof(*samples));
	memset(model, 0, sizeof(*model));
	make_program(samples);
	make_loops(samples);
	make_units(samples);
	samples->runs = 3;
	samples->lost = 12;
	make_types(model);
	make_guards(model);
	FIXTURE_ARRAY(model, predictions, 2);
	model->predictions[0] = (struct model_prediction){
		.budget = 2, .nr_guards = 7, .accuracy_end = 0.981, .accuracy_half = 0.774,
		.accuracy_unmerged = 0.953,
		.threshold_right = 0.968, .hits = 1.87, .worst = 14, .unseen = 0.0213,
		.units = 93155,
	};
	model->predictions[1] = (struct model_prediction){
		.loop = 1, .budget = 2, .nr_guards = 1, .accuracy_end = 0.995,
		.accuracy_half = 0.995, .accuracy_unmerged = 0.995, .threshold_right = 0.995, .hits = 1, .worst = 1,
		.units = 300,
	};
	model->budget = 0.02;
	model->false_alarm_rate = 0.001;
	model->cut = 0.25;
	strcpy(model->distance, "energy");
	strcpy(model->select, "information");
	strcpy(model->threshold_rule, "rate:0.001");
}

/* Controls of C0 and C1, of ASCII and raw; changes of direction; broken UTF-8. */
#define HOSTILE "\033[31m\r\a\177\302\233\233\342\200\256\342\201\246\330\234\342\200\250\300\257\355\240\200\360"

static void rename_to(char **name, const char *plain)
{
	free(*name);
	if (asprintf(name, "%s%s.\303\251", plain, HOSTILE) < 0)
		abort();
}

static void make_names(struct samples *samples, struct model *model)
{
	make_example(samples, model);
	for (uint32_t i = 0; i < samples->nr_objects; i++)
		rename_to(&samples->objects[i].path, "/usr/lib/object");
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		if (i % 3)
			rename_to(&samples->functions[i].name, "function");
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		strcpy(samples->loops[i].comm, "\033[2J\302\233\342\200\256");
	strcpy(model->distance, "\033c");
	strcpy(model->select, "\033c");
	strcpy(model->threshold_rule, "\033c");
}

static void set_object(struct samples_object *object, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_identity identity;
	const char *why;

	if (fd < 0 || elf_identify(fd, &identity, &why)) {
		fprintf(stderr, "%s is no program\n", path);
		exit(1);
	}
	close(fd);
	free(object->path);
	free(object->build_id);
	object->path = text_of(path);
	object->build_id = text_of(identity.build_id);
}

/* Of a program and one library that are on this machine. */
static void make_here(const char *program, const char *library, struct samples *samples,
		      struct model *model)
{
	make_example(samples, model);
	set_object(&samples->objects[0], program);
	set_object(&samples->objects[1], library);
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		if (samples->functions[i].object > 1)
			samples->functions[i].object = 1;
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		for (uint32_t j = 0; j < samples->loops[i].nr_boundaries; j++)
			if (samples->loops[i].boundaries[j].object > 1)
				samples->loops[i].boundaries[j].object = 1;
}

static void make_random(uint64_t seed, struct samples *samples, struct model *model)
{
	struct fixture fixture = { .state = seed, .nr_functions = FIXTURE_FUNCTIONS,
				   .nr_trees = 40, .nr_units = 200, .nr_timings = 30 };

	fixture_samples(&fixture, samples);
	fixture_model(&fixture, samples, model);
}

/* Each tree has all paths: chains that branch every few calls. */
static void make_wide(struct samples *samples, struct model *model)
{
	struct fixture fixture = { .state = 5, .nr_functions = 300, .nr_trees = 3, .nr_units = 3 };

	fixture_samples(&fixture, samples);
	free(samples->nodes);
	FIXTURE_ARRAY(samples, nodes, 3000);
	samples->nodes[0].function = SAMPLES_NONE;
	for (uint32_t i = 1; i < samples->nr_nodes; i++) {
		uint32_t back = fixture_number(&fixture, 5) ? 1 : fixture_number(&fixture, i) + 1;

		samples->nodes[i].parent = i - back;
		samples->nodes[i].function = fixture_number(&fixture, samples->nr_functions);
	}
	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		struct samples_tree *tree = &samples->trees[i];

		free(tree->leaves);
		tree->leaves = fixture_array(samples->nr_nodes, sizeof(*tree->leaves));
		tree->nr_leaves = 0;
		for (uint32_t j = 1; j < samples->nr_nodes; j++)
			tree->leaves[tree->nr_leaves++] = j;
	}
	fixture_model(&fixture, samples, model);
}

static void make_large(struct samples *samples, struct model *model)
{
	struct fixture fixture = { .state = 1, .nr_functions = 5000, .nr_trees = 4000,
				   .nr_units = 20000, .nr_timings = 2000 };

	fixture_samples(&fixture, samples);
	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct samples_unit *unit = &samples->units[i];

		free(unit->hits);
		unit->nr_hits = 300;
		unit->hits = fixture_hits(&fixture, unit->nr_hits, true);
	}
	fixture_model(&fixture, samples, model);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int save(const char *path, struct samples *samples, struct model *model)
{
	char why[PROFILE_WHY_MAX];
	int error = profile_save(path, samples, model, &training, why);

	samples_deinit(samples);
	model_deinit(model);
	if (error)
		fprintf(stderr, "%s\n", why);
	return !!error;
}

static int load(const char *path)
{
	char why[PROFILE_WHY_MAX];
	struct training loaded;
	struct samples samples;
	struct model model;

	if (profile_load(path, &samples, &model, &loaded, why)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	samples_deinit(&samples);
	model_deinit(&model);
	return 0;
}

/* Of the lines on standard input, the last @max of them. */
static int make_spool(const char *path, uint32_t max)
{
	const struct spool_bounds bounds = { 1 << 24, max };
	char why[SPOOL_WHY_MAX], *line = NULL;
	struct spool *spool;
	size_t size = 0;
	int ret = spool_open(path, &bounds, &spool, why);

	for (uint64_t seq = 1; !ret && getline(&line, &size, stdin) > 0; seq++) {
		const struct spool_alert alert = {
			.load = "boot/1", .seq = seq, .time_ns = seq, .kind = "late",
			.json = strtok(line, "\n"), .text = "",
		};

		ret = spool_add(spool, &alert, why);
	}
	free(line);
	spool_close(spool);
	return ret != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "", *path = argv[2];
	uint64_t number = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	struct samples samples;
	struct model model;
	int ret = 0;

	if (!strcmp(what, "example") || !strcmp(what, "recorded")) {
		make_example(&samples, &model);
		if (!strcmp(what, "recorded"))
			model_deinit(&model);
		return save(path, &samples, &model);
	}
	if (!strcmp(what, "here") && argc == 5) {
		make_here(argv[3], argv[4], &samples, &model);
		return save(path, &samples, &model);
	}
	if (!strcmp(what, "names")) {
		make_names(&samples, &model);
		return save(path, &samples, &model);
	}
	if (!strcmp(what, "random")) {
		make_random(number, &samples, &model);
		return save(path, &samples, &model);
	}
	if (!strcmp(what, "wide")) {
		make_wide(&samples, &model);
		return save(path, &samples, &model);
	}
	if (!strcmp(what, "large") || !strcmp(what, "seconds")) {
		double begin;

		make_large(&samples, &model);
		begin = seconds();
		ret = save(path, &samples, &model);
		if (ret || !strcmp(what, "large"))
			return ret;
		printf("save %.2f s\n", seconds() - begin);
		begin = seconds();
		ret = load(path);
		printf("load %.2f s\n", seconds() - begin);
		return ret;
	}
	if (!strcmp(what, "again")) {
		for (uint64_t i = 1; i <= number && !ret; i++) {
			make_random(i, &samples, &model);
			ret = save(path, &samples, &model);
		}
		return ret;
	}
	if (!strcmp(what, "load"))
		return load(path);
	if (!strcmp(what, "spool"))
		return make_spool(path, argc > 3 ? (uint32_t)number : 1000);
	fprintf(stderr, "usage: %s example|recorded|here|random|wide|large|names|again|load|seconds|spool FILE [N]\n",
		argv[0]);
	return 2;
}
