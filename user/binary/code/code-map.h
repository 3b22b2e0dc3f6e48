/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What training asks of a file with code.  All places are offsets in the file,
 * as samples and probes have them: that of a process's address is the address
 * less the start of its mapping plus the mapping's offset.
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

struct code {
	struct object *object;
	struct functions functions;
	/* That of the function asked about last. */
	struct cfg cfg;
	const struct function *cfg_of;
	/* For struct codes. */
	struct code *next;
	uint64_t inode;
	uint64_t dev;
};

/*
 * Takes @fd in any case; @path is for messages.  Returns 0; -ENOEXEC if it is
 * no such file; -ENODATA if it has no unwind table, so that its functions are
 * not known; or -ENOMEM.
 */
int code_open(int fd, const char *path, struct code **ret);
void code_close(struct code *code);

bool code_offset(const struct code *code, uint64_t addr, uint64_t *ret);
bool code_addr(const struct code *code, uint64_t offset, uint64_t *ret);

/* The function that the byte at @offset is of, or NULL; see functions_find(). */
const struct function *code_function(const struct code *code, uint64_t offset);

/*
 * Fill @ret for object number @object.  Returns 0, -ENOTSUP if there can be no
 * probe in the function, or -ENOMEM.  The name is a copy.
 */
int code_describe(const struct code *code, const struct function *function, uint32_t object,
		  struct samples_function *ret);

/* The call that a return address belongs to. */
struct code_call {
	const struct function *function; /* that calls */
	bool is_indirect;
	uint64_t target; /* offset of what is called; 0 if indirect */
	uint32_t nr_loops; /* around the call, in its function */
	uint64_t inner_header; /* offsets of the first instructions of the innermost */
	uint64_t outer_header; /* and of the outermost of them */
	bool may_hide_loops; /* the function has jumps of which the targets are not known */
};

/*
 * Returns 0, -ENOENT if no call of a known function ends at @return_offset, or
 * -ENOMEM.
 */
int code_call_at(struct code *code, uint64_t return_offset, struct code_call *ret);

/* Files that were opened, by inode; they are closed together. */
struct codes {
	struct code *first;
};

/* As code_open(), but the file may be open already; it is not to be closed. */
int codes_get(struct codes *codes, int fd, const char *path, struct code **ret);
void codes_deinit(struct codes *codes);

#endif /* _USER_BINARY_CODE_CODE_MAP_H */
