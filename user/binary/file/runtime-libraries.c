// SPDX-License-Identifier: GPL-2.0
/*
 * A library that needs the dynamic linker need not be one: all libraries with
 * thread-local variables do.  But glibc gives the symbols for its own parts a
 * version of their own, GLIBC_PRIVATE.  Other C libraries are a single file.
 */

#include "binary/file/runtime-libraries.h"

#include <stdio.h>
#include <string.h>

#include "base/base-name.h"
#include "binary/file/dynamic.h"
#include "binary/file/object.h"

/* The last part of the path, or "" without a terminated one. */
static void read_interpreter(const struct object *object, char ret[RUNTIME_NAME_MAX])
{
	char path[RUNTIME_NAME_MAX];
	const uint8_t *bytes;
	GElf_Phdr phdr;

	ret[0] = '\0';
	if (!file_view_header(object->elf, PT_INTERP, &phdr) || phdr.p_filesz > sizeof(path))
		return;
	bytes = file_view_at(&object->view, phdr.p_vaddr, phdr.p_filesz);
	if (!bytes)
		return;
	memcpy(path, bytes, phdr.p_filesz); /* the file may change */
	if (memchr(path, '\0', phdr.p_filesz))
		strcpy(ret, base_name(path));
}

/* True if the file needs symbols of version GLIBC_PRIVATE. */
static bool has_private(const struct file_view *view, const struct dynamic *dynamic)
{
	enum { MAX_VERSIONS = 4096 };
	uint64_t addr = dynamic_value(dynamic, DT_VERNEED);
	uint32_t left = MAX_VERSIONS;

	while (addr && left) {
		const uint8_t *at = file_view_at(view, addr, sizeof(Elf64_Verneed));
		Elf64_Verneed need;
		Elf64_Vernaux version;
		uint64_t next;

		if (!at)
			return false;
		memcpy(&need, at, sizeof(need));
		next = addr + need.vn_aux;
		for (uint32_t i = 0; i < need.vn_cnt && left; i++, left--) {
			char name[DYNAMIC_STRING_MAX];

			at = file_view_at(view, next, sizeof(version));
			if (!at)
				return false;
			memcpy(&version, at, sizeof(version));
			if (dynamic_string(dynamic, version.vna_name, name) &&
			    !strcmp(name, "GLIBC_PRIVATE"))
				return true;
			next += version.vna_next;
		}
		if (!need.vn_next || !need.vn_cnt)
			return false;
		addr += need.vn_next;
	}
	return false;
}

void runtime_libraries_read(const struct object *object, struct runtime_candidate *ret)
{
	struct dynamic dynamic;
	uint64_t offset;

	memset(ret, 0, sizeof(*ret));
	dynamic_init(&dynamic, &object->view, object->elf);
	offset = dynamic_value(&dynamic, DT_SONAME);
	snprintf(ret->file, sizeof(ret->file), "%s", base_name(object->path));
	if (!offset || !dynamic_string(&dynamic, offset, ret->soname))
		strcpy(ret->soname, ret->file);
	read_interpreter(object, ret->interpreter);
	ret->has_private = has_private(&object->view, &dynamic);
}

void runtime_libraries_find(const struct runtime_candidate *files, uint32_t nr, bool *ret)
{
	const char *interpreter = nr ? files[0].interpreter : "";

	for (uint32_t i = 0; i < nr; i++) {
		const struct runtime_candidate *file = &files[i];

		ret[i] = i && interpreter[0] &&
			 (file->has_private || !strcmp(file->soname, interpreter) ||
			  !strcmp(file->file, interpreter));
	}
}
