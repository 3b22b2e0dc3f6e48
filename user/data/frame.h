/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One frame of an unwound stack.  The strings belong to the unwinder that made
 * the frame and live as long as it does.
 */
#ifndef _USER_DATA_FRAME_H
#define _USER_DATA_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct frame {
	uint64_t pc; /* run-time address; a return address but in frame 0 */
	uint64_t sp; /* stack pointer in this frame after that return */
	const char *module; /* path of the file, or NULL */
	const char *build_id; /* lower-case hex, or NULL */
	uint64_t offset; /* pc as an address of the file (what addr2line takes) */
	uint64_t region; /* of code without a file: where its memory begins; 0 otherwise */
	uint64_t start; /* the function's first address, by symbol or FDE; 0 if unknown */
	const char *function; /* readable, if C++; NULL where the file has no name for it */
	uint64_t function_offset; /* pc - start of the named function */
	bool guessed; /* found by searching the stack, as the callee has no unwind rule */
};

#endif /* _USER_DATA_FRAME_H */
