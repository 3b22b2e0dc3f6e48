// SPDX-License-Identifier: GPL-2.0

#include "app/audit/generated-code.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "base/array.h"
#include "base/duration.h"
#include "binary/stack/snapshot.h"
#include "link/link.h"

enum {
	MAX_THREADS = 64,
	PERIOD_NS = 10 * NSEC_PER_MSEC, /* of a thread's CPU time */
	MAX_FRAMES = 32,
	/* Some 900 samples; later ones find no room. */
	RING_PAGES = 64,
	ENOUGH = 50,
};

/* A sample, as sample_type below has it. */
struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint64_t nr;
	uint64_t ips[];
};

static size_t ring_size(void)
{
	return (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns false if the thread cannot be sampled: it is gone, or the kernel does not do it. */
static bool thread_open(struct generated_code_thread *thread)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack = MAX_FRAMES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
	};

	thread->fd = (int)syscall(SYS_perf_event_open, &attr, (pid_t)thread->tid, -1, -1,
				  PERF_FLAG_FD_CLOEXEC);
	if (thread->fd < 0)
		return false;
	thread->ring = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, thread->fd, 0);
	if (thread->ring != MAP_FAILED)
		return true;
	close(thread->fd);
	return false;
}

static bool is_followed(const struct generated_code *code, uint32_t tid)
{
	for (uint32_t i = 0; i < code->nr; i++)
		if (code->threads[i].tid == tid)
			return true;
	return false;
}

static int follow_thread(struct generated_code *code, uint32_t pid, uint32_t tid)
{
	struct generated_code_thread thread = { .pid = pid, .tid = tid };

	if (!tid || is_followed(code, tid))
		return 0;
	if (array_grow(code->threads, code->nr, code->max))
		return -ENOMEM;
	if (thread_open(&thread))
		code->threads[code->nr++] = thread;
	return 0;
}

static int follow_process(struct generated_code *code, uint32_t pid)
{
	struct dirent *entry;
	char path[64];
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && !ret && code->nr < MAX_THREADS && (entry = readdir(dir)))
		ret = follow_thread(code, pid, (uint32_t)strtoul(entry->d_name, NULL, 10));
	if (dir)
		closedir(dir);
	return ret;
}

int generated_code_follow(struct generated_code *code, const struct process *processes,
			  uint32_t nr)
{
	int ret = 0;

	for (uint32_t i = 0; i < nr && !ret && code->nr < MAX_THREADS; i++)
		ret = follow_process(code, processes[i].pid);
	return ret;
}

/* Executable memory that holds no file's code. */
static bool is_generated(const struct slice *slice, uint64_t address)
{
	const struct mapping *mapping = slice_mapping(slice, address);

	return mapping && !mapping->path;
}

static bool is_called_by_generated(const struct sample *sample, const struct slice *slice)
{
	bool is_caller = false;

	for (uint64_t i = 0; i < sample->nr; i++) {
		/* Marks of what follows are among the highest addresses. */
		if (sample->ips[i] >= PERF_CONTEXT_MAX)
			continue;
		if (is_caller && is_generated(slice, sample->ips[i]))
			return true;
		is_caller = true;
	}
	return false;
}

/* The sample at @at of @left bytes of a ring; NULL if what is there is something else. */
static const struct sample *sample_at(const uint8_t *at, uint64_t left)
{
	const struct sample *sample = (const void *)at;

	if (sample->header.type != PERF_RECORD_SAMPLE || sample->header.size < sizeof(*sample) ||
	    sample->header.size > left ||
	    sample->nr > (sample->header.size - sizeof(*sample)) / sizeof(uint64_t))
		return NULL;
	return sample;
}

/* Nothing was ever taken out of it, so it begins at its begin, and stops when it is full. */
static void count_samples(const struct generated_code_thread *thread, const struct slice *slice,
			  uint64_t *nr, uint64_t *called)
{
	const struct perf_event_mmap_page *ring = thread->ring;
	uint64_t end = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), pos = 0;
	const uint8_t *data = (const uint8_t *)ring + ring->data_offset;
	const struct perf_event_header *header;
	const struct sample *sample;

	for (; end - pos >= sizeof(*header); pos += header->size) {
		header = (const void *)(data + pos);
		if (header->size < sizeof(*header) || header->size > end - pos)
			return;
		sample = sample_at(data + pos, end - pos);
		*nr += sample != NULL;
		*called += sample && is_called_by_generated(sample, slice);
	}
}

double generated_code_share(const struct generated_code *code)
{
	uint64_t nr = 0, called = 0;
	struct slice slice = { 0 };

	for (uint32_t i = 0; i < code->nr; i++) {
		/* The threads of a process come one after the other. */
		if (!i || code->threads[i].pid != code->threads[i - 1].pid) {
			slice_clear(&slice);
			if (snapshot_mappings(code->threads[i].pid, &slice))
				continue;
		}
		count_samples(&code->threads[i], &slice, &nr, &called);
	}
	slice_clear(&slice);
	return nr < ENOUGH ? 0 : (double)called / (double)nr;
}

void generated_code_deinit(struct generated_code *code)
{
	for (uint32_t i = 0; i < code->nr; i++) {
		munmap(code->threads[i].ring, ring_size());
		close(code->threads[i].fd);
	}
	free(code->threads);
	*code = (struct generated_code){ 0 };
}
