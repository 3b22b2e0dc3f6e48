/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that processes have mapped, by mapping: opened once, shared by all
 * processes that run them, the least recently used closed first.
 */
#ifndef _USER_BINARY_FILE_FILES_H
#define _USER_BINARY_FILE_FILES_H

#include "binary/file/object.h"
#include "data/stack-copy.h"

struct file_entry;

struct files {
	struct file_entry *entries; /* the last used first */
	uint32_t nr;
	struct object *vdso;
};

/* Returns the object of @mapping in process @pid, or NULL if there is none. */
struct object *files_get(struct files *files, uint32_t pid, const struct mapping *mapping);

/* Close files above the bound, which may destroy objects got before. */
void files_trim(struct files *files);
void files_deinit(struct files *files);

#endif /* _USER_BINARY_FILE_FILES_H */
