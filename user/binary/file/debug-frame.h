/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The unwind rules in .debug_frame, which programs have that no exception passes
 * through, Go's for one.
 */
#ifndef _USER_BINARY_FILE_DEBUG_FRAME_H
#define _USER_BINARY_FILE_DEBUG_FRAME_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdint.h>

struct debug_frame {
	uint8_t *image; /* a file with this section alone */
	Elf *elf; /* of the image */
	Dwarf *dwarf;
	Dwarf_CFI *cfi; /* NULL if @elf has no such section, or far too large a one */
};

/* No other section of debug information is read or decompressed. */
void debug_frame_init(struct debug_frame *frame, Elf *elf);
void debug_frame_deinit(struct debug_frame *frame);

#endif /* _USER_BINARY_FILE_DEBUG_FRAME_H */
