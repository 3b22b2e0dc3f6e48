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
 * An entry keeps its file open, so its inode number is not reused while it is
 * in the cache.
 */

#include "binary/helper/files.h"

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

#include "base/background.h"
#include "base/open-in-root.h"

enum {
	MAX_ENTRIES = 64, /* each has two descriptors and a process */
	RETRY_S = 10,
};

struct file_entry {
	struct file_entry *next;
	struct foreign_file *file; /* NULL: it could not be opened for process @pid */
	struct file_version version;
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

/* Compare the first page of @file with that in the process's memory. */
static enum file_match same_in_memory(uint32_t pid, const struct mapping *mapping,
				  const struct foreign_file *file)
{
	const struct wire_file *about = file->about;
	uint8_t memory[WIRE_HEAD];
	uint64_t bias;

	if (!foreign_file_bias(file, mapping, &bias))
		return NO;
	for (uint32_t i = 0; i < about->nr_segments; i++) {
		const struct wire_segment *segment = &about->segments[i];
		size_t size = segment->size < about->head_size ? segment->size : about->head_size;

		if (segment->offset)
			continue;
		if (!read_process(pid, segment->addr + bias, memory, size))
			return UNKNOWN;
		return memcmp(memory, about->head, size) ? NO : YES;
	}
	return UNKNOWN;
}

static bool is_equal(const struct file_version *a, const struct file_version *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static bool has_failed(const struct files *files, const struct file_version *version)
{
	for (uint32_t i = 0; i < files->nr_failed && i < FILES_MAX_FAILED; i++)
		if (is_equal(&files->failed[i], version))
			return true;
	return false;
}

static void note_failed(struct files *files, const struct file_version *version)
{
	files->failed[files->nr_failed++ % FILES_MAX_FAILED] = *version;
}

/* Read the file @fd, which it takes. */
static struct foreign_file *read_file(struct files *files, int fd, uint32_t pid, const char *path,
				      const struct file_version *version)
{
	struct foreign_file *file;
	int error;

	if (has_failed(files, version)) {
		close(fd);
		return NULL;
	}
	error = foreign_file_create(fd, pid, path, &file);
	if (error == -EIO)
		note_failed(files, version);
	return error ? NULL : file;
}

/* Take @fd if it is the mapped file; @is_same: how it was opened guarantees it. */
static struct foreign_file *take_file(struct files *files, uint32_t pid,
				      const struct mapping *mapping, int fd, bool is_same,
				      struct file_version *ret)
{
	struct foreign_file *file;
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
	*ret = (struct file_version){ st.st_dev, st.st_ino, st.st_size, st.st_ctim };
	file = read_file(files, fd, pid, mapping->path, ret);
	if (!file || (same_inode && (same_dev || is_same)))
		return file;
	match = same_in_memory(pid, mapping, file);
	if (match == YES || (match == UNKNOWN && same_inode))
		return file;
	foreign_file_destroy(file);
	return NULL;
}

static struct foreign_file *open_mapping(struct files *files, uint32_t pid,
					 const struct mapping *mapping, struct file_version *ret)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct foreign_file *file;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	file = take_file(files, pid, mapping, open(path, flags), true, ret);
	if (file || mapping->path[0] != '/')
		return file;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	file = take_file(files, pid, mapping, open_in_root(path, mapping->path, flags), false, ret);
	return file ? file :
		      take_file(files, pid, mapping, open(mapping->path, flags), false, ret);
}

/* The kernel's own shared object; all 64-bit processes have the same one. */
static const uint8_t *vdso_image(size_t *ret_size)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *ehdr = (const void *)image;

	if (image)
		*ret_size = ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;
	return image;
}

static struct foreign_file *open_vdso(const uint8_t *image, size_t size)
{
	struct foreign_file *file;
	int fd;

	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (write(fd, image, size) != (ssize_t)size) {
		close(fd);
		return NULL;
	}
	return foreign_file_create(fd, 0, "[vdso]", &file) ? NULL : file;
}

/*
 * Memory without a file is the vdso or made by the program (a JIT).  Memory of a
 * process that is gone cannot be compared and is not taken for the vdso.
 */
static struct foreign_file *get_vdso(struct files *files, uint32_t pid,
				     const struct mapping *mapping)
{
	enum { MAX_SIZE = 4 * 4096 };
	size_t mapped = mapping->end - mapping->start, size;
	const uint8_t *image = vdso_image(&size);
	uint8_t memory[MAX_SIZE];

	if (!image || mapped > MAX_SIZE || size > mapped ||
	    !read_process(pid, mapping->start, memory, size) || memcmp(memory, image, size))
		return NULL;
	if (!files->vdso)
		files->vdso = open_vdso(image, size);
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
	foreign_file_destroy(entry->file);
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
		    strcmp(entry->path, mapping->path) || (!entry->file && entry->pid != pid))
			continue;
		*at = entry->next;
		entry->next = files->entries;
		files->entries = entry;
		return entry;
	}
	return NULL;
}

/*
 * On an overlay the module and /proc/PID/maps may have other numbers for a file: the same file,
 * found by the other ones before, has @mapping's from now on.
 */
static struct file_entry *find_same(struct files *files, uint32_t pid,
				    const struct mapping *mapping)
{
	struct file_version version;
	struct stat st;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	if (stat(path, &st))
		return NULL;
	version = (struct file_version){ st.st_dev, st.st_ino, st.st_size, st.st_ctim };
	for (struct file_entry *entry = files->entries; entry; entry = entry->next) {
		if (!entry->file || strcmp(entry->path, mapping->path) ||
		    !is_equal(&entry->version, &version))
			continue;
		entry->inode = mapping->inode;
		entry->dev = mapping->dev;
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

struct foreign_file *files_get(struct files *files, uint32_t pid, const struct mapping *mapping)
{
	struct file_entry *entry;

	if (!mapping->path || !strcmp(mapping->path, "[vdso]"))
		return get_vdso(files, pid, mapping);
	entry = find_entry(files, pid, mapping) ?: find_same(files, pid, mapping);
	if (entry && (entry->file || now() - entry->tried < RETRY_S))
		return entry->file;
	if (!entry)
		entry = add_entry(files, pid, mapping);
	if (!entry)
		return NULL;
	entry->tried = now();
	entry->file = open_mapping(files, pid, mapping, &entry->version);
	return entry->file;
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
	for (struct file_entry *entry = files->entries; entry; entry = entry->next) {
		if (!entry->file)
			continue;
		if (entry->file->has_failed) {
			note_failed(files, &entry->version);
			foreign_file_destroy(entry->file);
			entry->file = NULL;
		} else {
			foreign_file_trim(entry->file);
		}
	}
	if (files->nr > MAX_ENTRIES)
		close_rest(files, MAX_ENTRIES);
}

static void enter_background(const struct foreign_file *file)
{
	if (file && file->helper.pid)
		background_take(file->helper.pid);
}

void files_enter_background(const struct files *files)
{
	for (const struct file_entry *entry = files->entries; entry; entry = entry->next)
		enter_background(entry->file);
	enter_background(files->vdso);
}

void files_deinit(struct files *files)
{
	close_rest(files, 0);
	foreign_file_destroy(files->vdso);
	memset(files, 0, sizeof(*files));
}
