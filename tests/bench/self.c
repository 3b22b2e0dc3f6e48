// SPDX-License-Identifier: GPL-2.0

#include "self.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "link/link.h"

/* Any address above can stand for the loop's frame, if all use the same. */
enum { RISE = 4096 };

static struct link *my_link;
static int exe_fd, epoll_fd, pipe_fd;
static uint32_t profile_id, target_id;

/* Where a system call was made last. */
static struct call {
	uint64_t sp, return_address, distance;
} unit_call, event_call, other_call;

static uint32_t depths[SELF_MAX_DEPTHS], nr_depths;

extern uint64_t self_marked_sp;
uint64_t self_marked_sp;

__asm__(".text\n"
	".globl self_mark\n"
	".type self_mark, @function\n"
	"self_mark:\n\t"
	"mov %rsp, self_marked_sp(%rip)\n\t"
	"ret\n");

uint64_t self_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The only place of the calls. */
static __attribute__((noinline)) void call_here(struct call *call, long number, long fd,
						void *buffer, long size)
{
	uint64_t sp, ret;

	__asm__ volatile("mov %%rsp, %1\n\t"
			 "xor %%r10d, %%r10d\n\t"
			 "syscall"
			 : "=a"(ret), "=&r"(sp)
			 : "a"(number), "D"(fd), "S"(buffer), "d"(size)
			 : "rcx", "r10", "r11", "memory");
	call->sp = sp;
	call->return_address = (uint64_t)__builtin_return_address(0);
	call->distance = (uint64_t)__builtin_dwarf_cfa() - 8 - sp;
}

__attribute__((noinline)) void self_unit(void)
{
	struct epoll_event event;

	call_here(&unit_call, SYS_epoll_wait, epoll_fd, &event, 1);
	__asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

__attribute__((noinline)) void self_event(void)
{
	char byte;

	call_here(&event_call, SYS_read, pipe_fd, &byte, 0);
	__asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

/* As self_event(), so that its place is the same. */
__attribute__((noinline)) void self_alike(void)
{
	char byte;

	call_here(&other_call, SYS_read, pipe_fd, &byte, 0);
	__asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

__attribute__((noinline)) void self_other(void)
{
	char bytes[64];

	call_here(&other_call, SYS_read, pipe_fd, bytes, 0);
	__asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

void self_note_depth(void)
{
	uint64_t depth = unit_call.sp + RISE - self_marked_sp;

	if (!depth || depth > INT32_MAX)
		errx(1, "a depth of %" PRId64, (int64_t)depth);
	for (uint32_t i = 0; i < nr_depths; i++)
		if (depths[i] == depth)
			return;
	if (nr_depths == SELF_MAX_DEPTHS)
		errx(1, "too many depths");
	depths[nr_depths++] = (uint32_t)depth;
}

uint32_t self_nr_depths(void)
{
	return nr_depths;
}

static uint64_t offset_of(uint64_t address)
{
	uint64_t start, end, offset;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64, &start, &end,
			   &offset) == 3 && start <= address && address < end) {
			fclose(maps);
			return address - start + offset;
		}
	}
	errx(1, "%#" PRIx64 " is not in this program", address);
}

uint64_t self_offset(void (*function)(void))
{
	return offset_of((uint64_t)(uintptr_t)function);
}

void self_init(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fds[2];

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (epoll_fd < 0 || exe_fd < 0 || pipe(fds) || write(fds[1], "x", 1) != 1 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[0], &event))
		err(1, "setup");
	if (link_open(&my_link))
		errx(1, "link: %s", link_error(my_link));
	pipe_fd = fds[0];
	self_unit(); /* where the calls are */
	self_event();
}

static void check(int error, const char *what)
{
	if (error)
		errx(1, "%s: %s", what, link_error(my_link));
}

static struct perfguard_boundary boundary_of(const struct call *call, uint32_t role, long number)
{
	return (struct perfguard_boundary){
		.return_offset = offset_of(call->return_address),
		.role = role,
		.syscall = (uint32_t)number,
		.distance = (uint32_t)call->distance,
		.rise = RISE,
	};
}

static void add_boundaries(const struct self_profile *profile)
{
	const struct perfguard_loop course = {
		.id = 1,
		.flags = profile->has_empty ? PERFGUARD_LOOP_FLAGS_HAS_EMPTY : 0,
	};
	struct perfguard_boundary boundaries[3];
	uint32_t nr = 0;

	boundaries[nr++] = boundary_of(&unit_call, PERFGUARD_BOUNDARY_ROLE_WAIT, SYS_epoll_wait);
	if (profile->has_events)
		boundaries[nr++] = boundary_of(&event_call, PERFGUARD_BOUNDARY_ROLE_EVENT_CALL,
					       SYS_read);
	if (profile->has_site)
		boundaries[nr++] = (struct perfguard_boundary){
			.role = PERFGUARD_BOUNDARY_ROLE_EVENT_SITE,
		};
	check(link_profile_add(my_link, profile_id, LOOPS, &course, 1), "courses");
	check(link_profile_add(my_link, profile_id, BOUNDARIES, boundaries, nr), "boundaries");
}

static void *need(size_t nr, size_t size)
{
	void *memory = calloc(nr ? nr : 1, size);

	if (!memory)
		err(1, "memory");
	return memory;
}

static void add_guards(const struct self_profile *profile)
{
	struct perfguard_guard *guards = need(profile->nr_guards, sizeof(*guards));
	/* One look at the mappings is enough. */
	uint64_t start = self_offset(self_mark) - (uint64_t)(uintptr_t)self_mark;

	for (uint32_t i = 0; i < profile->nr_guards; i++) {
		const struct self_guard *guard = &profile->guards[i];

		guards[i].offset = start + (uint64_t)(uintptr_t)guard->function + guard->at;
		guards[i].sp_delta = guard->sp_delta;
		guards[i].plan = profile->sheds_last && i + 1 == profile->nr_guards;
	}
	if (profile->nr_guards)
		check(link_profile_add(my_link, profile_id, GUARDS, guards, profile->nr_guards),
		      "guards");
	free(guards);
}

static void add_types(const struct self_profile *profile)
{
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		struct perfguard_type type = {
			.threshold_ns = profile->threshold_ns,
			.id = i + 1,
			.least_final = profile->least_final,
		};

		check(link_profile_add(my_link, profile_id, TYPES, &type, 1), "types");
	}
}

/* Each guard that has candidates, at each depth; the first types are the candidates. */
static void add_contexts(const struct self_profile *profile)
{
	uint32_t nr = 0, nr_weights = 0, max_weights = 0;
	struct perfguard_calling_context *contexts;
	struct perfguard_weight *weights;

	for (uint32_t i = 0; i < profile->nr_guards; i++)
		max_weights += profile->guards[i].candidates * nr_depths;
	contexts = need((size_t)profile->nr_guards * nr_depths, sizeof(*contexts));
	weights = need(max_weights, sizeof(*weights));
	for (uint32_t i = 0; i < profile->nr_guards; i++) {
		uint32_t candidates = profile->guards[i].candidates;

		for (uint32_t j = 0; j < nr_depths && candidates; j++) {
			contexts[nr++] = (struct perfguard_calling_context){
				.guard = i, .depth = depths[j], .nr_weights = candidates,
			};
			for (uint16_t k = 0; k < candidates; k++)
				weights[nr_weights++] = (struct perfguard_weight){ k, 1, 1 };
		}
	}
	check(link_profile_add(my_link, profile_id, CONTEXTS, contexts, nr), "contexts");
	check(link_profile_add(my_link, profile_id, WEIGHTS, weights, nr_weights), "weights");
	free(contexts);
	free(weights);
}

void self_load(const struct self_profile *profile)
{
	check(link_profile_new(my_link, "self", 1, profile->flags, &profile_id), "profile");
	check(link_profile_add_object(my_link, profile_id, exe_fd), "object");
	add_guards(profile);
	add_boundaries(profile);
	add_types(profile);
	add_contexts(profile);
}

void self_arm_loaded(const struct self_profile *profile)
{
	uint32_t processes = 0;

	check(link_profile_arm(my_link, profile_id, NULL, NULL, &target_id, &processes), "arm");
	if (processes != 1)
		errx(1, "%" PRIu32 " processes", processes);
	check(link_target_set_flags(my_link, target_id, profile->target_flags), "flags");
}

void self_arm(const struct self_profile *profile)
{
	self_load(profile);
	self_arm_loaded(profile);
}

void self_disarm(void)
{
	check(link_target_del(my_link, target_id), "disarm");
}

struct self_counts self_counts(void)
{
	struct self_counts counts = { 0 };
	struct armed_profile *profiles;
	struct armed_guard *guards;
	struct armed_type *types;
	uint32_t nr;

	check(link_profiles(my_link, &profiles, &nr), "profiles");
	for (uint32_t i = 0; i < nr; i++) {
		if (profiles[i].id != profile_id)
			continue;
		counts.units = profiles[i].units;
		counts.novel = profiles[i].novel;
		counts.stray_hits = profiles[i].stray_hits;
		counts.unknown_hits = profiles[i].unknown_hits;
	}
	link_profiles_free(profiles, nr);
	check(link_guards(my_link, profile_id, &guards, &nr), "guards");
	for (uint32_t i = 0; i < nr; i++) {
		counts.hits += guards[i].hits;
		counts.stepped += guards[i].stepped;
		counts.shed += guards[i].state == PERFGUARD_GUARD_STATE_SHED;
	}
	free(guards);
	check(link_types(my_link, profile_id, &types, &nr), "types");
	for (uint32_t i = 0; i < nr; i++)
		counts.late += types[i].late;
	free(types);
	return counts;
}

void self_bare_on(const char *bare_ko, void (*function)(void))
{
	char command[512], exe[256] = "";

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		err(1, "/proc/self/exe");
	snprintf(command, sizeof(command), "insmod %s path=%s offset=%" PRIu64, bare_ko, exe,
		 self_offset(function));
	if (system(command))
		errx(1, "%s failed", command);
}

void self_bare_off(void)
{
	if (system("rmmod bare"))
		errx(1, "rmmod bare failed");
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t self_middle(uint64_t *figures, uint32_t nr)
{
	qsort(figures, nr, sizeof(figures[0]), compare);
	return figures[nr / 2];
}

void self_tell(const char *name, double figure)
{
	printf("%s %.1f\n", name, figure);
	fflush(stdout);
}
