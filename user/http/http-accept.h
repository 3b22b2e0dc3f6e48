/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a client accepts, by its header.
 */
#ifndef _USER_HTTP_HTTP_ACCEPT_H
#define _USER_HTTP_HTTP_ACCEPT_H

#include <stdbool.h>

/* Return: true if it names the @type of content, and prefers it to @other. */
bool http_accept_prefers(const char *accept, const char *type, const char *other);

#endif /* _USER_HTTP_HTTP_ACCEPT_H */
