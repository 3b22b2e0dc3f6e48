/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a helper and its parent say to each other about a file.  Each message is one struct
 * as a whole.  The helper sends WIRE_FILE first; then it answers each question by
 * WIRE_PLACE.  Before any of these, it may ask for files with symbols by WIRE_WANTED,
 * and gets an int for each: 0 with a descriptor, or what debug_file_open() returns.
 */
#ifndef _USER_BINARY_HELPER_WIRE_H
#define _USER_BINARY_HELPER_WIRE_H

#include <stdint.h>

#include "binary/file/debug-file.h"
#include "binary/file/elf.h"
#include "binary/stack/rule.h"

enum wire_kind {
	WIRE_FILE = 1,
	WIRE_PLACE,
	WIRE_WANTED,
};

enum {
	WIRE_MAX_SEGMENTS = 128,
	WIRE_HEAD = 4096, /* bytes: a page */
	WIRE_NAME = 4096,
	WIRE_CODE = 8,
};

struct wire_segment {
	uint64_t offset;
	uint64_t size; /* in the file */
	uint64_t addr;
	uint32_t executable;
};

struct wire_file {
	uint32_t kind;
	int32_t error; /* of object_create(), 0 or negative */
	uint64_t entry;
	uint32_t nr_segments;
	uint32_t head_size;
	struct wire_segment segments[WIRE_MAX_SEGMENTS];
	char build_id[ELF_BUILD_ID_MAX];
	uint8_t head[WIRE_HEAD]; /* of the file */
};

/* An address of the file. */
struct wire_question {
	uint64_t addr;
};

struct wire_place {
	uint32_t kind;
	uint32_t nr_code;
	uint64_t fde_start; /* the range of its unwind entry; both 0 without one */
	uint64_t fde_end;
	uint64_t function_start;
	struct rule rule; /* without its ops */
	Dwarf_Op ops[RULE_MAX_OPS];
	uint8_t code[WIRE_CODE]; /* up to and with the byte at addr; the last @nr_code count */
	char name[WIRE_NAME]; /* readable; "" without one */
};

struct wire_wanted {
	uint32_t kind;
	uint32_t nr;
	struct debug_file_wanted wanted;
};

#endif /* _USER_BINARY_HELPER_WIRE_H */
