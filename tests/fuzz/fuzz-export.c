// SPDX-License-Identifier: GPL-2.0
/* Lines of JSON that become files for profilers. */

#include <string.h>

#include "fuzz.h"
#include "out/export/exporter.h"

void fuzz_one(const uint8_t *bytes, size_t len)
{
	struct export *export = export_new();
	const char *at = (const char *)bytes, *end = at + len;
	char *text;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;

		if (export_add_line(export, at, (size_t)(line_end - at)))
			abort();
		at = line_end + 1;
	}
	for (enum export_format format = EXPORT_FOLDED; format <= EXPORT_PERFETTO; format++) {
		if (export_render(export, format, &text, &len))
			abort();
		free(text);
	}
	export_free(export);
}
