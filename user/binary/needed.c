// SPDX-License-Identifier: GPL-2.0

#include "needed.h"

#include <gelf.h>
#include <string.h>

#include "object.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A string of the file that ends inside of it, or NULL. */
static const char *string_at(const struct object *object, uint64_t addr)
{
	const struct file_view *view = &object->view;
	const uint8_t *start = file_view_at(view, addr, 1);

	if (!start || !memchr(start, 0, (size_t)(view->bytes + view->size - start)))
		return NULL;
	return (const char *)start;
}

static void add_name(struct needed *needed, const char *name)
{
	if (name && needed->nr < NEEDED_MAX)
		needed->names[needed->nr++] = name;
}

static void read_dynamic(const struct object *object, const GElf_Phdr *header,
			 struct needed *ret)
{
	uint64_t strings = 0, nr = header->p_filesz / sizeof(Elf64_Dyn);
	const uint8_t *at;
	Elf64_Dyn entry;

	/* First where the strings are, then the strings. */
	for (int turn = 0; turn < 2; turn++) {
		for (uint64_t i = 0; i < nr; i++) {
			at = file_view_at(&object->view, header->p_vaddr + i * sizeof(entry),
					  sizeof(entry));
			if (!at)
				return;
			memcpy(&entry, at, sizeof(entry));
			if (entry.d_tag == DT_NULL)
				break;
			if (entry.d_tag == DT_STRTAB)
				strings = entry.d_un.d_ptr;
			if (turn && entry.d_tag == DT_NEEDED)
				add_name(ret, string_at(object, strings + entry.d_un.d_val));
			if (turn && entry.d_tag == DT_SONAME) {
				const char *name = string_at(object, strings + entry.d_un.d_val);

				ret->soname = name ? name : ret->soname;
			}
		}
	}
}

void needed_read(const struct object *object, struct needed *ret)
{
	GElf_Phdr header;
	const char *path;
	size_t nr = 0;

	*ret = (struct needed){ .soname = last_part(object->path) };
	if (elf_getphdrnum(object->elf, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(object->elf, (int)i, &header))
			continue;
		if (header.p_type == PT_INTERP) {
			path = string_at(object, header.p_vaddr);
			ret->interpreter = path ? last_part(path) : NULL;
		} else if (header.p_type == PT_DYNAMIC) {
			read_dynamic(object, &header, ret);
		}
	}
}

static int64_t find(const struct needed *files, uint32_t nr, const char *name)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!strcmp(files[i].soname, name))
			return i;
	return -1;
}

/* Does a file need an interpreter, and all else it needs is in @runtime? */
static bool is_runtime(const struct needed *files, uint32_t nr, uint32_t file,
		       const char *interpreter, const bool *runtime)
{
	bool needs_interpreter = false;

	for (uint32_t i = 0; i < files[file].nr; i++) {
		int64_t other = find(files, nr, files[file].names[i]);

		if (!strcmp(files[file].names[i], interpreter))
			needs_interpreter = true;
		else if (other < 0 || !runtime[other])
			return false;
	}
	return needs_interpreter;
}

void needed_runtime(const struct needed *files, uint32_t nr, bool *ret)
{
	const char *interpreter = NULL;
	bool is_changed = true;

	memset(ret, 0, nr * sizeof(*ret));
	if (nr)
		interpreter = files[0].interpreter;
	if (!interpreter)
		return;
	for (uint32_t i = 1; i < nr; i++)
		ret[i] = !strcmp(files[i].soname, interpreter);
	while (is_changed) {
		is_changed = false;
		for (uint32_t i = 1; i < nr; i++) {
			if (ret[i] || !is_runtime(files, nr, i, interpreter, ret))
				continue;
			ret[i] = true;
			is_changed = true;
		}
	}
}
