/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files with code that the processes of a target have mapped, where, and
 * the functions in them that can carry a site.
 */
#ifndef _USER_APP_RECORD_PROGRAM_H
#define _USER_APP_RECORD_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/helper/foreign-code.h"
#include "data/trace.h"

struct program_file {
	char *path;
	uint32_t dev;
	uint64_t inode;
	int fd; /* for the module, which probes it */
	struct foreign_code *code; /* NULL if its functions are not known */
	bool is_runtime; /* of the C runtime: not trained on */
	uint32_t first_function; /* of those of the program */
	uint32_t nr_sites; /* of its functions that were listed already */
	bool is_left_out; /* there is no room for its functions */
};

/* A function and the number of its file. */
struct program_function {
	uint32_t file;
	bool is_leaf; /* has no call instruction */
	struct window_site window; /* if the program has windows */
	struct samples_function described; /* by file number as object; the name is the file's */
};

struct program {
	bool has_windows; /* those of functions are looked for; set before program_look() */
	struct program_file *files; /* the executable first */
	uint32_t nr_files;
	uint32_t nr_fitted; /* of the files */
	struct trace_mapping *mappings; /* object is the file's number */
	uint32_t nr_mappings;
	struct program_function *functions; /* only grows */
	uint32_t nr_functions;
	uint32_t *images; /* those looked at */
	uint32_t nr_images;
};

/*
 * Look at a process: add what it has mapped of code that is not known yet, and
 * all functions of it.  Returns 0, -ESRCH if the process is gone, or -ENOMEM.
 */
int program_look(struct program *program, uint32_t pid, uint32_t image);

/*
 * The file for which the processes must have no windows: one that uses the base of gs, or may, as
 * its code cannot be read; or NULL.
 */
const struct program_file *program_without_windows(const struct program *program);

/*
 * Leave out the largest of the files that came since the last call, but never
 * the executable, until all others have no more than @max functions together.
 */
void program_fit(struct program *program, uint32_t max);

void program_deinit(struct program *program);

#endif /* _USER_APP_RECORD_PROGRAM_H */
