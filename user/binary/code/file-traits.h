/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be said of a program by its file alone.
 */
#ifndef _USER_BINARY_CODE_FILE_TRAITS_H
#define _USER_BINARY_CODE_FILE_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

struct object;

struct file_traits {
	uint64_t code_bytes; /* that can be executed, */
	uint64_t known_bytes; /* and those of them in functions */
	uint32_t nr_functions; /* of its unwind table, and of Go's; parts of functions are none */
	uint32_t nr_named; /* of them */
	uint32_t nr_go; /* functions of Go's table; 0: it is not Go */
	uint32_t runtimes; /* as runtimes_find() */
	uint32_t is_static; /* no dynamic linker runs */
};

/* Functions and bytes are counted only if @counts.  Returns 0 or -ENOMEM. */
int file_traits_read(struct object *object, bool counts, struct file_traits *ret);

#endif /* _USER_BINARY_CODE_FILE_TRAITS_H */
