// SPDX-License-Identifier: GPL-2.0

#include "base/utf8.h"

#include <string.h>

/*
 * Length of the UTF-8 sequence that @first begins, and the range of its second
 * byte: no overlong forms, no surrogates, nothing above U+10FFFF (Unicode 15,
 * table 3-7).
 */
static size_t sequence(unsigned char first, unsigned char *ret_min, unsigned char *ret_max)
{
	*ret_min = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*ret_max = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

size_t utf8_decode(const char *text, size_t len, uint32_t *ret)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char min, max;
	size_t size = sequence(s[0], &min, &max);

	*ret = UTF8_INVALID;
	if (!size || size > len)
		return 1;
	for (size_t i = 1; i < size; i++, min = 0x80, max = 0xbf)
		if (s[i] < min || s[i] > max)
			return 1;
	*ret = size == 1 ? s[0] : s[0] & (0x7f >> size);
	for (size_t i = 1; i < size; i++)
		*ret = *ret << 6 | (s[i] & 0x3f);
	return size;
}

bool utf8_is_plain(uint32_t c)
{
	if (c == UTF8_INVALID || c < 0x20 || (c >= 0x7f && c <= 0x9f))
		return false;
	/* Marks, embeddings, overrides and isolates of direction; separators of lines. */
	return c != 0x61c && c != 0x200e && c != 0x200f && !(c >= 0x2028 && c <= 0x202e) &&
	       !(c >= 0x2066 && c <= 0x2069);
}

void utf8_make_plain(char *text)
{
	size_t left = strlen(text);
	char *to = text;

	while (left) {
		uint32_t c;
		size_t size = utf8_decode(text, left, &c);

		if (utf8_is_plain(c)) {
			memmove(to, text, size);
			to += size;
		} else {
			*to++ = '?';
		}
		text += size;
		left -= size;
	}
	*to = '\0';
}
