// SPDX-License-Identifier: GPL-2.0

#include "binary/file/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "binary/file/debug-file.h"
#include "binary/stack/cfi.h"

enum {
	MAX_RULES = 1 << 16, /* of a file, at a time; each has a hundred bytes */
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = debug_file_find,
	.section_address = dwfl_offline_section_address,
};

/* On success the Dwfl owns @fd. */
static int report_file(struct object *object, int fd)
{
	GElf_Addr bias;
	GElf_Ehdr ehdr;

	object->dwfl = dwfl_begin(&callbacks);
	if (!object->dwfl)
		return -ENOMEM;
	dwfl_report_begin(object->dwfl);
	/* at address 0: all results are then addresses of the file */
	object->file = dwfl_report_elf(object->dwfl, object->path, object->path, fd, 0, true);
	dwfl_report_end(object->dwfl, NULL, NULL);
	if (!object->file)
		return -ENOEXEC;
	object->elf = dwfl_module_getelf(object->file, &bias);
	if (!object->elf || bias || !gelf_getehdr(object->elf, &ehdr))
		return -EINVAL;
	object->entry = ehdr.e_entry;
	return 0;
}

int object_create(int fd, const char *path, struct object **ret)
{
	struct object *object = calloc(1, sizeof(*object));
	struct elf_identity identity;
	const char *why;
	GElf_Addr bias;
	int err = -ENOMEM;

	if (!object)
		goto err_close;
	object->path = strdup(path);
	if (!object->path)
		goto err_free;
	err = elf_identify(fd, &identity, &why);
	if (err)
		goto err_free;
	memcpy(object->build_id, identity.build_id, sizeof(object->build_id));
	err = report_file(object, fd);
	if (!object->file && err)
		goto err_free;
	if (!err)
		err = file_view_init(&object->view, object->elf);
	if (err) {
		object_destroy(object);
		return err == -ENOMEM ? err : -ENOEXEC;
	}
	fde_table_init(&object->fdes, &object->view, object->elf);
	go_table_init(&object->go, &object->view, object->elf);
	object->cfi = dwfl_module_eh_cfi(object->file, &bias);
	*ret = object;
	return 0;

err_free:
	if (object->dwfl)
		dwfl_end(object->dwfl);
	free(object->path);
	free(object);
err_close:
	close(fd);
	return err == -ENOMEM ? err : -ENOEXEC;
}

static void forget_rules(struct object *object)
{
	for (uint32_t i = 0; i < object->rule_index.nr; i++)
		rule_deinit(&object->rules[i]);
	hash_index_deinit(&object->rule_index);
}

void object_destroy(struct object *object)
{
	if (!object)
		return;
	forget_rules(object);
	free(object->rules);
	symbols_deinit(&object->symbols);
	file_view_deinit(&object->view);
	debug_frame_deinit(&object->debug_frame);
	dwfl_end(object->dwfl);
	free(object->path);
	free(object);
}

static Dwarf_Frame *find_row(struct object *object, uint64_t addr)
{
	Dwarf_Frame *row;

	if (object->cfi && !dwarf_cfi_addrframe(object->cfi, addr, &row))
		return row;
	if (!object->has_debug_frame) {
		object->has_debug_frame = true;
		debug_frame_init(&object->debug_frame, object->elf);
	}
	if (object->debug_frame.cfi &&
	    !dwarf_cfi_addrframe(object->debug_frame.cfi, addr, &row))
		return row;
	return NULL;
}

static void make_rule(struct object *object, uint64_t addr, struct rule *ret)
{
	Dwarf_Frame *row = find_row(object, addr);
	struct go_frame frame;

	if (!row && go_table_frame(&object->go, addr, &frame))
		rule_init_plain(ret, frame.distance, frame.is_top);
	else
		rule_init(ret, row);
}

const struct rule *object_rule(struct object *object, uint64_t addr)
{
	uint64_t hash = hash_mix(0, addr); /* another one for each address */
	uint32_t cursor = 0, at = hash_index_next(&object->rule_index, hash, &cursor);

	if (at != HASH_INDEX_NONE)
		return object->rules[at].is_missing ? NULL : &object->rules[at];
	if (object->rule_index.nr == MAX_RULES)
		forget_rules(object);
	at = object->rule_index.nr;
	if (array_grow(object->rules, at, object->max_rules) ||
	    hash_index_add(&object->rule_index, hash))
		return NULL;
	make_rule(object, addr, &object->rules[at]);
	return object->rules[at].is_missing ? NULL : &object->rules[at];
}

int object_function(struct object *object, uint64_t addr, uint64_t *ret_start,
		    const char **ret_name)
{
	uint64_t start = 0, end = 0;
	const struct symbol *symbol;

	if (!object->has_symbols) {
		int err = symbols_init(&object->symbols, object->file, &object->go);

		if (err)
			return err;
		object->has_symbols = true;
	}
	cfi_find(&object->fdes, &object->view, addr, &start, &end);
	symbol = symbols_find(&object->symbols, addr, start, end);
	*ret_start = symbol ? symbol->start : start;
	*ret_name = symbol ? symbol->name : NULL;
	return 0;
}
