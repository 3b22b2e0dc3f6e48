/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The helper's side of code-wire.h.
 */
#ifndef _USER_BINARY_HELPER_CODE_SERVER_H
#define _USER_BINARY_HELPER_CODE_SERVER_H

#include <stdbool.h>

struct code_order {
	const char *path; /* of the file, as the process that mapped it has it */
	bool has_windows; /* they are asked for */
};

/* A helper_main, of a struct code_order. */
void code_server_main(void *order);

#endif /* _USER_BINARY_HELPER_CODE_SERVER_H */
