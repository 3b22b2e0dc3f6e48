// SPDX-License-Identifier: GPL-2.0

#include "app/audit/discovery.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/syscall-name.h"
#include "base/time.h"
#include "binary/stack/snapshot.h"
#include "binary/stack/unwind.h"

/*
 * How long a thread has slept that slept before we came is not known.  It is
 * more likely to wait for work than for a lock, so let it be long.
 */
#define SNAPSHOT_BLOCKED_NS NSEC_PER_SEC

/* Stacks unwound in one go; a flood of waits must not stop the audit. */
#define MAX_UNWOUND 256

static struct image *image_find(const struct discovery *discovery, uint32_t id)
{
	for (uint32_t i = 0; i < discovery->nr_images; i++)
		if (discovery->images[i].id == id)
			return &discovery->images[i];
	return NULL;
}

static struct image *image_get(struct discovery *discovery, uint32_t id,
			       uint32_t pid)
{
	struct image *image = image_find(discovery, id);

	if (image)
		return image;
	if (array_resize(discovery->images, discovery->nr_images + 1UL))
		return NULL;
	image = &discovery->images[discovery->nr_images++];
	*image = (struct image){ .id = id, .pid = pid };
	return image;
}

int discovery_ignore(struct discovery *discovery, uint32_t image_id)
{
	struct image *image = image_get(discovery, image_id, 0);

	if (!image)
		return -ENOMEM;
	image->is_ignored = true;
	return 0;
}

static void image_clear(struct image *image)
{
	evidence_deinit(&image->evidence);
	for (uint32_t i = 0; i < image->nr_loops; i++)
		free(image->loops[i].pids);
	free(image->loops);
	free(image->contexts);
	memset(image, 0, sizeof(*image));
}

static bool has_image(const struct process *processes, uint32_t nr, uint32_t id)
{
	for (uint32_t i = 0; i < nr; i++)
		if (processes[i].image_id == id)
			return true;
	return false;
}

void discovery_forget(struct discovery *discovery,
		      const struct process *processes, uint32_t nr)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < discovery->nr_images; i++) {
		struct image *image = &discovery->images[i];

		if (!image->is_ignored && !image->is_gone &&
		    !has_image(processes, nr, image->id)) {
			if (!image->nr_loops) {
				identity_forget(&discovery->identities,
						image->id);
				image_clear(image);
				continue;
			}
			evidence_deinit(&image->evidence);
			image->is_dirty = false;
			image->is_gone = true;
		}
		discovery->images[kept++] = *image;
	}
	discovery->nr_images = kept;
}

/*
 * The module sends the stack with the first waits of a place only; @slice is
 * NULL for the others.  Returns 1 if it had to be unwound, 0 or -ENOMEM.
 */
static int add_wait(struct discovery *discovery, struct image *image,
		    const struct evidence_wait *wait,
		    const struct slice *slice)
{
	struct frame frames[UNWIND_MAX_FRAMES];
	bool is_unwound = false;
	enum unwind_end end;
	int64_t place;
	int nr, ret;

	place = evidence_find(&image->evidence, wait, slice);
	if (place < 0 && !slice)
		return 0;
	if (place < 0) {
		nr = unwind_slice(discovery->unwinder, wait->pid, slice, frames,
				  UNWIND_MAX_FRAMES, &end);
		if (nr < 0)
			return nr;
		is_unwound = true;
		place = evidence_add_place(&image->evidence, wait, frames,
					   (uint32_t)nr, end == UNWIND_COMPLETE);
		if (place < 0)
			return (int)place;
	}
	ret = evidence_add_wait(&image->evidence, (uint32_t)place, wait);
	if (ret < 0)
		return ret;
	image->is_dirty |= ret > 0;
	return is_unwound;
}

static int add_thread(struct discovery *discovery, struct image *image,
		      uint32_t pid, uint32_t tid)
{
	struct evidence_wait wait = {
		.pid = pid,
		.tid = tid,
		.blocked_ns = SNAPSHOT_BLOCKED_NS,
	};
	struct slice slice;
	char comm[16];
	int ret;

	/* A thread that runs or is gone will be heard of, or not matter. */
	if (snapshot_thread(pid, tid, &slice, &wait.syscall))
		return 0;
	ret = 0;
	if (syscall_name(wait.syscall)) {
		identity_comm(pid, tid, comm);
		wait.comm = comm;
		wait.ip = slice.regs[SLICE_REG_RIP];
		wait.sp = slice.regs[SLICE_REG_RSP];
		wait.lock = slice.lock;
		wait.enter_ns = time_now_ns() - SNAPSHOT_BLOCKED_NS;
		ret = add_wait(discovery, image, &wait, &slice);
	}
	slice_clear(&slice);
	return ret < 0 ? ret : 0;
}

int discovery_add_process(struct discovery *discovery,
			  const struct process *process, uint64_t end_ns)
{
	struct image *image;
	struct dirent *entry;
	char path[64];
	int ret = 0;
	DIR *dir;

	image = image_get(discovery, process->image_id, process->pid);
	if (!image)
		return -ENOMEM;
	if (image->is_ignored)
		return 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", process->pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (!ret && (entry = readdir(dir))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		discovery->nr_there += tid != 0;
		if (tid && time_now_ns() < end_ns)
			ret = add_thread(discovery, image, process->pid, tid);
	}
	closedir(dir);
	return ret;
}

struct hearing {
	struct discovery *discovery;
	uint32_t unwound;
};

static int hear_wait(struct record *record, void *arg)
{
	struct hearing *hearing = arg;
	struct discovery *discovery = hearing->discovery;
	struct evidence_wait wait = {
		.pid = record->pid,
		.tid = record->tid,
		.syscall = record->syscall,
		.ip = record->wait_ip,
		.sp = record->wait_sp,
		.lock = record->nr_stacks ? record->stacks[0].lock : 0,
		.blocked_ns = record->voluntary ? record->account.elapsed_ns : 0,
		.enter_ns = record->enter_ns,
		.is_empty = empty_poll_is(record->syscall, record->result),
		.comm = record->comm,
	};
	struct image *image;
	int ret;

	if (record->seq >= discovery->next_wait)
		discovery->next_wait = record->seq + 1;
	if (record->kind == PERFGUARD_RECORD_KIND_LOST) {
		discovery->lost += record->lost;
		return 0;
	}
	if (record->kind != PERFGUARD_RECORD_KIND_WAIT ||
	    record->target_id != discovery->target_id)
		return 0;
	image = image_get(discovery, record->image_id, record->pid);
	if (!image)
		return -ENOMEM;
	if (image->is_ignored || hearing->unwound >= MAX_UNWOUND)
		return 0;
	discovery->waits++;
	if (image->is_gone)
		return 0;
	ret = add_wait(discovery, image, &wait,
		       record->nr_stacks ? record->stacks : NULL);
	if (ret < 0)
		return ret;
	hearing->unwound += (uint32_t)ret;
	return 0;
}

int discovery_hear(struct discovery *discovery)
{
	struct hearing hearing = { .discovery = discovery };

	return link_waits(discovery->link, discovery->next_wait, hear_wait,
			  &hearing);
}

static bool is_same_code(const struct known_loop *a, const struct known_loop *b)
{
	if (a->syscall != b->syscall || !a->wait.module || !b->wait.module ||
	    strcmp(a->wait.module, b->wait.module))
		return false;
	if (a->wait.start && b->wait.start)
		return a->wait.start == b->wait.start;
	return a->wait.offset == b->wait.offset;
}

static bool has_number(const struct image *image, uint32_t number)
{
	for (uint32_t i = 0; i < image->nr_loops; i++)
		if (image->loops[i].number == number)
			return true;
	return false;
}

/* The number of the same loop in another process that runs the same file. */
static uint32_t find_number(struct discovery *discovery,
			    const struct image *image,
			    const struct known_loop *loop, const char *exe)
{
	for (uint32_t i = 0; exe && i < discovery->nr_images; i++) {
		const struct image *other = &discovery->images[i];
		const struct identity *identity;

		if (other == image)
			continue;
		identity = identity_get(&discovery->identities, other->id,
					other->pid);
		if (!identity || !identity->exe || strcmp(identity->exe, exe))
			continue;
		for (uint32_t j = 0; j < other->nr_loops; j++)
			if (other->loops[j].number &&
			    is_same_code(&other->loops[j], loop) &&
			    !has_number(image, other->loops[j].number))
				return other->loops[j].number;
	}
	return 0;
}

/*
 * The frame most useful to an operator: the program's own function, when the
 * wait is identified by one of a library that it called.
 */
static void choose_shown(const struct image *image, struct known_loop *loop,
			 const char *exe)
{
	const struct evidence *evidence = &image->evidence;
	const struct evidence_place *place = &evidence->details[loop->example];
	uint32_t nr = evidence->places[loop->example].nr_frames;
	bool is_inside = true;

	loop->shown = loop->wait;
	/* All is called by the outermost, so it does not identify the wait. */
	for (uint32_t i = 1; exe && i + 1 < nr; i++) {
		const struct frame *frame = &place->frames[i];

		if (frame->pc == loop->wait.pc && frame->sp == loop->wait.sp)
			is_inside = false;
		if (is_inside || !frame->module || strcmp(frame->module, exe))
			continue;
		loop->shown = *frame;
		return;
	}
}

static int number_loops(struct discovery *discovery, struct image *image)
{
	const struct identity *identity;
	struct known_loop *loop;

	for (uint32_t i = 0; i < image->nr_loops; i++) {
		loop = &image->loops[i];
		/* May move when another one is added, so look each time. */
		identity = identity_get(&discovery->identities, image->id,
					image->pid);
		if (!identity)
			return -ENOMEM;
		if (loop->is_used)
			choose_shown(image, loop, identity->exe);
		if (loop->number)
			continue;
		loop->number = find_number(discovery, image, loop,
					   identity->exe);
		if (!loop->number)
			loop->number = ++discovery->nr_numbers;
	}
	/* More was learnt, and two loops turned out to be one. */
	for (uint32_t i = 0; i < image->nr_loops; i++) {
		loop = &image->loops[i];
		if (loop->successor)
			loop->number = image->loops[loop->successor - 1].number;
	}
	return 0;
}

uint32_t discovery_number(const struct discovery *discovery, uint32_t image_id,
			  uint32_t loop_id)
{
	for (uint32_t i = 0; i < discovery->nr_images; i++) {
		const struct image *image = &discovery->images[i];

		if (image->id == image_id && loop_id &&
		    loop_id <= image->nr_loops)
			return image->loops[loop_id - 1].number;
	}
	return 0;
}

int discovery_decide(struct discovery *discovery, bool *ret_is_changed)
{
	*ret_is_changed = false;
	for (uint32_t i = 0; i < discovery->nr_images; i++) {
		struct image *image = &discovery->images[i];
		int ret;

		if (!image->is_dirty && !image->is_owed)
			continue;
		image->is_dirty = false;
		ret = decision_make(image, discovery->named);
		if (ret < 0)
			return ret;
		if (!ret && !image->is_owed)
			continue;
		ret = number_loops(discovery, image);
		if (ret)
			return ret;
		ret = link_loop_set(discovery->link, image->id, image->contexts,
				    image->nr_contexts);
		image->is_owed = ret == -ENOBUFS;
		/* That took a while, and the next one would fare no better. */
		if (image->is_owed)
			return -EAGAIN;
		/* The last process may be gone meanwhile. */
		if (ret && ret != -ENOENT && !discovery->has_warned) {
			discovery->has_warned = true;
			log_warning("the module refuses an event loop: %s",
				    link_error(discovery->link));
		}
		*ret_is_changed |= !ret;
	}
	return 0;
}

/* Returns true if the thread is in the place now, by what /proc reports of sleeping threads. */
static bool is_there(const struct boundary_place *place, uint32_t pid)
{
	unsigned long long sp;
	unsigned int call;
	char path[64];
	bool is_same;
	FILE *file;

	snprintf(path, sizeof(path),
		 "/proc/%" PRIu32 "/task/%" PRIu32 "/syscall", pid, place->tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	is_same = fscanf(file, "%u %*s %*s %*s %*s %*s %*s %llx", &call, &sp) == 2 &&
		  call == place->syscall && sp == place->sp;
	fclose(file);
	return is_same;
}

void discovery_look(struct discovery *discovery)
{
	for (uint32_t i = 0; i < discovery->nr_images; i++) {
		struct image *image = &discovery->images[i];
		const struct evidence *evidence = &image->evidence;

		for (uint32_t j = 0; j < evidence->nr_places; j++) {
			uint32_t id = evidence->details[j].loop_id;
			struct known_loop *loop;

			if (!id)
				continue;
			loop = &image->loops[id - 1];
			if (!loop->is_waiting)
				loop->is_waiting =
					is_there(&evidence->places[j],
						 evidence->details[j].pid);
		}
	}
}

void discovery_count(const struct discovery *discovery, uint32_t *ret_loops,
		     uint32_t *ret_threads)
{
	*ret_loops = 0;
	*ret_threads = 0;
	for (uint32_t i = 0; i < discovery->nr_images; i++) {
		const struct image *image = &discovery->images[i];

		for (uint32_t j = 0; j < image->nr_loops; j++) {
			*ret_loops += image->loops[j].is_used;
			*ret_threads += image->loops[j].threads;
		}
	}
}

bool discovery_is_loop_wait(const struct discovery *discovery, uint32_t image_id,
			    const struct alert_stack *stack)
{
	const struct image *image = image_find(discovery, image_id);

	/* That of another thread, which holds a lock, or of none that waits. */
	if (!image || stack->tid || stack->syscall == SLICE_NO_SYSCALL)
		return false;
	for (uint32_t i = 0; i < image->nr_contexts; i++)
		if (evidence_is_in(stack->syscall, stack->frames, stack->nr_frames,
				   &image->contexts[i]))
			return true;
	return false;
}

bool discovery_lacks_named(const struct discovery *discovery, const char *path, const char *what)
{
	uint32_t loops, threads;

	discovery_count(discovery, &loops, &threads);
	if (!discovery->named->nr || loops)
		return false;
	log_error("%s: no thread of %s waited in %s; an audit without --loop prints where they do", what,
		  path, discovery->named->of[0].text);
	return true;
}

void discovery_deinit(struct discovery *discovery)
{
	for (uint32_t i = 0; i < discovery->nr_images; i++)
		image_clear(&discovery->images[i]);
	free(discovery->images);
	identities_deinit(&discovery->identities);
	memset(discovery, 0, sizeof(*discovery));
}
