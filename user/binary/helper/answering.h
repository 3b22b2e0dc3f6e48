/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a helper talks to its parent.
 */
#ifndef _USER_BINARY_HELPER_ANSWERING_H
#define _USER_BINARY_HELPER_ANSWERING_H

#include <stdbool.h>
#include <stddef.h>

/* From now on, files with symbols are asked of the parent. */
void serve_begin(void);

/* Send a message.  Returns false if there is nobody any more. */
bool serve_answer(const void *message, size_t size);

/* Receive one of just this size.  *@ret_fd is the descriptor that came along, or -1. */
bool serve_receive(void *ret, size_t size, int *ret_fd);

#endif /* _USER_BINARY_HELPER_ANSWERING_H */
