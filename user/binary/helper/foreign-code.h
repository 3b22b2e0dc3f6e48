/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions and calls of somebody else's file, for training; locations are offsets in the
 * file.  A helper reads it; this process never does.
 */
#ifndef _USER_BINARY_HELPER_FOREIGN_CODE_H
#define _USER_BINARY_HELPER_FOREIGN_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/code/window-site.h"
#include "binary/file/elf.h"
#include "binary/file/runtime-libraries.h"
#include "binary/helper/helper.h"
#include "data/samples.h"

#define FOREIGN_CODE_NONE UINT32_MAX

struct foreign_function {
	struct samples_function described; /* object is 0 */
	struct window_site window; /* by foreign_code_open_with_windows() only */
	bool is_leaf; /* has no call instruction */
};

struct foreign_code {
	struct helper helper;
	char build_id[ELF_BUILD_ID_MAX];
	struct runtime_candidate runtime;
	struct foreign_function *functions; /* those that can carry a site */
	uint32_t nr_functions;
	uint8_t *prints; /* fingerprints of all its functions, packed and checked; NULL: none */
	uint32_t prints_size; /* bytes */
	bool has_syscalls; /* as these show */
	bool uses_gs; /* so its processes have no windows */
};

/* A call of the file; functions by their numbers, or FOREIGN_CODE_NONE. */
struct foreign_call {
	uint32_t caller;
	uint32_t callee; /* of a direct call */
	bool is_indirect;
	bool is_in_loop; /* or in a function with jumps whose targets are not known */
};

/*
 * Read the file @fd, which the caller keeps; @path is where the process that mapped it has
 * it.  Takes at most 20 s of CPU time and one more for each MiB of it.  Returns 0; -ENOEXEC if it is
 * no such file; -ENODATA if it has no unwind table, which its functions are read from;
 * -EIO if its reader failed; -EINTR if a signal that ends us is pending; or -ENOMEM.
 */
int foreign_code_open(int fd, const char *path, struct foreign_code **ret);

/* The same with the windows of functions, which takes some more time. */
int foreign_code_open_with_windows(int fd, const char *path, struct foreign_code **ret);

void foreign_code_close(struct foreign_code *code);

/*
 * Describe the call that the return address @return_offset belongs to; of one that is not
 * near, only the caller is found, which is quick.  What is not known is as if it were
 * nothing.  Returns 0 or -EINTR.
 */
int foreign_code_call(struct foreign_code *code, uint64_t return_offset, bool is_near,
		      struct foreign_call *ret);

#endif /* _USER_BINARY_HELPER_FOREIGN_CODE_H */
