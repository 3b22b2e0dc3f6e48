/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ELF files that no compiler makes.  All of a file is one segment of code at
 * address 0, so that addresses are offsets in it.
 */
#ifndef _PGUARD_MADE_FILE_H
#define _PGUARD_MADE_FILE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	MADE_MAX_SECTIONS = 16,
	MADE_NAMES = 512,
};

struct made_function {
	uint32_t addr;
	uint32_t size;
	uint32_t fde;
};

struct made_file {
	uint8_t *bytes;
	size_t size;
	size_t max;
	struct made_function *functions; /* by rising address */
	uint32_t nr_functions;
	Elf64_Phdr phdrs[2]; /* the second is the table of unwind entries */
	Elf64_Shdr sections[MADE_MAX_SECTIONS];
	uint16_t nr_sections;
	char names[MADE_NAMES];
	uint32_t names_size;
};

/* Returns where the @size bytes begin; NULL leaves zeros. */
static inline uint32_t made_put(struct made_file *file, const void *bytes, size_t size)
{
	size_t at = file->size;

	if (at + size > file->max) {
		file->max = 2 * (at + size);
		file->bytes = realloc(file->bytes, file->max);
		if (!file->bytes)
			exit(1);
	}
	if (bytes)
		memcpy(file->bytes + at, bytes, size);
	else
		memset(file->bytes + at, 0, size);
	file->size = at + size;
	return (uint32_t)at;
}

static inline void made_put32(struct made_file *file, uint32_t value)
{
	made_put(file, &value, sizeof(value));
}

static inline void made_align(struct made_file *file)
{
	made_put(file, NULL, -file->size & 15);
}

static inline void made_begin(struct made_file *file)
{
	memset(file, 0, sizeof(*file));
	file->nr_sections = 1;
	file->names_size = 1;
	made_put(file, NULL, sizeof(Elf64_Ehdr) + sizeof(file->phdrs));
}

static inline uint32_t made_function(struct made_file *file, const void *code, uint32_t size)
{
	struct made_function function = { .addr = made_put(file, code, size), .size = size };

	file->functions = reallocarray(file->functions, file->nr_functions + 1, sizeof(function));
	if (!file->functions)
		exit(1);
	file->functions[file->nr_functions++] = function;
	return function.addr;
}

/* The unwind entries of all functions so far, each with this program, and their table. */
static inline void made_unwind(struct made_file *file, const void *program, uint32_t size)
{
	static const uint8_t cie[] = {
		20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
		0x0c, 7, 8, 0x90, 1, 0, 0,
	};
	uint32_t first, at, end = 0;

	made_align(file);
	first = made_put(file, cie, sizeof(cie));
	for (uint32_t i = 0; i < file->nr_functions; i++) {
		struct made_function *function = &file->functions[i];

		function->fde = (uint32_t)file->size;
		made_put32(file, 13 + size);
		made_put32(file, (uint32_t)file->size - first);
		made_put32(file, function->addr - (uint32_t)file->size);
		made_put32(file, function->size);
		made_put(file, NULL, 1);
		made_put(file, program, size);
	}
	made_put(file, &end, sizeof(end));
	made_align(file);
	at = made_put(file, "\1\x1b\3\x3b", 4);
	made_put32(file, first - (uint32_t)file->size);
	made_put32(file, file->nr_functions);
	for (uint32_t i = 0; i < file->nr_functions; i++) {
		made_put32(file, file->functions[i].addr - at);
		made_put32(file, file->functions[i].fde - at);
	}
	file->phdrs[1] = (Elf64_Phdr){
		.p_type = PT_GNU_EH_FRAME,
		.p_flags = PF_R,
		.p_offset = at,
		.p_vaddr = at,
		.p_filesz = file->size - at,
		.p_memsz = file->size - at,
	};
}

/* The bytes from @at to the end so far; returns the section's number. */
static inline uint16_t made_section(struct made_file *file, const char *name, uint32_t type,
				    uint64_t flags, uint32_t at)
{
	file->sections[file->nr_sections] = (Elf64_Shdr){
		.sh_name = file->names_size,
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = flags & SHF_ALLOC ? at : 0,
		.sh_offset = at,
		.sh_size = file->size - at,
		.sh_addralign = 1,
	};
	strcpy(file->names + file->names_size, name);
	file->names_size += (uint32_t)strlen(name) + 1;
	return file->nr_sections++;
}

/* Finish it.  Returns a file without a name; its bytes are freed. */
static inline int made_end(struct made_file *file)
{
	Elf64_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	int fd = memfd_create("made", MFD_CLOEXEC);
	uint32_t at = made_put(file, NULL, 0);

	made_section(file, ".shstrtab", SHT_STRTAB, 0, at);
	made_put(file, file->names, file->names_size);
	file->sections[file->nr_sections - 1].sh_size = file->names_size;
	made_align(file);
	ehdr.e_shoff = made_put(file, file->sections, file->nr_sections * sizeof(Elf64_Shdr));
	ehdr.e_shnum = file->nr_sections;
	ehdr.e_shstrndx = file->nr_sections - 1u;
	file->phdrs[0] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = file->size,
		.p_memsz = file->size,
		.p_align = 4096,
	};
	memcpy(file->bytes, &ehdr, sizeof(ehdr));
	memcpy(file->bytes + sizeof(ehdr), file->phdrs, sizeof(file->phdrs));
	if (fd < 0 || write(fd, file->bytes, file->size) != (ssize_t)file->size)
		exit(1);
	free(file->bytes);
	free(file->functions);
	return fd;
}

#endif /* _PGUARD_MADE_FILE_H */
