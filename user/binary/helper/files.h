/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that processes have mapped, by mapping: opened once, shared by all
 * processes that run them, the least recently used closed first.  A file whose reader
 * failed is not read again.
 */
#ifndef _USER_BINARY_HELPER_FILES_H
#define _USER_BINARY_HELPER_FILES_H

#include <sys/types.h>
#include <time.h>

#include "binary/helper/foreign-file.h"
#include "data/stack-copy.h"

struct file_entry;

/* A file as it was when it was opened. */
struct file_version {
	dev_t dev;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

enum {
	FILES_MAX_FAILED = 256,
};

struct files {
	struct file_entry *entries; /* the last used first */
	uint32_t nr;
	struct foreign_file *vdso;
	struct file_version failed[FILES_MAX_FAILED]; /* the last ones */
	uint32_t nr_failed; /* so far */
};

/* Returns the file of @mapping in process @pid, or NULL if it cannot be read. */
struct foreign_file *files_get(struct files *files, uint32_t pid, const struct mapping *mapping);

/* Close files above the bound and those that failed; what was got before is void. */
void files_trim(struct files *files);
void files_deinit(struct files *files);

/* Their readers, see base/background.h. */
void files_enter_background(const struct files *files);

#endif /* _USER_BINARY_HELPER_FILES_H */
