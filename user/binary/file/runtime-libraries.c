// SPDX-License-Identifier: GPL-2.0
/*
 * A library that needs the dynamic linker need not be one: all libraries with
 * thread-local variables do.  But glibc gives the symbols for its own parts a
 * version of their own, GLIBC_PRIVATE.  Other C libraries are a single file.
 */

#include "binary/file/runtime-libraries.h"

#include <string.h>

#include "binary/file/dynamic.h"
#include "binary/file/object.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The last part of the path, or NULL without a terminated one. */
static const char *read_interpreter(const struct object *object)
{
	const char *path;
	GElf_Phdr phdr;

	if (!file_view_header(object->elf, PT_INTERP, &phdr))
		return NULL;
	path = (const char *)file_view_at(&object->view, phdr.p_vaddr, phdr.p_filesz);
	return path && memchr(path, '\0', phdr.p_filesz) ? last_part(path) : NULL;
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
			const char *name;

			at = file_view_at(view, next, sizeof(version));
			if (!at)
				return false;
			memcpy(&version, at, sizeof(version));
			name = dynamic_string(dynamic, version.vna_name);
			if (name && !strcmp(name, "GLIBC_PRIVATE"))
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
	const char *soname;
	struct dynamic dynamic;
	uint64_t offset;

	dynamic_init(&dynamic, &object->view, object->elf);
	offset = dynamic_value(&dynamic, DT_SONAME);
	soname = offset ? dynamic_string(&dynamic, offset) : NULL;
	*ret = (struct runtime_candidate){
		.soname = soname ? soname : last_part(object->path),
		.file = last_part(object->path),
		.interpreter = read_interpreter(object),
		.has_private = has_private(&object->view, &dynamic),
	};
}

void runtime_libraries_find(const struct runtime_candidate *files, uint32_t nr, bool *ret)
{
	const char *interpreter = nr ? files[0].interpreter : NULL;

	for (uint32_t i = 0; i < nr; i++) {
		const struct runtime_candidate *file = &files[i];

		ret[i] = i && interpreter &&
			 (file->has_private || !strcmp(file->soname, interpreter) ||
			  (file->file && !strcmp(file->file, interpreter)));
	}
}
