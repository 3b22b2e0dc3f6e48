// SPDX-License-Identifier: GPL-2.0

#include "binary/file/debug-file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#define ROOT "/usr/lib/debug"

struct build_id {
	const unsigned char *bytes;
	int size;
};

static bool has_build_id(int fd, const struct build_id *id)
{
	const void *bytes;
	struct stat stat;
	bool is_same;
	Elf *elf;

	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode))
		return false;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return false;
	is_same = dwelf_elf_gnu_build_id(elf, &bytes) == id->size &&
		  !memcmp(bytes, id->bytes, (size_t)id->size);
	elf_end(elf);
	return is_same;
}

/* Takes ownership of @path: it goes to @ret_path, or is freed. */
static int open_if_of(char *path, const struct build_id *id, char **ret_path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;

	if (fd >= 0 && has_build_id(fd, id)) {
		*ret_path = path;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return -1;
}

static __attribute__((format(printf, 1, 2))) char *text(const char *format, ...)
{
	va_list args;
	char *ret;
	int size;

	va_start(args, format);
	size = vasprintf(&ret, format, args);
	va_end(args);
	return size < 0 ? NULL : ret;
}

static int find_by_link(const char *path, const char *link, const struct build_id *id,
			char **ret_path)
{
	const char *slash = strrchr(path, '/');
	int size = slash ? (int)(slash - path) : 0;
	int fd;

	if (!slash || strchr(link, '/'))
		return -1;
	fd = open_if_of(text("%.*s/%s", size, path, link), id, ret_path);
	if (fd < 0)
		fd = open_if_of(text("%.*s/.debug/%s", size, path, link), id, ret_path);
	if (fd < 0)
		fd = open_if_of(text(ROOT "%.*s/%s", size, path, link), id, ret_path);
	return fd;
}

int debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    const char *path, const char *link, GElf_Word crc, char **ret_path)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct build_id id;
	GElf_Addr address;
	int fd;

	if (servers && *servers)
		return dwfl_standard_find_debuginfo(module, userdata, name, base, path, link, crc,
						    ret_path);
	id.size = dwfl_module_build_id(module, &id.bytes, &address);
	if (id.size <= 0)
		return -1;
	fd = dwfl_build_id_find_debuginfo(module, userdata, name, base, path, link, crc, ret_path);
	/* libdwfl opens it without. */
	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (fd >= 0 && !has_build_id(fd, &id)) {
		close(fd);
		free(*ret_path);
		*ret_path = NULL;
		fd = -1;
	}
	if (fd < 0 && path && link)
		fd = find_by_link(path, link, &id, ret_path);
	return fd;
}
