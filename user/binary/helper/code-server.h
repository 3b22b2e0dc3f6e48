/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The helper's side of code-wire.h.
 */
#ifndef _USER_BINARY_HELPER_CODE_SERVER_H
#define _USER_BINARY_HELPER_CODE_SERVER_H

/* A helper_main; @path is that of the file, as the process that mapped it has it. */
void code_server_main(void *path);

#endif /* _USER_BINARY_HELPER_CODE_SERVER_H */
