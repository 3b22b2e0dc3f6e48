// SPDX-License-Identifier: GPL-2.0

#include "app/record/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "base/open-in-root.h"
#include "binary/file/runtime-libraries.h"
#include "binary/stack/snapshot.h"
#include "data/stack-copy.h"

#include <perfguard/own-mapping.h>

enum {
	MAX_FILES = 512,
};

static int64_t find_file(const struct program *program, const struct mapping *mapping)
{
	for (uint32_t i = 0; i < program->nr_files; i++)
		if (program->files[i].dev == mapping->dev &&
		    program->files[i].inode == mapping->inode)
			return i;
	return -1;
}

/* The mapped file itself, whatever is at its path now. */
static int open_mapped(uint32_t pid, const struct mapping *mapping)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
		 mapping->start, mapping->end);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int64_t add_file(struct program *program, uint32_t pid, const struct mapping *mapping)
{
	char path[PATH_MAX + 48];
	int (*open_code)(int, const char *, struct foreign_code **) =
		program->has_windows ? foreign_code_open_with_windows : foreign_code_open;
	struct program_file *file;
	int fd = open_mapped(pid, mapping);
	int error;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (array_resize(program->files, program->nr_files + 1UL)) {
		close(fd);
		return -ENOMEM;
	}
	file = &program->files[program->nr_files];
	*file = (struct program_file){
		.path = strdup(mapping->path),
		.dev = mapping->dev,
		.inode = mapping->inode,
		.fd = fd,
	};
	error = file->path ? open_code(fd, path_in_root(pid, mapping->path, path, sizeof(path)),
				       &file->code) : -ENOMEM;
	if (error == -ENOMEM || error == -EINTR) {
		free(file->path);
		close(fd);
		return error;
	}
	if (error) {
		file->code = NULL;
		log_warning("%s: %s; its functions are left out", mapping->path,
			    error == -ENODATA ? "has no unwind table" :
			    error == -ENOEXEC ? "is no such file as is run" :
			    "cannot be read in the time and memory that it may take");
	}
	return program->nr_files++;
}

static int add_mapping(struct program *program, uint32_t pid, uint32_t image,
		       const struct mapping *mapping)
{
	int64_t file = find_file(program, mapping);

	if (file < 0 && program->nr_files < MAX_FILES)
		file = add_file(program, pid, mapping);
	/* What cannot be opened is not trained on. */
	if (file < 0)
		return file == -ENOMEM || file == -ESRCH || file == -EINTR ? (int)file : 0;
	for (uint32_t i = 0; i < program->nr_mappings; i++)
		if (program->mappings[i].image == image &&
		    program->mappings[i].start == mapping->start)
			return 0;
	if (array_resize(program->mappings, program->nr_mappings + 1UL))
		return -ENOMEM;
	program->mappings[program->nr_mappings++] = (struct trace_mapping){
		.image = image,
		.object = (uint32_t)file,
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset,
	};
	return 0;
}

/* Which files are the C runtime's can change with each one that is added. */
static int judge_runtime(struct program *program)
{
	struct runtime_candidate *needed = calloc(program->nr_files, sizeof(*needed));
	bool *runtime = calloc(program->nr_files, sizeof(*runtime));

	if (!needed || !runtime) {
		free(needed);
		free(runtime);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < program->nr_files; i++) {
		if (program->files[i].code)
			needed[i] = program->files[i].code->runtime;
		else
			snprintf(needed[i].soname, sizeof(needed[i].soname), "%s",
				 program->files[i].path);
	}
	runtime_libraries_find(needed, program->nr_files, runtime);
	for (uint32_t i = 0; i < program->nr_files; i++)
		program->files[i].is_runtime = runtime[i];
	free(needed);
	free(runtime);
	return 0;
}

static int list_functions(struct program *program, uint32_t index)
{
	struct program_file *file = &program->files[index];
	const struct foreign_code *code = file->code;

	if (array_resize(program->functions, program->nr_functions + code->nr_functions + 1UL))
		return -ENOMEM;
	file->first_function = program->nr_functions;
	file->nr_sites = code->nr_functions;
	for (uint32_t i = 0; i < code->nr_functions; i++) {
		struct program_function *added = &program->functions[program->nr_functions++];

		*added = (struct program_function){
			.file = index,
			.is_leaf = code->functions[i].is_leaf,
			.window = code->functions[i].window,
			.described = code->functions[i].described,
		};
		added->described.object = index;
	}
	return 0;
}

static bool has_image(const struct program *program, uint32_t image)
{
	for (uint32_t i = 0; i < program->nr_images; i++)
		if (program->images[i] == image)
			return true;
	return false;
}

static int add_image(struct program *program, uint32_t image)
{
	if (has_image(program, image))
		return 0;
	if (array_resize(program->images, program->nr_images + 1UL))
		return -ENOMEM;
	program->images[program->nr_images++] = image;
	return 0;
}

int program_look(struct program *program, uint32_t pid, uint32_t image)
{
	uint32_t known = program->nr_files;
	struct slice slice;
	int error = snapshot_mappings(pid, &slice);

	for (uint32_t i = 0; i < slice.nr_mappings && !error; i++)
		if (slice.mappings[i].path && slice.mappings[i].inode &&
		    strcmp(slice.mappings[i].path, PERFGUARD_MAPPED(PERFGUARD_LANDINGS)))
			error = add_mapping(program, pid, image, &slice.mappings[i]);
	slice_clear(&slice);
	if (!error && program->nr_files > known)
		error = judge_runtime(program);
	for (uint32_t i = known; i < program->nr_files && !error; i++)
		if (program->files[i].code && !program->files[i].is_runtime)
			error = list_functions(program, i);
	return error ? error : add_image(program, image);
}

const struct program_file *program_without_windows(const struct program *program)
{
	for (uint32_t i = 0; i < program->nr_files; i++)
		if (!program->files[i].code || program->files[i].code->uses_gs)
			return &program->files[i];
	return NULL;
}

/* The largest of the new files, or 0. */
static uint32_t find_largest(const struct program *program)
{
	uint32_t largest = 0;

	for (uint32_t i = program->nr_fitted ? program->nr_fitted : 1; i < program->nr_files; i++) {
		const struct program_file *file = &program->files[i];

		if (!file->is_left_out && file->nr_sites &&
		    (!largest || file->nr_sites > program->files[largest].nr_sites))
			largest = i;
	}
	return largest;
}

void program_fit(struct program *program, uint32_t max)
{
	uint64_t sum = 0;
	uint32_t largest;

	for (uint32_t i = 0; i < program->nr_files; i++)
		if (!program->files[i].is_left_out)
			sum += program->files[i].nr_sites;
	while (sum > max && (largest = find_largest(program))) {
		struct program_file *file = &program->files[largest];

		file->is_left_out = true;
		sum -= file->nr_sites;
		log_warning("%s: there is no room for its %" PRIu32
			    " functions; they are left out", file->path, file->nr_sites);
	}
	program->nr_fitted = program->nr_files;
}

void program_deinit(struct program *program)
{
	for (uint32_t i = 0; i < program->nr_files; i++) {
		free(program->files[i].path);
		close(program->files[i].fd);
		if (program->files[i].code)
			foreign_code_close(program->files[i].code);
	}
	free(program->files);
	free(program->mappings);
	free(program->functions);
	free(program->images);
	*program = (struct program){ 0 };
}
