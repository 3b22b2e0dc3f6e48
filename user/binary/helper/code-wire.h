/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a helper and its parent say to each other about the code of a file: first CODE_WIRE_FILE,
 * then each function, then the fingerprints in pieces, then an answer to each question.
 */
#ifndef _USER_BINARY_HELPER_CODE_WIRE_H
#define _USER_BINARY_HELPER_CODE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "binary/code/file-traits.h"
#include "binary/file/elf.h"
#include "binary/file/runtime-libraries.h"
#include "binary/helper/wire.h"

enum code_wire_kind {
	CODE_WIRE_FILE = WIRE_WANTED + 1,
	CODE_WIRE_FUNCTION,
	CODE_WIRE_PRINTS,
	CODE_WIRE_CALL,
	CODE_WIRE_TRAITS, /* is the only message of its helper */
};

enum { CODE_WIRE_PIECE = 32768 }; /* bytes */

struct code_wire_file {
	uint32_t kind;
	int32_t error; /* of code_map_open(), 0 or negative */
	uint32_t nr_functions;
	uint32_t has_private; /* these are of struct runtime_candidate */
	uint32_t prints_size; /* of the fingerprints, packed; 0: there are none */
	uint32_t uses_gs; /* 0 if windows were not asked for */
	char build_id[ELF_BUILD_ID_MAX];
	char soname[RUNTIME_NAME_MAX];
	char file[RUNTIME_NAME_MAX];
	char interpreter[RUNTIME_NAME_MAX];
};

/* Is sent without the bytes behind the name's end. */
struct code_wire_function {
	uint32_t kind;
	uint32_t is_leaf;
	uint32_t cost; /* enum samples_cost */
	uint32_t size;
	uint32_t sp_delta;
	uint32_t window; /* enum window_verdict; of struct window_site, as the next two */
	uint32_t window_sp_delta;
	uint32_t reserved;
	uint64_t window_offset;
	uint64_t offset;
	uint64_t site;
	char name[WIRE_NAME]; /* as in the file; "" without one */
};

/* A piece of the fingerprints, sent without the bytes behind its end. */
struct code_wire_prints {
	uint32_t kind;
	uint8_t bytes[CODE_WIRE_PIECE];
};

struct code_wire_question {
	uint64_t return_offset;
	uint32_t is_near;
	uint32_t reserved;
};

/* struct foreign_call. */
struct code_wire_call {
	uint32_t kind;
	uint32_t caller;
	uint32_t callee;
	uint32_t is_indirect;
	uint32_t is_in_loop;
};

struct code_wire_traits {
	uint32_t kind;
	int32_t error; /* of object_create() or file_traits_read() */
	struct file_traits traits;
};

#endif /* _USER_BINARY_HELPER_CODE_WIRE_H */
