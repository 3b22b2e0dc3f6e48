// SPDX-License-Identifier: GPL-2.0

#include "out/paragraph.h"

#include <stdarg.h>
#include <string.h>

#include "out/text.h"

void paragraph_heading(FILE *file, const char *name)
{
	fprintf(file, "  %-*s", PARAGRAPH_INDENT - 2, name);
}

void paragraph_print(FILE *file, const char *name, const char *text)
{
	size_t room = PARAGRAPH_COLUMNS - PARAGRAPH_INDENT;

	while (*text) {
		size_t len = strlen(text), cut = len;
		char line[PARAGRAPH_MAX];

		if (len > room) {
			cut = room;
			while (cut && text[cut] != ' ')
				cut--;
			if (!cut)
				cut = strcspn(text, " ");
		}
		if (cut >= sizeof(line))
			cut = sizeof(line) - 1;
		memcpy(line, text, cut);
		line[cut] = '\0';
		paragraph_heading(file, name);
		text_safe(file, line);
		fputc('\n', file);
		name = "";
		text += cut;
		text += strspn(text, " ");
	}
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
