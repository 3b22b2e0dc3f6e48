// SPDX-License-Identifier: GPL-2.0
/*
 * The file at a path has to be the one that the process has mapped.  Another one makes
 * wrong names, so in doubt there are none.
 *
 *  - /proc/PID/map_files is the mapped file itself, deleted or not, in whatever
 *    mount namespace.  It is tried first, and needs the process to live.
 *  - Else the path is opened, below /proc/PID/root and as it is.  Same inode
 *    number and device: the same file, as an inode in use is not reused.
 *  - Overlay and network file systems show another device, sometimes another
 *    inode number, in stat than the kernel knows for the mapping.  Then the
 *    first page of the file is compared with the process's memory; it holds
 *    the ELF header, the program headers and as a rule the build-id.
 *  - Where the process is gone, its memory cannot be compared: an equal inode
 *    number is accepted (it may have been reused since), another one refused.
 *
 * An object keeps its file open, so its inode number is not reused while it is
 * in the cache.
 */

#include "binary/file/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/open-in-root.h"

enum {
	MAX_ENTRIES = 192, /* each has one or two open files */
	RETRY_S = 10,
	FIRST_PAGE = 4096,
};

struct file_entry {
	struct file_entry *next;
	struct object *object; /* NULL: it could not be opened for process @pid */
	char *path;
	uint64_t inode;
	uint32_t dev;
	uint32_t pid;
	time_t tried;
};

/* As the kernel's new_encode_dev(). */
static uint32_t encode_dev(dev_t dev)
{
	return (minor(dev) & 0xff) | major(dev) << 8 | (minor(dev) & ~0xffu) << 12;
}

static bool read_process(uint32_t pid, uint64_t addr, void *ret, size_t size)
{
	struct iovec local = { ret, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };

	return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

enum file_match { NO, YES, UNKNOWN };

/* Compare the first page of @object's file with that in the process's memory. */
static enum file_match same_in_memory(uint32_t pid, const struct mapping *mapping,
				  const struct object *object)
{
	uint8_t memory[FIRST_PAGE];
	uint64_t bias;

	if (!object_bias(object, mapping, &bias))
		return NO;
	for (uint32_t i = 0; i < object->view.nr_segments; i++) {
		const struct segment *segment = &object->view.segments[i];
		size_t size = segment->size < FIRST_PAGE ? segment->size : FIRST_PAGE;

		if (segment->offset)
			continue;
		if (!read_process(pid, segment->addr + bias, memory, size))
			return UNKNOWN;
		return memcmp(memory, object->view.bytes, size) ? NO : YES;
	}
	return UNKNOWN;
}

/* Take @fd if it is the mapped file; @is_same: how it was opened guarantees it. */
static struct object *take_file(uint32_t pid, const struct mapping *mapping, int fd, bool is_same)
{
	struct object *object = NULL;
	bool same_inode, same_dev;
	enum file_match match;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return NULL;
	}
	same_inode = st.st_ino == mapping->inode;
	same_dev = encode_dev(st.st_dev) == mapping->dev;
	if (object_create(fd, mapping->path, &object))
		return NULL;
	if (same_inode && (same_dev || is_same))
		return object;
	match = same_in_memory(pid, mapping, object);
	if (match == YES || (match == UNKNOWN && same_inode))
		return object;
	object_destroy(object);
	return NULL;
}

static struct object *open_mapping(uint32_t pid, const struct mapping *mapping)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct object *object;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	object = take_file(pid, mapping, open(path, flags), true);
	if (object || mapping->path[0] != '/')
		return object;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	object = take_file(pid, mapping, open_in_root(path, mapping->path, flags), false);
	return object ? object : take_file(pid, mapping, open(mapping->path, flags), false);
}

/* The kernel's own shared object; all 64-bit processes have the same one. */
static struct object *open_vdso(void)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *ehdr = (const void *)image;
	struct object *object;
	size_t size;
	int fd;

	if (!image)
		return NULL;
	size = ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (write(fd, image, size) != (ssize_t)size) {
		close(fd);
		return NULL;
	}
	return object_create(fd, "[vdso]", &object) ? NULL : object;
}

/*
 * Memory without a file is the vdso or made by the program (a JIT).  Memory of a
 * process that is gone cannot be compared and is not taken for the vdso.
 */
static struct object *get_vdso(struct files *files, uint32_t pid, const struct mapping *mapping)
{
	enum { MAX_SIZE = 4 * FIRST_PAGE };
	size_t mapped = mapping->end - mapping->start;
	uint8_t memory[MAX_SIZE];
	size_t size;

	if (mapped > MAX_SIZE)
		return NULL;
	if (!files->vdso)
		files->vdso = open_vdso();
	if (!files->vdso)
		return NULL;
	size = files->vdso->view.size;
	if (size > mapped || !read_process(pid, mapping->start, memory, size) ||
	    memcmp(memory, files->vdso->view.bytes, size))
		return NULL;
	return files->vdso;
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec;
}

static void entry_free(struct file_entry *entry)
{
	object_destroy(entry->object);
	free(entry->path);
	free(entry);
}

/* Find the entry and make it the first. */
static struct file_entry *find_entry(struct files *files, uint32_t pid,
				     const struct mapping *mapping)
{
	for (struct file_entry **at = &files->entries; *at; at = &(*at)->next) {
		struct file_entry *entry = *at;

		if (entry->inode != mapping->inode || entry->dev != mapping->dev ||
		    strcmp(entry->path, mapping->path) || (!entry->object && entry->pid != pid))
			continue;
		*at = entry->next;
		entry->next = files->entries;
		files->entries = entry;
		return entry;
	}
	return NULL;
}

static struct file_entry *add_entry(struct files *files, uint32_t pid,
				    const struct mapping *mapping)
{
	struct file_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->path = strdup(mapping->path);
	if (!entry->path) {
		free(entry);
		return NULL;
	}
	entry->inode = mapping->inode;
	entry->dev = mapping->dev;
	entry->pid = pid;
	entry->next = files->entries;
	files->entries = entry;
	files->nr++;
	return entry;
}

struct object *files_get(struct files *files, uint32_t pid, const struct mapping *mapping)
{
	struct file_entry *entry;

	if (!mapping->path || !strcmp(mapping->path, "[vdso]"))
		return get_vdso(files, pid, mapping);
	entry = find_entry(files, pid, mapping);
	if (entry && (entry->object || now() - entry->tried < RETRY_S))
		return entry->object;
	if (!entry)
		entry = add_entry(files, pid, mapping);
	if (!entry)
		return NULL;
	entry->tried = now();
	entry->object = open_mapping(pid, mapping);
	return entry->object;
}

/* Close all but the @nr last used. */
static void close_rest(struct files *files, uint32_t nr)
{
	struct file_entry **at = &files->entries;

	for (files->nr = 0; *at && files->nr < nr; files->nr++)
		at = &(*at)->next;
	while (*at) {
		struct file_entry *entry = *at;

		*at = entry->next;
		entry_free(entry);
	}
}

void files_trim(struct files *files)
{
	if (files->nr > MAX_ENTRIES)
		close_rest(files, MAX_ENTRIES);
}

void files_deinit(struct files *files)
{
	close_rest(files, 0);
	object_destroy(files->vdso);
	memset(files, 0, sizeof(*files));
}
