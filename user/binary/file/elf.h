/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The identity of an ELF file, and whether its program can be guarded.
 */
#ifndef _USER_BINARY_FILE_ELF_H
#define _USER_BINARY_FILE_ELF_H

#include <stddef.h>
#include <stdint.h>

enum {
	ELF_BUILD_ID_MAX = 2 * 64 + 1, /* 64 bytes as hex, and the NUL */
};

struct elf_identity {
	uint64_t entry; /* address of the first instruction, of the file */
	char build_id[ELF_BUILD_ID_MAX]; /* lower-case hex, "" if there is none */
};

/*
 * Read the identity of the program or library at @fd, whose file position is
 * left alone.  Returns 0; -ENOEXEC if perfguard cannot guard it, then
 * @why is a static text that completes "FILE is "; or another negative errno,
 * then @why is NULL.
 */
int elf_identify(int fd, struct elf_identity *ret, const char **why);

#endif /* _USER_BINARY_FILE_ELF_H */
