/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The helper's side of wire.h.
 */
#ifndef _USER_BINARY_HELPER_FILE_SERVER_H
#define _USER_BINARY_HELPER_FILE_SERVER_H

/* A helper_main; @path is that of the file, as the process that mapped it has it. */
void file_server_main(void *path);

#endif /* _USER_BINARY_HELPER_FILE_SERVER_H */
