/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ELF file of somebody else that a process has mapped: what unwinding needs of it,
 * by the file's own addresses, so that one serves every process that runs the file.  A helper
 * reads it; this process never does.
 */
#ifndef _USER_BINARY_HELPER_FOREIGN_FILE_H
#define _USER_BINARY_HELPER_FOREIGN_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash-index.h"
#include "binary/helper/helper.h"
#include "binary/helper/wire.h"
#include "data/stack-copy.h"

/* About the code at an address. */
struct code_facts {
	struct rule rule; /* is_missing if there is none */
	uint64_t fde_start; /* the range of its unwind entry; both 0 without one */
	uint64_t fde_end;
	uint64_t function_start; /* of a symbol or of that entry; 0 without both */
	char *name; /* of the function, readable; NULL without one */
	uint8_t code[WIRE_CODE]; /* bytes up to and with that at the address, */
	uint32_t nr_code; /* of which the last so many are in the file */
};

struct foreign_file {
	char *path; /* as the process has it: what is shown */
	char *root_path; /* the same for us, perhaps by the root of that process: what is opened */
	int fd;
	struct helper helper;
	uint32_t nr_questions; /* that this helper was asked */
	bool has_failed; /* cannot be read: nothing more is asked */
	struct wire_file *about; /* checked */
	struct code_facts **facts;
	size_t max_facts;
	struct hash_index index; /* of the facts, by address */
};

/*
 * Open the file @fd, which it takes in any case.  @path is where process @pid, which mapped it,
 * has it; 0: it is no file of a process.  Returns 0; -ENOEXEC if it is no ELF file that can be
 * read; -EIO if its reader failed; -EINTR if a signal that ends us is pending; or -ENOMEM.
 */
int foreign_file_create(int fd, uint32_t pid, const char *path, struct foreign_file **ret);
void foreign_file_destroy(struct foreign_file *file);

/* *@ret: the difference of an address of the process from that of the file. */
bool foreign_file_bias(const struct foreign_file *file, const struct mapping *mapping,
		       uint64_t *ret);

/*
 * The facts about address @addr of the file, good until foreign_file_trim(); NULL if they
 * cannot be had: see has_failed.
 */
const struct code_facts *foreign_file_facts(struct foreign_file *file, uint64_t addr);

/* Forget facts if there are too many. */
void foreign_file_trim(struct foreign_file *file);

/* True if @addr is in the code at the file's entry point. */
bool foreign_file_is_entry(const struct foreign_file *file, uint64_t addr);

#endif /* _USER_BINARY_HELPER_FOREIGN_FILE_H */
