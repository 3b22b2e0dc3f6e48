// SPDX-License-Identifier: GPL-2.0

#include "out/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base-name.h"
#include "base/utf8.h"

static bool has_colour(FILE *file)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fileno(file)) && !(no_colour && *no_colour) && terminal &&
	       strcmp(terminal, "dumb") != 0;
}

const char *text_colour(FILE *file, const char *sequence)
{
	return has_colour(file) ? sequence : "";
}

char *text_share(uint64_t part, uint64_t whole, char text[TEXT_MAX])
{
	if (whole)
		snprintf(text, TEXT_MAX, "%.1f %%", 100.0 * (double)part / (double)whole);
	else
		snprintf(text, TEXT_MAX, "-");
	return text;
}

char *text_count(uint64_t count, char text[TEXT_MAX])
{
	char digits[TEXT_MAX];
	size_t out = 0;
	int len;

	len = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = '\0';
	return text;
}

const char *text_plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

void text_counted(FILE *file, uint64_t nr, const char *noun)
{
	char text[TEXT_MAX];

	fprintf(file, "%s %s%s", text_count(nr, text), noun, text_plural(nr));
}

void text_heading(FILE *file, const char *name)
{
	fprintf(file, "  %-10s ", name);
}

void text_line(FILE *file, const char *name, const char *text)
{
	text_heading(file, name);
	text_safe(file, text);
	fputc('\n', file);
}

const char *text_basename(const char *path)
{
	return path ? base_name(path) : "?";
}

char *text_cut(const char *text, size_t max, char *ret, size_t size)
{
	size_t len = strlen(text);

	if (max >= size)
		max = size - 1;
	if (len <= max) {
		memcpy(ret, text, len + 1);
		return ret;
	}
	max = max > 3 ? max - 3 : 0;
	/* Not inside of a character of UTF-8. */
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	memcpy(ret, text, max);
	memcpy(ret + max, "...", 4);
	return ret;
}

void text_append(char *text, size_t size, const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, size - len, format, args);
	va_end(args);
}

void text_print(FILE *file, const char *text, size_t len)
{
	size_t size;
	uint32_t c;

	for (; len; text += size, len -= size) {
		size = utf8_decode(text, len, &c);
		if (utf8_is_plain(c))
			fwrite(text, 1, size, file);
		else
			fputc('?', file);
	}
}

void text_safe(FILE *file, const char *text)
{
	text_print(file, text, strlen(text));
}

void text_frame(FILE *file, const struct frame *frame)
{
	const char *module = text_basename(frame->module);

	if (frame->function) {
		text_safe(file, frame->function);
		fprintf(file, "+0x%" PRIx64 "  ", frame->function_offset);
		text_safe(file, module);
	} else if (frame->module) {
		text_safe(file, module);
		fprintf(file, "+0x%" PRIx64, frame->offset);
	} else {
		fprintf(file, "0x%" PRIx64 "  (no file)", frame->pc);
	}
	if (frame->guessed)
		fputs("  (guessed)", file);
}

bool text_has_account(const struct account *account)
{
	return account->cpu_ns || account->runqueue_ns || account->blocked_ns ||
	       account->stopped_ns;
}

void text_account(FILE *file, const struct account *account)
{
	uint64_t whole = account->elapsed_ns;
	char text[TEXT_MAX];

	if (!text_has_account(account)) {
		fputs("no time account was kept", file);
		return;
	}
	fprintf(file, "CPU %s", text_share(account->cpu_ns, whole, text));
	fprintf(file, ", run queue %s", text_share(account->runqueue_ns, whole, text));
	fprintf(file, ", blocked %s", text_share(account->blocked_ns, whole, text));
	fprintf(file, " (block I/O %s)",
		account->has_block_io ? text_share(account->block_io_ns, whole, text) : "-");
	if (account->stopped_ns)
		fprintf(file, ", stopped %s", text_share(account->stopped_ns, whole, text));
	fprintf(file, ", faults %" PRIu64 "/%" PRIu64, account->min_faults, account->maj_faults);
}

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
