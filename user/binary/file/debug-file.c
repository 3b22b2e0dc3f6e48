// SPDX-License-Identifier: GPL-2.0

#include "binary/file/debug-file.h"

#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "base/open-in-root.h"
#include "binary/file/debug-server.h"

#define DIRECTORY "/usr/lib/debug"

enum {
	PATH_BYTES = 4096,
	ROOT_BYTES = 32,
	NR_PLACES = 4, /* in a root */
};

static debug_file_opener *opener = debug_file_open;

void debug_file_set_opener(debug_file_opener *new_opener)
{
	opener = new_opener;
}

/* In @root, "" for our own. */
static int open_regular(const char *root, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int fd = root[0] ? open_in_root(root, path, flags) : open(path, flags);
	struct stat stat;

	if (fd >= 0 && !fstat(fd, &stat) && S_ISREG(stat.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return -ENOENT;
}

static int open_by_id(const char *root, const struct debug_file_wanted *wanted)
{
	char path[PATH_BYTES];
	int at = snprintf(path, sizeof(path), DIRECTORY "/.build-id/%02x/", wanted->id[0]);

	for (uint32_t i = 1; i < wanted->id_size; i++)
		at += sprintf(path + at, "%02x", wanted->id[i]);
	strcpy(path + at, ".debug");
	return open_regular(root, path);
}

/* Below @directory: where the program is there, or in @subdirectory of that. */
static int open_by_link(const char *root, const char *directory, const char *program,
			const char *subdirectory, const char *link)
{
	const char *slash = strrchr(program, '/');
	char path[PATH_BYTES];
	int size;

	if (!slash || !link[0] || strchr(link, '/'))
		return -ENOENT;
	size = snprintf(path, sizeof(path), "%s%.*s/%s%s", directory, (int)(slash - program),
			program, subdirectory, link);
	return size < (int)sizeof(path) ? open_regular(root, path) : -ENOENT;
}

static int open_place(const char *root, const char *program,
		      const struct debug_file_wanted *wanted, unsigned int nr)
{
	switch (nr) {
	case 0:
		return open_by_id(root, wanted);
	case 1:
		return open_by_link(root, "", program, "", wanted->link);
	case 2:
		return open_by_link(root, "", program, ".debug/", wanted->link);
	default:
		return open_by_link(root, DIRECTORY, program, "", wanted->link);
	}
}

/* Split "/proc/PID/root/usr/bin/true"; without that the root is "".  Return: the path in it. */
static const char *split_root(const char *path, char root[ROOT_BYTES])
{
	unsigned int pid;
	int len = 0;

	root[0] = '\0';
	if (sscanf(path, "/proc/%u/root%n", &pid, &len) != 1 || path[len] != '/' || !len)
		return path;
	snprintf(root, ROOT_BYTES, "%.*s", len, path);
	return path + len;
}

int debug_file_open(const char *path, const struct debug_file_wanted *wanted, unsigned int nr)
{
	char root[ROOT_BYTES];
	const char *program = split_root(path, root);

	if (root[0] && nr < NR_PLACES)
		return open_place(root, program, wanted, nr);
	if (root[0])
		nr -= NR_PLACES;
	if (nr < NR_PLACES)
		return open_place("", program, wanted, nr);
	return nr == NR_PLACES ? debug_server_open(wanted->id, wanted->id_size) : -ERANGE;
}

static bool has_build_id(int fd, const struct debug_file_wanted *wanted)
{
	const void *bytes;
	bool is_same;
	Elf *elf;

	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return false;
	is_same = dwelf_elf_gnu_build_id(elf, &bytes) == (ssize_t)wanted->id_size &&
		  !memcmp(bytes, wanted->id, wanted->id_size);
	elf_end(elf);
	return is_same;
}

int debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    const char *path, const char *link, GElf_Word crc, char **ret_path)
{
	struct debug_file_wanted wanted = { .id_size = 0 };
	const unsigned char *id;
	GElf_Addr address;
	int size = dwfl_module_build_id(module, &id, &address), fd;

	(void)userdata, (void)name, (void)base, (void)crc, (void)ret_path;
	if (size <= 0 || (size_t)size > sizeof(wanted.id))
		return -1;
	memcpy(wanted.id, id, (size_t)size);
	wanted.id_size = (uint32_t)size;
	if (link && strnlen(link, sizeof(wanted.link)) < sizeof(wanted.link))
		strcpy(wanted.link, link);
	for (unsigned int nr = 0; (fd = opener(path ? path : "", &wanted, nr)) != -ERANGE; nr++) {
		if (fd >= 0 && has_build_id(fd, &wanted))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}
