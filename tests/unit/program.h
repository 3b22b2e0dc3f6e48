/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tests of code analysis read of a program on their own, past the code
 * that they test: its symbols, by libelf's plain interface.
 */
#ifndef _PGUARD_PROGRAM_H
#define _PGUARD_PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "binary/code/code-map.h"

struct program_symbol {
	uint64_t addr;
	uint64_t size;
	char *name;
};

struct program {
	struct program_symbol *symbols;
	size_t nr;
};

/* Programs and libraries of Debian that a test machine may have. */
static const char *const debian[] = {
	"/usr/bin/redis-server", "/usr/sbin/nginx", "/usr/sbin/apache2", "/usr/bin/memcached",
	"/usr/sbin/mariadbd", "/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
};

enum {
	NR_DEBIAN = sizeof(debian) / sizeof(debian[0]),
};

/* Of this process: other load of the machine does not count. */
static inline double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* The functions in section @type (SHT_SYMTAB or SHT_DYNSYM) of the file at @path. */
static inline struct program read_program(const char *path, uint32_t type)
{
	struct program program = { NULL, 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while ((scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &shdr)) {
		Elf_Data *data = elf_getdata(scn, NULL);
		GElf_Sym sym;

		if (shdr.sh_type != type || !data)
			continue;
		program.symbols = calloc(shdr.sh_size / shdr.sh_entsize + 1,
					 sizeof(*program.symbols));
		for (int i = 0; gelf_getsym(data, i, &sym); i++)
			if (GELF_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF)
				program.symbols[program.nr++] = (struct program_symbol){
					sym.st_value, sym.st_size,
					strdup(elf_strptr(elf, shdr.sh_link, sym.st_name)),
				};
	}
	elf_end(elf);
	close(fd);
	return program;
}

static inline void free_program(struct program *program)
{
	for (size_t i = 0; i < program->nr; i++)
		free(program->symbols[i].name);
	free(program->symbols);
}

static inline const struct program_symbol *find_symbol(const struct program *program,
						       const char *name)
{
	for (size_t i = 0; i < program->nr; i++)
		if (!strcmp(program->symbols[i].name, name))
			return &program->symbols[i];
	return NULL;
}

/* The symbol that starts at @addr. */
static inline const struct program_symbol *symbol_at(const struct program *program, uint64_t addr)
{
	for (size_t i = 0; i < program->nr; i++)
		if (program->symbols[i].addr == addr)
			return &program->symbols[i];
	return NULL;
}

static inline struct code_map *open_code(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct code_map *code = NULL;

	return fd >= 0 && !code_map_open(fd, path, &code) ? code : NULL;
}

/* The file @name in the directory of the test program @self. */
static inline const char *beside(const char *self, const char *name)
{
	static char path[4096];
	const char *slash = strrchr(self, '/');

	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - self + 1) : 0, self, name);
	return path;
}

#endif /* _PGUARD_PROGRAM_H */
