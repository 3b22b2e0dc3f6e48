// SPDX-License-Identifier: GPL-2.0

#include "out/fields.h"

#include <inttypes.h>
#include <string.h>

#include "base/time.h"
#include "out/line.h"
#include "out/text.h"

/* The value of a field: a number, or a text. */
struct value {
	double number;
	uint64_t whole;
	const char *text; /* NULL: none */
	bool is_text;
	char buffer[TIME_TEXT_MAX > TEXT_MAX ? TIME_TEXT_MAX : TEXT_MAX];
};

static void set_text(struct value *value, const char *text)
{
	value->is_text = true;
	value->text = text;
}

static void read_value(const struct field *field, const void *object, struct value *value)
{
	const void *at = (const char *)object + field->at;

	*value = (struct value){ 0 };
	switch (field->kind) {
	case FIELD_BOOL:
		value->whole = *(const bool *)at;
		break;
	case FIELD_U8:
		value->whole = *(const uint8_t *)at;
		break;
	case FIELD_S16:
		value->number = *(const int16_t *)at;
		return;
	case FIELD_U32:
		value->whole = *(const uint32_t *)at;
		break;
	case FIELD_NUMBER:
		value->whole = *(const uint32_t *)at + 1u;
		break;
	case FIELD_PPM:
		value->number = *(const uint32_t *)at / 1e6;
		return;
	case FIELD_REAL:
	case FIELD_WHOLE:
		value->number = *(const double *)at;
		value->whole = value->number >= 1 ? (uint64_t)value->number : 0;
		return;
	case FIELD_STRING:
		set_text(value, *(char *const *)at);
		return;
	case FIELD_CHARS:
		set_text(value, at);
		return;
	case FIELD_HEX:
		snprintf(value->buffer, sizeof(value->buffer), "%016" PRIx64, *(const uint64_t *)at);
		set_text(value, value->buffer);
		return;
	case FIELD_TIME:
		set_text(value, time_format(*(const uint64_t *)at, value->buffer));
		return;
	default:
		value->whole = *(const uint64_t *)at;
		break;
	}
	value->number = (double)value->whole;
}

static bool is_empty(const struct field *field, const struct value *value)
{
	if (value->is_text)
		return !value->text || !*value->text;
	return field->kind == FIELD_REAL ? value->number < 0 : !value->whole;
}

static void put_value(struct json *json, const struct field *field, const void *object)
{
	struct value value;

	read_value(field, object, &value);
	if (field->empty != FIELD_PLAIN && is_empty(field, &value)) {
		if (field->empty == FIELD_NULL)
			json_null(json, field->name);
		return;
	}
	if (field->names) {
		json_string(json, field->name,
			    value.whole < field->nr_names ? field->names[value.whole] : NULL);
		return;
	}
	switch (field->kind) {
	case FIELD_BOOL:
		json_bool(json, field->name, value.whole);
		break;
	case FIELD_S16:
	case FIELD_PPM:
	case FIELD_REAL:
		json_real(json, field->name, value.number);
		break;
	default:
		if (value.is_text)
			json_string(json, field->name, value.text);
		else
			json_u64(json, field->name, value.whole);
	}
}

void fields_json(struct json *json, const struct field *fields, const void *object)
{
	for (; fields->name; fields++) {
		switch (fields->kind) {
		case FIELD_END:
			json_end(json);
			break;
		case FIELD_OBJECT:
			json_object(json, fields->name);
			break;
		case FIELD_PUT:
			fields->put(json, fields->name, object);
			break;
		default:
			put_value(json, fields, object);
		}
	}
}

int fields_json_line(struct json *json, FILE *file, const char *kind, const struct field *fields,
		     const void *object)
{
	line_begin(json, kind, 0);
	fields_json(json, fields, object);
	return line_end(json, file);
}

void fields_text(FILE *file, const struct field *fields, const void *object)
{
	for (; fields->name; fields++) {
		const char *text = fields->text, *mark;
		char count[TEXT_MAX];
		struct value value;

		if (!text)
			continue;
		read_value(fields, object, &value);
		if (is_empty(fields, &value) && !fields->has_empty_text)
			continue;
		for (int i = 0; (mark = strstr(text, "%s")) != NULL; i++, text = mark + 2) {
			text_print(file, text, (size_t)(mark - text));
			if (i)
				fputs(text_plural(value.whole), file);
			else if (value.is_text)
				text_safe(file, value.text ? value.text : "");
			else
				fputs(text_count(value.whole, count), file);
		}
		fputs(text, file);
	}
}
