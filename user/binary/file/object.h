/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ELF file that some process has mapped, opened for reading: its unwind
 * rules, functions and names, all by the file's own addresses, so that one
 * object serves every process that runs the file.
 */
#ifndef _USER_BINARY_FILE_OBJECT_H
#define _USER_BINARY_FILE_OBJECT_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash-index.h"
#include "binary/file/debug-frame.h"
#include "binary/file/elf.h"
#include "binary/file/go-table.h"
#include "binary/file/symbolize.h"
#include "binary/stack/fde.h"
#include "binary/stack/rule.h"

struct object {
	char *path;
	Dwfl *dwfl; /* owns elf, the file and cfi */
	Dwfl_Module *file;
	Elf *elf;
	Dwarf_CFI *cfi;
	struct debug_frame debug_frame; /* after the first search for it */
	struct file_view view;
	struct fde_table fdes;
	struct go_table go;
	struct symbols symbols;
	struct rule *rules;
	size_t max_rules;
	struct hash_index rule_index; /* by address */
	uint64_t entry;
	bool has_debug_frame;
	bool has_symbols;
	char build_id[ELF_BUILD_ID_MAX];
};

/* Takes @fd in any case.  Returns 0, -ENOEXEC if it is no such file, -ENOMEM. */
int object_create(int fd, const char *path, struct object **ret);
void object_destroy(struct object *object);

/* The unwind rule at @addr, good until the next call, or NULL. */
const struct rule *object_rule(struct object *object, uint64_t addr);

/*
 * The function that @addr lies in.  *@ret_start is 0 if neither a symbol nor
 * an FDE covers it; *@ret_name is NULL without a symbol.
 */
int object_function(struct object *object, uint64_t addr, uint64_t *ret_start,
		    const char **ret_name);

#endif /* _USER_BINARY_FILE_OBJECT_H */
