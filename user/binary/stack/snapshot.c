// SPDX-License-Identifier: GPL-2.0

#include "binary/stack/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <linux/perfguard.h>

#include "base/array.h"
#include "base/time.h"

enum {
	MAX_STACK = 256 * 1024,
};

/* The contents of /proc/PID/task/TID/syscall. */
struct call {
	uint32_t nr;
	uint64_t args[6];
	uint64_t sp;
	uint64_t ip;
};

/* Returns 0, -EAGAIN if the thread is not in a system call, or another errno. */
static int read_call(uint32_t pid, uint32_t tid, struct call *ret)
{
	char path[64], line[256];
	uint64_t *args = ret->args;
	int nr, err = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	if (!fgets(line, sizeof(line), file))
		err = ferror(file) && errno ? -errno : -ESRCH;
	fclose(file);
	if (err)
		return err;
	memset(ret, 0, sizeof(*ret));
	if (sscanf(line, "%d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64 " %" SCNx64 " %" SCNx64, &nr, &args[0], &args[1], &args[2],
		   &args[3], &args[4], &args[5], &ret->sp, &ret->ip) != 9 || nr < 0)
		return -EAGAIN;
	ret->nr = (uint32_t)nr;
	return 0;
}

/* How often the thread was switched away from; unchanged, it did not run. */
static uint64_t read_switches(uint32_t pid, uint32_t tid)
{
	uint64_t sum = 0, count;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &count) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &count) == 1)
			sum += count;
	fclose(file);
	return sum;
}

/* A line of /proc/PID/maps; @path points into the line. */
struct line {
	struct mapping mapping;
	bool executable;
	char *path;
};

static bool parse_line(char *text, struct line *ret)
{
	unsigned int major_nr, minor_nr;
	int path_at = 0;
	char protection[5];

	memset(ret, 0, sizeof(*ret));
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &ret->mapping.start, &ret->mapping.end, protection, &ret->mapping.offset,
		   &major_nr, &minor_nr, &ret->mapping.inode, &path_at) != 7)
		return false;
	text[strcspn(text, "\n")] = '\0';
	ret->executable = protection[2] == 'x';
	/* as the kernel's new_encode_dev() */
	ret->mapping.dev = (minor_nr & 0xff) | major_nr << 8 | (minor_nr & ~0xffu) << 12;
	ret->path = path_at && text[path_at] ? text + path_at : NULL;
	return true;
}

static int add_mapping(struct slice *slice, const struct line *line)
{
	struct mapping *mapping;

	if (array_resize(slice->mappings, slice->nr_mappings + 1UL))
		return -ENOMEM;
	mapping = &slice->mappings[slice->nr_mappings];
	*mapping = line->mapping;
	if (line->path) {
		mapping->path = strdup(line->path);
		if (!mapping->path)
			return -ENOMEM;
	}
	slice->nr_mappings++;
	return 0;
}

/* Read the executable mappings, and the end of the mapping that holds @sp. */
static int read_maps(uint32_t pid, uint64_t sp, struct slice *slice, uint64_t *ret_stack_end)
{
	char path[64], *text = NULL;
	size_t room = 0;
	struct line line;
	FILE *file;
	int err = 0;

	*ret_stack_end = 0;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && getline(&text, &room, file) > 0) {
		if (!parse_line(text, &line))
			continue;
		if (sp >= line.mapping.start && sp < line.mapping.end)
			*ret_stack_end = line.mapping.end;
		if (line.executable)
			err = add_mapping(slice, &line);
	}
	free(text);
	fclose(file);
	return err;
}

static int read_stack(uint32_t pid, uint64_t sp, uint64_t end, struct slice *slice)
{
	uint64_t full = end - sp;
	struct iovec local, remote;
	ssize_t got;

	slice->full_size = full > UINT32_MAX ? UINT32_MAX : (uint32_t)full;
	slice->size = full > MAX_STACK ? MAX_STACK : (uint32_t)full;
	slice->bytes = malloc(slice->size);
	if (!slice->bytes)
		return -ENOMEM;
	local = (struct iovec){ slice->bytes, slice->size };
	remote = (struct iovec){ (void *)(uintptr_t)sp, slice->size };
	got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);
	if (got < 0)
		return -errno;
	slice->size = (uint32_t)got;
	return 0;
}

static bool is_pointed_to(const struct slice *slice, const struct mapping *mapping)
{
	uint64_t word = slice->regs[SLICE_REG_RIP];

	for (uint32_t at = 0; ; at += sizeof(word)) {
		if (word >= mapping->start && word <= mapping->end)
			return true;
		if (at + sizeof(word) > slice->size)
			return false;
		memcpy(&word, slice->bytes + at, sizeof(word));
	}
}

/* Keep, as the module does, only the mappings that this stack can lead to. */
static void drop_mappings(struct slice *slice)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < slice->nr_mappings; i++) {
		struct mapping *mapping = &slice->mappings[i];

		if (is_pointed_to(slice, mapping))
			slice->mappings[kept++] = *mapping;
		else
			free(mapping->path);
	}
	slice->nr_mappings = kept;
}

static int take_snapshot(uint32_t pid, const struct call *call, struct slice *slice)
{
	uint64_t stack_end;
	int err;

	slice->at_ns = time_now_ns();
	slice->state = PERFGUARD_STACK_STATE_BLOCKED;
	slice->regs[SLICE_REG_RSP] = call->sp;
	slice->regs[SLICE_REG_RIP] = call->ip;
	slice->unknown_regs = ((1u << SLICE_NR_REGS) - 1) & ~(1u << SLICE_REG_RSP) &
			      ~(1u << SLICE_REG_RIP);
	err = read_maps(pid, call->sp, slice, &stack_end);
	if (err)
		return err;
	if (!stack_end)
		return -EAGAIN;
	err = read_stack(pid, call->sp, stack_end, slice);
	if (!err)
		drop_mappings(slice);
	return err;
}

/*
 * A call that was interrupted by a stop goes on as another one.  The
 * call that the thread made, and makes the next time, is in the code before it:
 * mov $NUMBER,%eax; syscall.
 */
static uint32_t original_call(uint32_t pid, const struct call *call)
{
	uint8_t code[7];
	struct iovec local = { code, sizeof(code) };
	struct iovec remote = { (void *)(uintptr_t)(call->ip - sizeof(code)), sizeof(code) };
	uint32_t nr;

	if (call->nr != SYS_restart_syscall ||
	    process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) != sizeof(code) ||
	    code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
		return call->nr;
	memcpy(&nr, code + 1, sizeof(nr));
	return nr;
}

int snapshot_thread(uint32_t pid, uint32_t tid, struct slice *ret, uint32_t *ret_syscall)
{
	uint64_t switches = read_switches(pid, tid);
	struct call before, after;
	int err;

	memset(ret, 0, sizeof(*ret));
	err = read_call(pid, tid, &before);
	if (err)
		return err;
	err = take_snapshot(pid, &before, ret);
	if (!err)
		err = read_call(pid, tid, &after);
	if (!err && (memcmp(&before, &after, sizeof(before)) ||
		     read_switches(pid, tid) != switches))
		err = -EAGAIN;
	if (err) {
		slice_clear(ret);
		return err;
	}
	*ret_syscall = original_call(pid, &before);
	if (*ret_syscall == SYS_futex)
		ret->lock = before.args[0];
	return 0;
}

int snapshot_mappings(uint32_t pid, struct slice *slice)
{
	uint64_t stack_end;

	memset(slice, 0, sizeof(*slice));
	return read_maps(pid, 0, slice, &stack_end);
}
