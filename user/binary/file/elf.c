// SPDX-License-Identifier: GPL-2.0

#include "binary/file/elf.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Why a program of another machine is refused. */
static const struct {
	uint16_t machine;
	const char *why;
} others[] = {
	{ EM_386, "a 32-bit x86 program; only x86-64 programs can be guarded" },
	{ EM_AARCH64, "an arm64 program; only x86-64 programs can be guarded" },
	{ EM_ARM, "a 32-bit Arm program; only x86-64 programs can be guarded" },
	{ EM_RISCV, "a RISC-V program; only x86-64 programs can be guarded" },
	{ EM_PPC64, "a PowerPC program; only x86-64 programs can be guarded" },
	{ EM_S390, "an s390 program; only x86-64 programs can be guarded" },
	{ EM_MIPS, "a MIPS program; only x86-64 programs can be guarded" },
};

static const char *machine_refusal(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].machine == machine)
			return others[i].why;
	return "a program of another architecture; only x86-64 programs can be guarded";
}

/* Every byte that would be loaded must be in the file. */
static bool is_truncated(Elf *elf, uint64_t file_size)
{
	size_t nr;

	if (elf_getphdrnum(elf, &nr) || !nr)
		return true;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			return true;
		if (phdr.p_type != PT_LOAD)
			continue;
		if (phdr.p_offset > file_size || phdr.p_filesz > file_size - phdr.p_offset)
			return true;
	}
	return false;
}

static const char *header_refusal(const unsigned char *head, ssize_t size)
{
	if (size >= 2 && head[0] == '#' && head[1] == '!')
		return "a script; guard the interpreter that runs it";
	if (size < SELFMAG || memcmp(head, ELFMAG, SELFMAG))
		return "not a program (no ELF header)";
	if (size < EI_NIDENT)
		return "truncated";
	if (head[EI_DATA] != ELFDATA2LSB)
		return "a big-endian program; only x86-64 programs can be guarded";
	return NULL;
}

static const char *elf_refusal(Elf *elf, uint64_t file_size, GElf_Ehdr *ehdr)
{
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, ehdr))
		return "truncated or damaged (its ELF header cannot be read)";
	if (ehdr->e_machine != EM_X86_64)
		return machine_refusal(ehdr->e_machine);
	if (gelf_getclass(elf) != ELFCLASS64)
		return "an x32 program; only 64-bit programs can be guarded";
	if (ehdr->e_type == ET_REL)
		return "an object file, not a linked program";
	if (ehdr->e_type == ET_CORE)
		return "a core dump, not a program";
	if (ehdr->e_type != ET_EXEC && ehdr->e_type != ET_DYN)
		return "not a program (unknown ELF type)";
	if (is_truncated(elf, file_size))
		return "truncated (segments reach beyond its end)";
	return NULL;
}

/* As lower-case hex, "" without one. */
static void read_build_id(Elf *elf, char ret[ELF_BUILD_ID_MAX])
{
	const void *bits;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &bits);

	if (size < 0 || size > (ELF_BUILD_ID_MAX - 1) / 2)
		size = 0;
	for (ssize_t i = 0; i < size; i++)
		sprintf(ret + 2 * i, "%02x", ((const unsigned char *)bits)[i]);
	ret[2 * size] = '\0';
}

int elf_identify(int fd, struct elf_identity *ret, const char **why)
{
	unsigned char head[EI_NIDENT];
	GElf_Ehdr ehdr;
	struct stat st;
	ssize_t size;
	Elf *elf;

	*why = NULL;
	memset(ret, 0, sizeof(*ret));
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		*why = S_ISDIR(st.st_mode) ? "a directory" : "not a regular file";
		return -ENOEXEC;
	}
	size = pread(fd, head, sizeof(head), 0);
	if (size < 0)
		return -errno;
	*why = header_refusal(head, size);
	if (*why)
		return -ENOEXEC;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL); /* not mapped: the file may shrink */
	*why = elf_refusal(elf, (uint64_t)st.st_size, &ehdr);
	if (!*why) {
		ret->entry = ehdr.e_entry;
		read_build_id(elf, ret->build_id);
	}
	elf_end(elf);
	return *why ? -ENOEXEC : 0;
}
