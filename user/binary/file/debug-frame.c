// SPDX-License-Identifier: GPL-2.0
/*
 * libdw reads all sections of debug information before it gives the rules of one:
 * seconds and gigabytes, where they are compressed.  So it is given a file that has
 * only this one.
 */

#include "binary/file/debug-frame.h"

#include <endian.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAMES "\0.debug_frame\0.shstrtab"

enum {
	MAX_SIZE = 64 << 20, /* bytes; that of a program of 100 MB is 2 MB */
	NAME_FRAME = 1,
	NAME_NAMES = sizeof("\0.debug_frame"),
};

/* The size as .zdebug_frame, the older form of compression, has it; or UINT64_MAX. */
static uint64_t old_size(Elf_Scn *scn)
{
	const Elf_Data *data = elf_rawdata(scn, NULL);
	uint64_t size;

	if (!data || !data->d_buf || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4))
		return UINT64_MAX;
	memcpy(&size, (const char *)data->d_buf + 4, sizeof(size));
	return be64toh(size);
}

/* Returns false if it cannot be, or is too large. */
static bool decompress(Elf_Scn *scn, const GElf_Shdr *header, bool is_old)
{
	GElf_Chdr compressed;

	if (header->sh_size > MAX_SIZE)
		return false;
	if (is_old)
		return old_size(scn) <= MAX_SIZE && elf_compress_gnu(scn, 0, 0) >= 0;
	if (!(header->sh_flags & SHF_COMPRESSED))
		return true;
	return gelf_getchdr(scn, &compressed) && compressed.ch_size <= MAX_SIZE &&
	       elf_compress(scn, 0, 0) >= 0;
}

static bool has_name(Elf *elf, size_t names, const GElf_Shdr *header, const char *wanted)
{
	const char *name = elf_strptr(elf, names, header->sh_name);

	return name && !strncmp(name, wanted, strlen(wanted) + 1);
}

/* The section's bytes, or NULL. */
static Elf_Data *find(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		bool is_old;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		is_old = has_name(elf, names, &header, ".zdebug_frame");
		if (is_old || has_name(elf, names, &header, ".debug_frame"))
			return decompress(scn, &header, is_old) ? elf_rawdata(scn, NULL) : NULL;
	}
	return NULL;
}

static uint8_t *make_image(const Elf_Data *data, size_t *ret_size)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[3];
		char names[sizeof(NAMES)];
	} head = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_shoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 2,
		},
		.sections[1] = {
			.sh_name = NAME_FRAME,
			.sh_type = SHT_PROGBITS,
			.sh_offset = sizeof(head),
			.sh_size = data->d_size,
			.sh_addralign = 1,
		},
		.sections[2] = {
			.sh_name = NAME_NAMES,
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(typeof(head), names),
			.sh_size = sizeof(NAMES),
			.sh_addralign = 1,
		},
		.names = NAMES,
	};
	uint8_t *image = malloc(sizeof(head) + data->d_size);

	if (!image)
		return NULL;
	memcpy(image, &head, sizeof(head));
	memcpy(image + sizeof(head), data->d_buf, data->d_size);
	*ret_size = sizeof(head) + data->d_size;
	return image;
}

void debug_frame_init(struct debug_frame *frame, Elf *elf)
{
	const Elf_Data *data = find(elf);
	size_t size;

	memset(frame, 0, sizeof(*frame));
	if (!data || !data->d_buf || !data->d_size)
		return;
	frame->image = make_image(data, &size);
	if (!frame->image)
		return;
	frame->elf = elf_memory((char *)frame->image, size);
	frame->dwarf = frame->elf ? dwarf_begin_elf(frame->elf, DWARF_C_READ, NULL) : NULL;
	frame->cfi = frame->dwarf ? dwarf_getcfi(frame->dwarf) : NULL;
}

void debug_frame_deinit(struct debug_frame *frame)
{
	if (frame->dwarf)
		dwarf_end(frame->dwarf);
	elf_end(frame->elf);
	free(frame->image);
	memset(frame, 0, sizeof(*frame));
}
