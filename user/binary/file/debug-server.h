/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files with symbols from the servers in $DEBUGINFOD_URLS.
 */
#ifndef _USER_BINARY_FILE_DEBUG_SERVER_H
#define _USER_BINARY_FILE_DEBUG_SERVER_H

#include <stdint.h>

/*
 * Get the file of a build id, from the client's cache or a server.  Returns a descriptor,
 * or -ENOENT: also if the variable is not set, it takes more than 10 s, or a signal
 * that ends us is pending.
 */
int debug_server_open(const uint8_t *id, uint32_t size);

#endif /* _USER_BINARY_FILE_DEBUG_SERVER_H */
