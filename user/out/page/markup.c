// SPDX-License-Identifier: GPL-2.0

#include "out/page/markup.h"

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "base/utf8.h"
#include "out/text.h"

static const char *entity(char character)
{
	switch (character) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

void markup_text_cut(FILE *file, const char *text, size_t max)
{
	size_t len, rest;

	if (!text)
		text = "?";
	for (rest = strlen(text); rest; text += len, rest -= len) {
		uint32_t character;
		const char *escaped = entity(*text);

		len = utf8_decode(text, rest, &character);
		if (!max--) {
			fputs("\u2026", file);
			return;
		}
		if (escaped)
			fputs(escaped, file);
		else if (character == UTF8_INVALID || !utf8_is_plain(character))
			fputc('?', file);
		else
			fwrite(text, 1, len, file);
	}
}

void markup_text(FILE *file, const char *text)
{
	markup_text_cut(file, text, MARKUP_MAX_TEXT);
}

void markup_put(FILE *file, const char *format, const char *text)
{
	const char *at = strstr(format, "%s");

	fwrite(format, 1, (size_t)(at - format), file);
	markup_text(file, text);
	fputs(at + 2, file);
}

void markup_element(FILE *file, const char *tag, const char *text)
{
	fprintf(file, "<%s>", tag);
	markup_text(file, text);
	fprintf(file, "</%s>\n", tag);
}

void markup_cell(FILE *file, const char *text)
{
	markup_put(file, "<td>%s", text);
}

void markup_cell_ns(FILE *file, uint64_t ns)
{
	char text[DURATION_TEXT_MAX];

	markup_put(file, "<td class=n>%s", ns ? duration_format(ns, text) : "-");
}

void markup_cell_count(FILE *file, uint64_t count)
{
	char text[TEXT_MAX];

	markup_put(file, "<td class=n>%s", text_count(count, text));
}

void markup_table(FILE *file, const char *caption, const char *const *columns)
{
	fputs("<div class=wide tabindex=0 role=region aria-label=\"", file);
	markup_put(file, "%s\"><table><caption>", caption);
	markup_put(file, "%s</caption>\n<thead><tr>", caption);
	for (; *columns; columns++) {
		bool is_number = **columns == '#';

		fputs(is_number ? "<th scope=col class=n>" : "<th scope=col>", file);
		markup_text(file, *columns + is_number);
	}
	fputs("</thead>\n<tbody>\n", file);
}

void markup_table_end(FILE *file)
{
	fputs("</tbody></table></div>\n", file);
}

char *markup_place(const char *module, const char *function, uint64_t offset, char *ret,
		   size_t size)
{
	if (function)
		snprintf(ret, size, "%s", function);
	else if (module)
		snprintf(ret, size, "%s+0x%" PRIx64, text_basename(module), offset);
	else
		snprintf(ret, size, "0x%" PRIx64, offset);
	return ret;
}
