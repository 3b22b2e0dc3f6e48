/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Text that others chose: paths, names of threads and functions, labels of
 * cgroups.  They may hold any bytes, also those that command a terminal.
 */
#ifndef _USER_BASE_UTF8_H
#define _USER_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID UINT32_MAX

/*
 * Decode the character that the @len > 0 bytes at @text begin with.  Returns its
 * length; if they begin with none, 1, and *@ret is UTF8_INVALID.
 */
size_t utf8_decode(const char *text, size_t len, uint32_t *ret);

/*
 * Return: true if a terminal shows @character and does nothing else: it is no
 * control character, of ASCII or of ISO 6429's C1, and does not change the
 * direction or the lines of the text around it.
 */
bool utf8_is_plain(uint32_t character);

/* Replace each character of @text that is not plain by '?'. */
void utf8_make_plain(char *text);

#endif /* _USER_BASE_UTF8_H */
