// SPDX-License-Identifier: GPL-2.0

#include "app/learn/carrying.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/command.h"
#include "base/array.h"
#include "base/log.h"
#include "base/long-step.h"
#include "binary/file/elf.h"
#include "binary/helper/foreign-code.h"
#include "out/profile/profile-view.h"
#include "out/text.h"
#include "store/profile-file.h"
#include "train/carry/carry.h"
#include "train/samples/unify.h"

enum { MAX_LABEL = 60 };

/* What is in an object's place. */
struct new_file {
	char *path; /* NULL: the object's */
	char build_id[ELF_BUILD_ID_MAX];
	struct foreign_code *code; /* of another build */
	struct samples_function *functions; /* its, without what foreign code has beside them */
};

/* A guard, by what does not change when samples are put in order. */
struct kept_guard {
	uint64_t offset;
	char *path; /* of the object */
	char *build_id;
};

struct carrying {
	struct learning *learning;
	const char *from;
	const char *exe;
	struct carry_object *objects; /* by object of the samples */
	struct new_file *files; /* the same */
	struct carry_report report;
	uint64_t *hashes; /* of the trees, before */
};

static int no_memory(int error)
{
	return error == -ENOMEM ? cmd_no_memory() : CMD_FAILED;
}

static int load(struct carrying *carrying)
{
	struct learning *learning = carrying->learning;
	char why[PROFILE_WHY_MAX];
	struct stat from, to;
	int error;

	if (!stat(learning->path, &to) &&
	    (stat(carrying->from, &from) || from.st_ino != to.st_ino || from.st_dev != to.st_dev)) {
		log_error("%s is there already; nothing is carried into another profile",
			  learning->path);
		return CMD_FAILED;
	}
	long_step_begin("reading the old profile");
	error = profile_load(carrying->from, &learning->samples, &learning->model,
			     &learning->training, why);
	long_step_end();
	if (error) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	if (!learning->model.nr_types) {
		log_error("%s has no types: there is nothing to carry", carrying->from);
		return CMD_FAILED;
	}
	if (learning->samples.objects[0].code)
		return 0;
	log_error("%s has no fingerprints of its program's functions, as an older pg-collect made it: "
		  "train on the new build, 'pg-collect train -o %s -e %s'", carrying->from,
		  learning->path, carrying->exe ?: learning->samples.objects[0].path);
	return CMD_FAILED;
}

static bool is_used(const struct samples *samples, uint32_t object)
{
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		if (samples->functions[i].object == object)
			return true;
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		for (uint32_t j = 0; j < samples->loops[i].nr_boundaries; j++)
			if (!samples_is_site(&samples->loops[i].boundaries[j]) &&
			    samples->loops[i].boundaries[j].object == object)
				return true;
	return false;
}

/* Its functions, for the time that the helper's answers are kept. */
static int list_functions(struct new_file *file, struct carry_object *object)
{
	const struct foreign_code *code = file->code;

	if (array_new(file->functions, code->nr_functions))
		return -ENOMEM;
	for (uint32_t i = 0; i < code->nr_functions; i++)
		file->functions[i] = code->functions[i].described;
	object->functions = file->functions;
	object->nr_functions = code->nr_functions;
	return 0;
}

/* Another build: a helper reads it. */
static int read_other(struct carrying *carrying, uint32_t i, int fd, const char *path)
{
	struct carry_object *object = &carrying->objects[i];
	struct new_file *file = &carrying->files[i];
	int error = foreign_code_open(fd, path, &file->code);

	if (error) {
		file->code = NULL;
		object->is_gone = true;
		if (error == -ENOMEM || error == -EINTR)
			return error;
		log_warning("%s: its code cannot be read, so its functions are left out", path);
		return 0;
	}
	error = list_functions(file, object);
	if (!error && file->code->prints)
		error = fingerprints_unpack(file->code->prints, file->code->prints_size,
					    &object->new);
	return error ?: function_match_init(&object->match, &object->old, &object->new);
}

static int read_file(struct carrying *carrying, uint32_t i, int fd, const char *path)
{
	const struct samples_object *of = &carrying->learning->samples.objects[i];
	struct elf_identity identity;
	const char *why = NULL;
	int error = elf_identify(fd, &identity, &why);

	if (error) {
		log_error("%s is %s", path, why ?: strerror(-error));
		return -EBADMSG;
	}
	memcpy(carrying->files[i].build_id, identity.build_id, sizeof(identity.build_id));
	carrying->objects[i].is_same = *of->build_id && !strcmp(identity.build_id, of->build_id);
	/* Of what nothing is known there is nothing to be found. */
	if (carrying->objects[i].is_same || !carrying->objects[i].old.nr)
		return 0;
	return read_other(carrying, i, fd, path);
}

static int read_object(struct carrying *carrying, uint32_t i)
{
	const struct samples *samples = &carrying->learning->samples;
	const struct samples_object *of = &samples->objects[i];
	struct new_file *file = &carrying->files[i];
	int error = 0, fd;

	if (of->code)
		error = fingerprints_unpack(of->code, of->code_size, &carrying->objects[i].old);
	if (error)
		return error;
	if (!i && carrying->exe) {
		file->path = realpath(carrying->exe, NULL);
		if (!file->path) {
			log_error("cannot open %s: %s", carrying->exe, strerror(errno));
			return -EBADMSG;
		}
	}
	fd = open(file->path ?: of->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		error = read_file(carrying, i, fd, file->path ?: of->path);
		close(fd);
		return error;
	}
	carrying->objects[i].is_gone = true;
	if (!i) {
		log_error("cannot open %s: %s", of->path, strerror(errno));
		return -EBADMSG;
	}
	if (is_used(samples, i))
		log_warning("%s is not there any more: its functions are left out", of->path);
	return 0;
}

static int read_objects(struct carrying *carrying)
{
	const struct samples *samples = &carrying->learning->samples;
	bool is_new = false;

	if (array_new(carrying->objects, samples->nr_objects) ||
	    array_new(carrying->files, samples->nr_objects))
		return cmd_no_memory();
	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		int error = read_object(carrying, i);

		if (error)
			return no_memory(error);
		is_new |= !carrying->objects[i].is_same && is_used(samples, i);
	}
	if (is_new)
		return 0;
	log_error("%s is of the builds that are there: there is nothing to carry", carrying->from);
	return CMD_FAILED;
}

static const char *why_lost(enum carry_fate fate)
{
	switch (fate) {
	case CARRY_NO_SITE:
		return "can carry no guard in the new build";
	case CARRY_NO_DEPTH:
		return "is called at a depth that is not certain";
	default:
		return "is not certain to be found";
	}
}

static const char *why_dropped(enum carry_wait_fate fate)
{
	switch (fate) {
	case CARRY_WAIT_CALL:
		return "the call by which it waits";
	case CARRY_WAIT_DISTANCE:
		return "where its wait's return address is on the stack";
	case CARRY_WAIT_FRAME:
		return "how far its frame is from its wait";
	default:
		return "the function that waits, or begins its events,";
	}
}

/* What is said afterwards, in the names of before. */
struct carry_names {
	char (*guards)[PROFILE_LABEL_MAX];
	uint32_t *functions; /* of the guards */
	char (*loops)[sizeof(((struct samples_loop *)NULL)->comm)];
	uint32_t nr_guards;
	uint32_t nr_loops;
	uint32_t nr_types;
	uint32_t nr_functions;
};

static int note_names(const struct learning *learning, struct carry_names *names)
{
	const struct samples *samples = &learning->samples;
	const struct model *model = &learning->model;

	*names = (struct carry_names){
		.nr_guards = model->nr_guards,
		.nr_loops = samples->nr_loops,
		.nr_types = model->nr_types,
		.nr_functions = samples->nr_functions,
	};
	if (array_new(names->guards, model->nr_guards) || array_new(names->functions, model->nr_guards) ||
	    array_new(names->loops, samples->nr_loops))
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		names->functions[i] = model->guards[i].function;
		profile_function_label(samples, names->functions[i], MAX_LABEL, names->guards[i]);
	}
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		memcpy(names->loops[i], samples->loops[i].comm, sizeof(names->loops[i]));
	return 0;
}

static void forget_names(struct carry_names *names)
{
	free(names->guards);
	free(names->functions);
	free(names->loops);
}

static int hash_trees(struct carrying *carrying)
{
	const struct samples *samples = &carrying->learning->samples;

	if (array_new(carrying->hashes, samples->nr_trees))
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		carrying->hashes[i] = samples->trees[i].hash;
	return 0;
}

/* The new files take the old ones' place. */
static int replace_objects(struct carrying *carrying)
{
	struct samples *samples = &carrying->learning->samples;

	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		struct samples_object *object = &samples->objects[i];
		struct new_file *file = &carrying->files[i];
		char *build_id;

		if (carrying->objects[i].is_gone)
			continue;
		build_id = strdup(file->build_id);
		if (!build_id)
			return -ENOMEM;
		free(object->build_id);
		object->build_id = build_id;
		if (file->path) {
			free(object->path);
			object->path = file->path;
			file->path = NULL;
		}
		if (carrying->objects[i].is_same)
			continue;
		free(object->code);
		object->code = file->code ? file->code->prints : NULL;
		object->code_size = object->code ? file->code->prints_size : 0;
		if (file->code)
			file->code->prints = NULL;
	}
	return 0;
}

/* Objectives are of trees by their hashes, which are others now. */
static void move_objectives(const struct carrying *carrying, const uint32_t *before)
{
	struct samples *samples = &carrying->learning->samples;

	for (uint32_t i = 0; i < samples->nr_objectives; i++) {
		struct samples_objective *objective = &samples->objectives[i];
		uint64_t old = objective->tree;

		for (uint32_t j = 0; j < samples->nr_trees && old; j++)
			if (carrying->hashes[before[j]] == old)
				objective->tree = samples->trees[j].hash;
	}
}

/* Which tree each one was: those of dropped loops are gone, the order stays. */
static int number_trees(const struct carrying *carrying, const uint32_t *loops, uint32_t nr,
			uint32_t **ret)
{
	uint32_t *before, kept = 0;

	if (array_new(before, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		if (!carrying->report.loops[loops[i]])
			before[kept++] = i;
	*ret = before;
	return 0;
}

/* The guards that are left, as functions of the samples before they are put in order. */
static int note_guards(const struct carrying *carrying, const struct carry_names *names,
		       struct kept_guard **ret, uint32_t *ret_nr)
{
	const struct samples *samples = &carrying->learning->samples;
	uint32_t *place; /* of a function that is left, by the old number */
	uint32_t nr = 0;

	if (array_new(*ret, names->nr_guards) || array_new(place, names->nr_functions))
		return -ENOMEM;
	for (uint32_t i = 0; i < names->nr_functions; i++) {
		enum carry_fate fate = carrying->report.functions[i];

		place[i] = nr;
		nr += fate == CARRY_FOUND || fate == CARRY_NO_DEPTH;
	}
	for (uint32_t i = 0; i < names->nr_guards; i++) {
		const struct samples_function *function = &samples->functions[place[names->functions[i]]];

		if (carrying->report.functions[names->functions[i]] != CARRY_FOUND)
			continue;
		(*ret)[(*ret_nr)++] = (struct kept_guard){
			.offset = function->offset,
			.path = samples->objects[function->object].path,
			.build_id = samples->objects[function->object].build_id,
		};
	}
	free(place);
	return 0;
}

static int order_guards(const struct samples *samples, const struct kept_guard *guards, uint32_t nr,
			uint32_t **ret)
{
	uint32_t found = 0;

	if (array_new(*ret, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_functions && found < nr; i++) {
		const struct samples_function *function = &samples->functions[i];

		for (uint32_t j = 0; j < nr; j++) {
			const struct samples_object of = {
				.path = guards[j].path, .build_id = guards[j].build_id,
			};

			if (guards[j].offset == function->offset && found < nr &&
			    !samples_compare_objects(&samples->objects[function->object], &of))
				(*ret)[found++] = i;
		}
	}
	return found == nr ? 0 : -EINVAL;
}

/* By what the profile was made by. */
static void set_options(struct learning *learning)
{
	struct derive_options *options = &learning->options;
	const struct model *model = &learning->model;

	threshold_parse(model->threshold_rule, &options->rule);
	options->is_inline = model->is_inline;
	options->cluster.cut = model->cut;
	options->cluster.distance = !strcmp(model->distance, "paper") ? DISTANCE_PAPER
								      : options->cluster.distance;
	options->select = !strcmp(model->select, "paper") ? SELECT_PAPER : options->select;
	if (model->budget > 0)
		options->budget = model->budget;
}

static int derive(struct carrying *carrying, struct kept_guard *guards, uint32_t nr)
{
	struct learning *learning = carrying->learning;
	uint32_t *kept = NULL;
	int error, ret;

	for (uint32_t i = 0; i < nr; i++) { /* unifying frees what is there twice */
		guards[i].path = strdup(guards[i].path);
		guards[i].build_id = strdup(guards[i].build_id);
		if (!guards[i].path || !guards[i].build_id)
			return cmd_no_memory();
	}
	error = samples_unify(&learning->samples) ?: samples_hash_all(&learning->samples) ?:
		order_guards(&learning->samples, guards, nr, &kept);
	set_options(learning);
	learning->options.kept = kept;
	learning->options.nr_kept = nr;
	ret = error ? no_memory(error) : learning_derive(learning);
	learning->options.kept = NULL;
	free(kept);
	for (uint32_t i = 0; i < nr; i++) {
		free(guards[i].path);
		free(guards[i].build_id);
	}
	return ret;
}

static void print_report(const struct carrying *carrying, const struct carry_names *names)
{
	const struct learning *learning = carrying->learning;
	uint32_t found = 0;

	for (uint32_t i = 0; i < names->nr_functions; i++)
		found += carrying->report.functions[i] == CARRY_FOUND;
	printf("carried to %s\n", learning->samples.objects[0].path);
	printf("  functions  %" PRIu32 " of %" PRIu32 " that training met\n", found,
	       names->nr_functions);
	printf("  guards     %" PRIu32 " of %" PRIu32 "\n", learning->model.nr_guards,
	       names->nr_guards);
	for (uint32_t i = 0; i < names->nr_guards; i++)
		if (carrying->report.functions[names->functions[i]] != CARRY_FOUND)
			printf("             dropped: %s %s\n", names->guards[i],
			       why_lost(carrying->report.functions[names->functions[i]]));
	printf("  loops      %" PRIu32 " of %" PRIu32 "\n", carrying->report.nr_loops_left,
	       names->nr_loops);
	for (uint32_t i = 0; i < names->nr_loops; i++)
		if (carrying->report.loops[i])
			printf("             dropped: loop %" PRIu32 " (%s): %s is not certain\n", i + 1,
			       names->loops[i], why_dropped(carrying->report.loops[i]));
	printf("  types      %" PRIu32 " of %" PRIu32 "\n", learning->model.nr_types,
	       names->nr_types);
	printf("Limits are those of the old build. Once %s is armed, 'pg-collect learn --live -o %s' "
	       "confirms them.\n", learning->path, learning->path);
}

static int carry(struct carrying *carrying, const struct carry_names *names)
{
	struct samples *samples = &carrying->learning->samples;
	uint32_t nr_trees = samples->nr_trees, nr_guards = 0, *loops, *before = NULL;
	struct kept_guard *guards = NULL;
	int error = array_new(loops, nr_trees), ret = 0;

	for (uint32_t i = 0; i < nr_trees && !error; i++)
		loops[i] = samples->trees[i].loop;
	long_step_begin("finding functions of the old build in the new one");
	error = error ?: carry_samples(samples, carrying->objects, &carrying->report);
	long_step_end();
	error = error ?: number_trees(carrying, loops, nr_trees, &before);
	error = error ?: replace_objects(carrying) ?: samples_hash_all(samples);
	if (!error)
		move_objectives(carrying, before);
	error = error ?: note_guards(carrying, names, &guards, &nr_guards);
	if (error)
		ret = no_memory(error);
	else
		ret = derive(carrying, guards, nr_guards);
	free(loops);
	free(before);
	free(guards);
	if (ret)
		return ret;
	print_report(carrying, names);
	if (carrying->report.nr_loops_left && carrying->learning->model.nr_types)
		return 0;
	log_error("no loop is left: train on the new build, 'pg-collect train -o %s -e %s'",
		  carrying->learning->path, samples->objects[0].path);
	return CMD_FAILED;
}

static void deinit(struct carrying *carrying, uint32_t nr)
{
	for (uint32_t i = 0; i < nr && carrying->objects && carrying->files; i++) {
		fingerprints_deinit(&carrying->objects[i].old);
		fingerprints_deinit(&carrying->objects[i].new);
		function_match_deinit(&carrying->objects[i].match);
		free(carrying->files[i].path);
		free(carrying->files[i].functions);
		if (carrying->files[i].code)
			foreign_code_close(carrying->files[i].code);
	}
	free(carrying->objects);
	free(carrying->files);
	free(carrying->hashes);
	carry_report_deinit(&carrying->report);
}

int profile_carry(struct learning *learning, const char *from, const char *exe)
{
	struct carrying carrying = { .learning = learning, .from = from, .exe = exe };
	struct carry_names names = { 0 };
	int ret = load(&carrying);
	uint32_t nr;

	if (ret)
		return ret;
	nr = learning->samples.nr_objects;
	if (note_names(learning, &names) || hash_trees(&carrying))
		ret = cmd_no_memory();
	long_step_begin("reading the new build");
	ret = ret ?: read_objects(&carrying);
	long_step_end();
	ret = ret ?: carry(&carrying, &names);
	deinit(&carrying, nr);
	forget_names(&names);
	return ret;
}
