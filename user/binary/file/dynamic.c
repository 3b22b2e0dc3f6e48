// SPDX-License-Identifier: GPL-2.0

#include "binary/file/dynamic.h"

#include <string.h>

void dynamic_init(struct dynamic *dynamic, const struct file_view *view, Elf *elf)
{
	GElf_Phdr phdr;

	memset(dynamic, 0, sizeof(*dynamic));
	if (!file_view_header(elf, PT_DYNAMIC, &phdr))
		return;
	dynamic->entries = file_view_at(view, phdr.p_vaddr, phdr.p_filesz);
	dynamic->nr = dynamic->entries ? phdr.p_filesz / sizeof(Elf64_Dyn) : 0;
	dynamic->strings_size = dynamic_value(dynamic, DT_STRSZ);
	dynamic->strings = (const char *)file_view_at(view, dynamic_value(dynamic, DT_STRTAB),
						      dynamic->strings_size);
	if (!dynamic->strings)
		dynamic->strings_size = 0;
}

uint64_t dynamic_value(const struct dynamic *dynamic, int64_t tag)
{
	Elf64_Dyn dyn;

	for (uint64_t i = 0; i < dynamic->nr; i++) {
		memcpy(&dyn, dynamic->entries + i * sizeof(dyn), sizeof(dyn));
		if (dyn.d_tag == tag)
			return dyn.d_un.d_val;
		if (dyn.d_tag == DT_NULL)
			break;
	}
	return 0;
}

bool dynamic_string(const struct dynamic *dynamic, uint64_t offset, char ret[DYNAMIC_STRING_MAX])
{
	uint64_t size;

	if (offset >= dynamic->strings_size)
		return false;
	size = dynamic->strings_size - offset;
	if (size > DYNAMIC_STRING_MAX)
		size = DYNAMIC_STRING_MAX;
	/* the file may change: the copy is what is looked at */
	memcpy(ret, dynamic->strings + offset, size);
	return memchr(ret, '\0', size);
}
