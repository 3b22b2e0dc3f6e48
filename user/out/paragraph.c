// SPDX-License-Identifier: GPL-2.0

#include "out/paragraph.h"

#include <stdarg.h>
#include <string.h>

#include "out/text.h"

void paragraph_heading(FILE *file, const char *name)
{
	fprintf(file, "  %-*s", PARAGRAPH_INDENT - 2, name);
}

void paragraph_wrap(FILE *file, const char *text, int at, int indent)
{
	while (*text) {
		size_t len = strcspn(text, " \n"), blanks = strspn(text + len, " ");
		const char *next = text + len + blanks;

		text_print(file, text, len);
		at += (int)(len + blanks);
		text = next + (*next == '\n');
		if (*next == '\n' || (*next && at + (int)strcspn(next, " \n") > PARAGRAPH_COLUMNS)) {
			fprintf(file, "\n%*s", *text == '\n' ? 0 : indent, "");
			at = indent;
		} else if (*next) {
			fprintf(file, "%*s", (int)blanks, "");
		}
	}
	fputc('\n', file);
}

void paragraph_print(FILE *file, const char *name, const char *text)
{
	paragraph_heading(file, name);
	paragraph_wrap(file, text, PARAGRAPH_INDENT, PARAGRAPH_INDENT);
}

void paragraph_format(FILE *file, const char *name, const char *format, ...)
{
	char text[PARAGRAPH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	paragraph_print(file, name, text);
}
