// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/file-server.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "binary/file/object.h"
#include "binary/helper/confine.h"
#include "binary/helper/answering.h"
#include "binary/helper/wire.h"
#include "binary/stack/cfi.h"

static bool describe_file(const struct object *object, int error)
{
	static struct wire_file file;
	const struct file_view *view;

	file.kind = WIRE_FILE;
	file.error = error;
	if (error)
		return serve_answer(&file, sizeof(file));
	view = &object->view;
	file.entry = object->entry;
	memcpy(file.build_id, object->build_id, sizeof(file.build_id));
	file.head_size = view->size < WIRE_HEAD ? (uint32_t)view->size : WIRE_HEAD;
	memcpy(file.head, view->bytes, file.head_size);
	for (uint32_t i = 0; i < view->nr_segments && i < WIRE_MAX_SEGMENTS; i++) {
		const struct segment *segment = &view->segments[i];

		file.segments[file.nr_segments++] = (struct wire_segment){
			segment->offset, segment->size, segment->addr, segment->executable,
		};
	}
	return serve_answer(&file, sizeof(file));
}

static void read_code(const struct file_view *view, uint64_t addr, struct wire_place *ret)
{
	for (uint32_t nr = WIRE_CODE; nr; nr--) {
		const uint8_t *code = file_view_at(view, addr + 1 - nr, nr);

		if (!code)
			continue;
		memcpy(ret->code + WIRE_CODE - nr, code, nr);
		ret->nr_code = nr;
		return;
	}
}

/* A function's name without a version, demangled, and cut if it is very long. */
static void copy_name(const char *name, char ret[WIRE_NAME])
{
	size_t size = strnlen(name, WIRE_NAME - 1);
	char *readable;

	memcpy(ret, name, size);
	ret[size] = '\0';
	ret[strcspn(ret, "@")] = '\0';
	readable = demangle(ret);
	if (!readable)
		return;
	size = strnlen(readable, WIRE_NAME - 1);
	memcpy(ret, readable, size);
	ret[size] = '\0';
	free(readable);
}

static bool describe_place(struct object *object, uint64_t addr)
{
	static struct wire_place place;
	const struct rule *rule = object_rule(object, addr);
	const char *name;

	memset(&place, 0, sizeof(place));
	place.kind = WIRE_PLACE;
	if (rule)
		place.rule = *rule;
	else
		place.rule.is_missing = true;
	if (place.rule.nr_ops)
		memcpy(place.ops, rule->ops, place.rule.nr_ops * sizeof(*place.ops));
	place.rule.ops = NULL;
	cfi_find(&object->fdes, &object->view, addr, &place.fde_start, &place.fde_end);
	read_code(&object->view, addr, &place);
	if (!object_function(object, addr, &place.function_start, &name) && name)
		copy_name(name, place.name);
	return serve_answer(&place, sizeof(place));
}

void file_server_main(void *path)
{
	struct wire_question question;
	struct object *object = NULL;
	int error, fd;

	serve_begin();
	error = object_create(CONFINE_FILE, path, &object);
	if (!describe_file(object, error) || error)
		return;
	while (serve_receive(&question, sizeof(question), &fd))
		if (!describe_place(object, question.addr))
			return;
}
