/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions and calls of a file, for training.  All locations are offsets
 * in the file, as in samples and probes: the offset of an address of a process
 * is the address less the start of its mapping plus the mapping's offset.
 */
#ifndef _USER_BINARY_CODE_CODE_MAP_H
#define _USER_BINARY_CODE_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/code/cfg.h"
#include "binary/code/functions.h"
#include "binary/code/probe-site.h"
#include "binary/file/object.h"
#include "data/samples.h"

struct code_map {
	struct object *object;
	struct functions functions;
	/* Of the function of the last query. */
	struct cfg cfg;
	const struct function *cfg_of;
	/* For struct code_maps. */
	struct code_map *next;
	uint64_t inode;
	uint64_t dev;
};

/*
 * Takes ownership of @fd in any case; @path is for messages.  Returns 0; -ENOEXEC if it is
 * no such file; -ENODATA if it has no unwind table, which its functions are read from;
 * or -ENOMEM.
 */
int code_map_open(int fd, const char *path, struct code_map **ret);
void code_map_close(struct code_map *code);

bool code_map_offset(const struct code_map *code, uint64_t addr, uint64_t *ret);
bool code_map_addr(const struct code_map *code, uint64_t offset, uint64_t *ret);

/* The function that the byte at @offset belongs to, or NULL; see functions_find(). */
const struct function *code_map_function(const struct code_map *code, uint64_t offset);

/*
 * Fill @ret for object number @object.  Returns 0, -ENOTSUP if there can be no
 * probe in the function, or -ENOMEM.  The name is a copy.
 */
int code_map_describe(const struct code_map *code, const struct function *function, uint32_t object,
		  struct samples_function *ret);

/* The call that a return address belongs to. */
struct code_map_call {
	const struct function *function; /* that calls */
	bool is_indirect;
	uint64_t target; /* offset of the callee; 0 if indirect */
	uint32_t nr_loops; /* around the call, in its function */
	uint64_t inner_header; /* offsets of the first instructions of the innermost */
	uint64_t outer_header; /* and of the outermost of them */
	bool may_hide_loops; /* the function has jumps with unknown targets */
};

/*
 * Returns 0, -ENOENT if no call in a function ends at @return_offset, or
 * -ENOMEM.
 */
int code_map_call_at(struct code_map *code, uint64_t return_offset, struct code_map_call *ret);

/* Files that were opened, by inode; they are closed together. */
struct code_maps {
	struct code_map *first;
};

/* As code_map_open(), but may return one that is open; the caller must not close it. */
int code_maps_get(struct code_maps *codes, int fd, const char *path, struct code_map **ret);
void code_maps_deinit(struct code_maps *codes);

#endif /* _USER_BINARY_CODE_CODE_MAP_H */
