// SPDX-License-Identifier: GPL-2.0
/* Lines of JSON that become a page. */

#include <string.h>

#include "fuzz.h"
#include "out/page/page.h"

void fuzz_one(const uint8_t *bytes, size_t len)
{
	struct page *page = page_new();
	const char *at = (const char *)bytes, *end = at + len;
	char *text;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;

		if (page_add_line(page, at, (size_t)(line_end - at)))
			abort();
		at = line_end + 1;
	}
	if (page_render(page, &text, &len) || len > PAGE_MAX_BYTES)
		abort();
	free(text);
	page_free(page);
}
