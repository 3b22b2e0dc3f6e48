// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of sleeping threads, unwound: a program whose stacks are known,
 * Debian's own stripped servers, and stack copies that were tampered with.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "binary/stack/snapshot.h"
#include "binary/stack/unwind.h"
#include "tap.h"

enum {
	MAX_TRUTH = 1000,
	NR_MUTATIONS = 20000,
};

static struct unwinder *unwinder;
static struct frame frames[UNWIND_MAX_FRAMES];
static enum unwind_end end;
static int nr_frames;
static struct slice slice;
static uint32_t syscall_nr;
static char *directory; /* for files of the servers, removed at the end */

struct truth {
	uint64_t addresses[MAX_TRUTH];
	char names[MAX_TRUTH][32];
	int nr;
	pid_t pid;
	pid_t tid;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void sleep_ms(unsigned int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

static pid_t start(const char *const *arguments, int *ret_output)
{
	int fds[2] = { -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid;

	if (ret_output && pipe2(fds, O_CLOEXEC))
		exit(1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 0);
		dup2(ret_output ? fds[1] : null, 1);
		dup2(null, 2);
		execvp(arguments[0], (char *const *)arguments);
		_exit(127);
	}
	close(null);
	if (ret_output) {
		close(fds[1]);
		*ret_output = fds[0];
	}
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Try until the thread sleeps in a system call, at most 5 seconds. */
static int take_slice(pid_t pid, pid_t tid)
{
	int err = -EAGAIN;

	slice_clear(&slice);
	for (int tries = 0; err == -EAGAIN && tries < 500; tries++) {
		err = snapshot_thread((uint32_t)pid, (uint32_t)tid, &slice, &syscall_nr);
		if (err == -EAGAIN)
			sleep_ms(10);
	}
	return err;
}

static void unwind(pid_t pid)
{
	nr_frames = unwind_slice(unwinder, (uint32_t)pid, &slice, frames, UNWIND_MAX_FRAMES, &end);
}

static void show(void)
{
	diag("%d frames, %s", nr_frames, unwind_end_name(end));
	for (int i = 0; i < nr_frames; i++)
		diag("%3d %#lx %s+%#lx %s+%#lx%s", i, (long)frames[i].pc, frames[i].module,
		     (long)frames[i].offset, frames[i].function, (long)frames[i].function_offset,
		     frames[i].guessed ? " guessed" : "");
}

/* The word below each frame's stack pointer is the frame's pc. */
static bool slots_hold(void)
{
	for (int i = 1; i < nr_frames; i++) {
		uint64_t at = frames[i].sp - 8 - slice.regs[SLICE_REG_RSP], word;

		if (at > slice.size - 8u)
			return false;
		memcpy(&word, slice.bytes + at, sizeof(word));
		if (word != frames[i].pc)
			return false;
	}
	return true;
}

static int nr_guessed(void)
{
	int nr = 0;

	for (int i = 0; i < nr_frames; i++)
		nr += frames[i].guessed;
	return nr;
}

static bool has_name(const struct frame *frame, const char *name)
{
	return frame->function && !strcmp(frame->function, name);
}

static bool has_function(const char *name)
{
	for (int i = 0; i < nr_frames; i++)
		if (has_name(&frames[i], name))
			return true;
	return false;
}

static void start_by(const char *const *arguments, struct truth *ret)
{
	unsigned long address;
	char line[128];
	FILE *output;
	int fd;

	memset(ret, 0, sizeof(*ret));
	ret->pid = start(arguments, &fd);
	output = fdopen(fd, "r");
	while (output && fgets(line, sizeof(line), output)) {
		if (sscanf(line, "ready %d", &ret->tid) == 1)
			break;
		if (sscanf(line, "%lx %31s", &address, ret->names[ret->nr]) == 2)
			ret->addresses[ret->nr++] = address;
	}
	if (output)
		fclose(output);
}

static void start_victim(const char *path, const char *mode, bool in_thread, struct truth *ret)
{
	const char *arguments[] = { path, mode, in_thread ? "thread" : NULL, NULL };

	start_by(arguments, ret);
}

/* True if the known addresses are there, next to each other and rightly named. */
static bool has_truth(const struct truth *truth)
{
	int first = 0, guessed = 0;

	while (first < nr_frames && frames[first].pc != truth->addresses[0])
		first++;
	if (!truth->nr || first == nr_frames)
		return false;
	for (int i = 0; i < truth->nr && first + guessed + i < nr_frames; i++) {
		const struct frame *frame = &frames[first + guessed + i];
		const char *name = truth->names[i];

		if (!strcmp(name, "jit")) /* made code could not note its caller */
			guessed += frame[1].guessed && has_name(&frame[1], "victim_exported");
		if (frame->pc != truth->addresses[i])
			return false;
		if (!strcmp(name, "jit") ? frame->module || frame->region != (frame->pc & -4096ul) :
		    !strcmp(name, "-") ? frame->function || !frame->start :
		    !has_name(frame, name))
			return false;
	}
	return first + guessed + truth->nr <= nr_frames || end == UNWIND_TOO_DEEP;
}

static void check_victim(const char *path, const char *mode, bool in_thread)
{
	struct truth truth;
	int err;

	start_victim(path, mode, in_thread, &truth);
	err = take_slice(truth.pid, truth.tid);
	if (!err)
		unwind(truth.pid);
	if (!ok(!err && has_truth(&truth) && end == UNWIND_COMPLETE, "%s: %s%s: all of the stack",
		strrchr(path, '/') + 1, mode, in_thread ? " in a thread" : "")) {
		diag("%s", strerror(-err));
		for (int i = 0; i < truth.nr; i++)
			diag("true: %#lx %s", (long)truth.addresses[i], truth.names[i]);
		show();
	}
	ok(slots_hold() == !!strcmp(mode, "signal"), "%s: %s: return addresses are in their slots",
	   strrchr(path, '/') + 1, mode);
	stop(truth.pid);
}

/* The processes that read files for us; those that have the lowest priority, if @is_lowest. */
static int count_helpers(pid_t but, bool is_lowest)
{
	FILE *file = fopen("/proc/thread-self/children", "r");
	int nr = 0, pid;

	while (file && fscanf(file, "%d", &pid) == 1)
		nr += pid != but && (!is_lowest || (getpriority(PRIO_PROCESS, (id_t)pid) == 19 &&
						    sched_getscheduler(pid) == SCHED_BATCH));
	if (file)
		fclose(file);
	return nr;
}

/* What is read before it is needed is not read again, and nobody has to wait for it. */
static void test_prepared(const char *path)
{
	struct unwinder *others = unwinder;
	struct truth truth;
	int before, ready, err;

	start_victim(path, "sleep", false, &truth);
	before = count_helpers(truth.pid, false);
	unwinder = unwinder_create();
	unwinder_prepare(unwinder, (uint32_t)truth.pid, 0);
	ok(count_helpers(truth.pid, false) == before, "nothing is prepared when the time is over");
	unwinder_prepare(unwinder, (uint32_t)truth.pid, UINT64_MAX);
	ready = count_helpers(truth.pid, false) - before;
	unwinder_enter_background(unwinder);
	ok(ready >= 2 && count_helpers(truth.pid, true) == ready,
	   "prepared, the files of a process are there, and their %d readers make way for others",
	   ready);
	err = take_slice(truth.pid, truth.tid);
	if (!err)
		unwind(truth.pid);
	ok(!err && has_truth(&truth) && count_helpers(truth.pid, false) - before == ready,
	   "the first stack needs no other ones");
	/* As of an overlay. */
	for (uint32_t i = 0; !err && i < slice.nr_mappings; i++)
		slice.mappings[i].dev += slice.mappings[i].inode != 0;
	if (!err)
		unwind(truth.pid);
	ok(!err && has_truth(&truth) && count_helpers(truth.pid, false) - before == ready,
	   "nor if the module has another number for the device");
	stop(truth.pid);
	unwinder_destroy(unwinder);
	unwinder = others;
}

static const char *const ways[] = {
	"sleep", "epoll", "poll", "select", "read", "recv", "accept", "cond",
};

static void test_victim(const char *path)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		check_victim(path, ways[i], i & 1);
	check_victim(path, "aligned", false);
	check_victim(path, "deep", true);
	check_victim(path, "signal", false);
	check_victim(path, "jit", false);
	ok(nr_guessed() > 0, "the caller of code without rules is marked as guessed");
}

static void test_ends(const char *path)
{
	struct truth truth;
	uint32_t size;

	start_victim(path, "deeper", false, &truth);
	take_slice(truth.pid, truth.tid);
	unwind(truth.pid);
	ok(nr_frames == UNWIND_MAX_FRAMES && end == UNWIND_TOO_DEEP && has_truth(&truth),
	   "500 calls: the innermost 256 frames, and a flag that there are more");
	stop(truth.pid);

	start_victim(path, "sleep", false, &truth);
	take_slice(truth.pid, truth.tid);
	unwind(truth.pid);
	size = slice.size;
	slice.size = (uint32_t)(frames[5].sp - slice.regs[SLICE_REG_RSP]);
	unwind(truth.pid);
	ok(nr_frames == 6 && end == UNWIND_TRUNCATED,
	   "a slice that was cut ends with the last frame in it");
	slice.size = size;
	stop(truth.pid);
	unwind(truth.pid);
	ok(end == UNWIND_COMPLETE && has_truth(&truth), "the process may be gone meanwhile");
}

/* As if only the frames below @nr were in what was copied. */
static void unwind_cut(pid_t pid, const struct frame *known, int nr)
{
	uint32_t size = slice.size;

	slice.size = (uint32_t)(known[nr - 1].sp - slice.regs[SLICE_REG_RSP]);
	unwind(pid);
	slice.size = size;
}

/*
 * Code without rules is crossed even where the copy does not reach the thread's
 * start, if @enough frames follow: one more where two are searched for.
 */
static void test_cut_guess(const char *path, int enough)
{
	struct frame known[UNWIND_MAX_FRAMES];
	struct truth truth;
	int made = 0;

	start_victim(path, "jit", false, &truth);
	take_slice(truth.pid, truth.tid);
	unwind(truth.pid);
	memcpy(known, frames, sizeof(known));
	while (made + enough + 2 < nr_frames && !known[made + 1].guessed)
		made++;
	unwind_cut(truth.pid, known, made + enough + 1);
	if (!ok(nr_frames == made + enough + 1 && end == UNWIND_TRUNCATED &&
			frames[made + 1].guessed && frames[made + 4].pc == known[made + 4].pc,
		"made code, and enough frames up to where the slice was cut"))
		show();
	unwind_cut(truth.pid, known, made + enough);
	if (!ok(nr_frames == made + 1 && end == UNWIND_NO_RULE, "fewer are not believed"))
		show();
	nr_frames = unwind_slice(unwinder, (uint32_t)truth.pid, &slice, frames,
				 (uint32_t)(made + enough + 1), &end);
	if (!ok(nr_frames == made + enough + 1 && end == UNWIND_TOO_DEEP &&
			frames[made + 1].guessed,
		"enough up to where there is no room for more"))
		show();
	stop(truth.pid);
}

/* A page of the stack that was not in memory. */
static void test_missing(const char *path)
{
	const uint64_t missing = SLICE_MISSING;
	struct truth truth;
	uint64_t at;

	start_victim(path, "sleep", false, &truth);
	take_slice(truth.pid, truth.tid);
	unwind(truth.pid);
	at = frames[5].sp - 8 - slice.regs[SLICE_REG_RSP];
	memcpy(slice.bytes + at, &missing, sizeof(missing));
	unwind(truth.pid);
	ok(nr_frames == 5 && end == UNWIND_TRUNCATED,
	   "a return address in a page that was not there ends the stack");
	stop(truth.pid);
}

static bool has_module(const char *path)
{
	for (int i = 0; i < nr_frames; i++)
		if (frames[i].module && !strcmp(frames[i].module, path))
			return true;
	return false;
}

static int nr_modules_in(const char *prefix)
{
	int nr = 0;

	for (int i = 0; i < nr_frames; i++)
		nr += frames[i].module && !strncmp(frames[i].module, prefix, strlen(prefix));
	return nr;
}

/* Files of a process with mounts of its own are opened by its root, and shown as it has them. */
static void test_mounts(const char *path)
{
	const char *arguments[] = { "unshare", "-rm", path, "sleep", NULL };
	struct unwinder *kept = unwinder;
	char real[PATH_MAX];
	struct truth truth;

	if (system("unshare -rm true 2> /dev/null") || !realpath(path, real)) {
		skip(1, "a mount namespace is not allowed here");
		return;
	}
	unwinder = unwinder_create(); /* which has read none of them */
	start_by(arguments, &truth);
	take_slice(truth.pid, truth.tid);
	unwind(truth.pid);
	if (!ok(has_truth(&truth) && has_module(real) && !nr_modules_in("/proc"),
		"files of a process with mounts of its own are shown by the paths that it has"))
		show();
	stop(truth.pid);
	unwinder_destroy(unwinder);
	unwinder = kept;
}

/* The file a process runs is replaced by another one of the same path. */
static void test_replaced(const char *path, const char *other)
{
	struct unwinder *kept = unwinder;
	char copy[256], command[1024];
	struct truth truth;

	unwinder = unwinder_create();
	snprintf(copy, sizeof(copy), "%s/program", directory);
	snprintf(command, sizeof(command), "cp '%s' '%s'", path, copy);
	if (system(command))
		exit(1);
	start_victim(copy, "sleep", false, &truth);
	snprintf(command, sizeof(command), "rm '%s' && cp '%s' '%s'", copy, other, copy);
	if (system(command))
		exit(1);
	take_slice(truth.pid, truth.tid);
	unwind(truth.pid);
	ok(end == UNWIND_COMPLETE && has_truth(&truth),
	   "a replaced file: the old one is read while the process lives");
	stop(truth.pid);
	unwinder_destroy(unwinder);
	unwinder = unwinder_create();
	/* as a mapping of a process that is gone, and whose file is another one now */
	for (uint32_t i = 0; i < slice.nr_mappings; i++) {
		char *mapped = slice.mappings[i].path;
		char *deleted = mapped ? strstr(mapped, " (deleted)") : NULL;

		if (deleted)
			*deleted = '\0';
	}
	unwind(truth.pid);
	ok(end == UNWIND_NO_FILE && !has_function("victim_exported"),
	   "a replaced file: no names when the process is gone");
	unwinder_destroy(unwinder);
	unwinder = kept;
}

/* Let all threads of @pid be unwound.  Returns how many, or -1 if one is incomplete. */
static int unwind_process(pid_t pid, const char *wanted, bool *ret_has_wanted)
{
	struct dirent *entry;
	char path[64];
	int nr = 0, failed = 0, guessed = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		nr++;
		if (take_slice(pid, atoi(entry->d_name))) {
			failed++;
			continue;
		}
		unwind(pid);
		guessed += nr_guessed();
		if (end != UNWIND_COMPLETE || !slots_hold()) {
			failed++;
			show();
		}
		*ret_has_wanted = *ret_has_wanted || has_function(wanted);
	}
	if (dir)
		closedir(dir);
	diag("%d threads, %d of them not complete, %d frames guessed", nr, failed, guessed);
	return failed ? -1 : nr;
}

/* Is @pid one with so many threads, of which the first sleeps? */
static bool is_up(pid_t pid, int min_threads)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return !stat(path, &st) && (int)st.st_nlink - 2 >= min_threads && !take_slice(pid, pid);
}

static void test_server(const char *const *arguments, const char *wanted, int min_threads)
{
	bool has_wanted = false;
	int status = 0, nr = 0;
	pid_t pid;

	pid = start(arguments, NULL);
	/* On a busy machine it may sleep while it starts, too. */
	for (int tries = 0; tries < 100 && !has_wanted; tries++) {
		sleep_ms(50);
		if (waitpid(pid, &status, WNOHANG))
			break;
		if (is_up(pid, min_threads)) {
			sleep_ms(300);
			nr = unwind_process(pid, wanted, &has_wanted);
		}
	}
	if (!nr && WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		skip(2, "not installed");
		return;
	}
	ok(nr >= min_threads, "%s: all stacks complete", arguments[0]);
	ok(has_wanted, "%s: %s is in one", arguments[0], wanted);
	stop(pid);
}

static void test_servers(void)
{
	const char *redis[] = { "redis-server", "--port", "16411", "--bind", "127.0.0.1", "--save",
				"", "--dir", directory, NULL };
	const char *memcached[] = { "memcached", "-u", "root", "-l", "127.0.0.1", "-p", "16412",
				    "-U", "0", NULL };
	const char *nginx[] = { "nginx", "-p", directory, "-c", "nginx.conf", "-e", "/dev/null",
				NULL };
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/nginx.conf", directory);
	file = fopen(path, "w");
	fprintf(file, "daemon off; master_process off; pid nginx.pid; events {}\n"
		"http { access_log off; server { listen 127.0.0.1:16413; } }\n");
	fclose(file);
	test_server(redis, "aeMain", 4);
	test_server(memcached, "event_base_loop", 5);
	test_server(nginx, "ngx_process_events_and_timers", 1);
}

/* A thread that was stopped and goes on sleeps in another call than it made. */
static void test_stopped(const char *path)
{
	struct truth truth;

	start_victim(path, "sleep", false, &truth);
	take_slice(truth.pid, truth.tid);
	kill(truth.pid, SIGSTOP);
	sleep_ms(50);
	kill(truth.pid, SIGCONT);
	sleep_ms(50);
	ok(!take_slice(truth.pid, truth.tid) && syscall_nr == SYS_clock_nanosleep,
	   "the call that a thread made before it was stopped");
	stop(truth.pid);
}

/* Memory without a file: the vdso is known by its content, other code is not. */
static void test_vdso(void)
{
	struct mapping mapping = { .start = getauxval(AT_SYSINFO_EHDR) };
	bool has_name = false;
	struct frame frame;
	void *made;

	mapping.end = mapping.start + 0x2000;
	for (uint64_t addr = mapping.start; addr < mapping.end; addr += 16) {
		unwind_describe(unwinder, (uint32_t)getpid(), &mapping, addr, false, &frame);
		has_name |= frame.function && strstr(frame.function, "gettime");
	}
	ok(has_name, "functions of the vdso have names");
	made = mmap(NULL, 0x2000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mapping.start = (uintptr_t)made;
	mapping.end = mapping.start + 0x2000;
	unwind_describe(unwinder, (uint32_t)getpid(), &mapping, mapping.start + 64, false, &frame);
	ok(!frame.module && !frame.function && frame.region == mapping.start, "made code is not taken for the vdso");
	munmap(made, 0x2000);
}

/* Names without an end, as of programs that come and go. */
static void test_forget(void)
{
	enum { NAMES = 70000 };
	struct mapping mapping = { .start = 0x10000, .end = 0x20000, .inode = 1 };
	struct unwinder *its = unwinder_create();
	struct frame frame;
	uint32_t nr = 0;
	char path[32];

	if (!its)
		abort();
	mapping.path = path;
	for (; nr < NAMES && !unwinder_is_full(its); nr++) {
		snprintf(path, sizeof(path), "no/%" PRIu32, nr);
		unwind_describe(its, (uint32_t)getpid(), &mapping, 0x10010, false, &frame);
	}
	ok(nr < NAMES, "an unwinder is full at some time (%" PRIu32 " names)", nr);
	unwinder_forget(its);
	unwind_describe(its, (uint32_t)getpid(), &mapping, 0x10010, false, &frame);
	ok(!unwinder_is_full(its) && frame.module && !strcmp(frame.module, path),
	   "and works on when it forgot its names");
	unwinder_destroy(its);
}

static uint64_t random_state = 88172645463325252;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint32_t random_below(uint32_t bound)
{
	return (uint32_t)(random_word() % bound);
}

/* An address that looks right: in a mapping, on the stack, or near either. */
static uint64_t likely_word(const struct slice *from)
{
	const struct mapping *mapping = &from->mappings[random_below(from->nr_mappings)];

	switch (random_below(4)) {
	case 0:
		return from->regs[SLICE_REG_RSP] + random_below(from->size + 64) - 32;
	case 1:
		return random_word();
	default:
		return mapping->start + random_word() % (mapping->end - mapping->start);
	}
}

static void mutate(struct slice *copy)
{
	for (uint32_t nr = random_below(8); nr; nr--) {
		uint64_t word = likely_word(copy);

		switch (random_below(5)) {
		case 0:
			copy->regs[random_below(SLICE_NR_REGS)] = word;
			break;
		case 1:
			copy->unknown_regs ^= 1u << random_below(SLICE_NR_REGS);
			break;
		case 2:
			copy->mappings[random_below(copy->nr_mappings)].offset ^=
				1ull << random_below(64);
			break;
		case 3:
			if (copy->size > 64)
				copy->size -= random_below(copy->size / 2);
			break;
		default:
			if (copy->size >= 8)
				memcpy(copy->bytes + 8 * random_below(copy->size / 8), &word, 8);
		}
	}
	if (random_below(50) == 0)
		for (uint32_t i = 0; i < copy->size; i++)
			copy->bytes[i] = (uint8_t)random_word();
	if (random_below(100) == 0)
		copy->mappings[0].start = random_word();
}

static void test_mutations(const char *path)
{
	uint64_t started = now_ns(), longest = 0;
	int ends[UNWIND_BROKEN + 1] = { 0 };
	struct truth truth;
	bool sane = true;

	start_victim(path, "jit", true, &truth);
	if (take_slice(truth.pid, truth.tid) || !slice.nr_mappings) {
		ok(false, "no slice");
		return;
	}
	for (int i = 0; i < NR_MUTATIONS && now_ns() - started < 60000000000; i++) {
		struct mapping mappings[16];
		struct slice copy = slice;
		uint64_t before;

		if (copy.nr_mappings > 16)
			copy.nr_mappings = 16;
		memcpy(mappings, slice.mappings, copy.nr_mappings * sizeof(*mappings));
		copy.mappings = mappings;
		copy.bytes = malloc(copy.size); /* of its own, so that the sanitizer sees its end */
		memcpy(copy.bytes, slice.bytes, copy.size);
		mutate(&copy);
		before = now_ns();
		nr_frames = unwind_slice(unwinder, (uint32_t)truth.pid, &copy, frames,
					 1 + random_below(UNWIND_MAX_FRAMES), &end);
		if (now_ns() - before > longest)
			longest = now_ns() - before;
		sane = sane && nr_frames > 0 && nr_frames <= UNWIND_MAX_FRAMES &&
		       end <= UNWIND_BROKEN && frames[0].pc == copy.regs[SLICE_REG_RIP];
		if (end <= UNWIND_BROKEN)
			ends[end]++;
		free(copy.bytes);
	}
	stop(truth.pid);
	for (int i = 0; i <= UNWIND_BROKEN; i++)
		diag("%5d %s", ends[i], unwind_end_name(i));
	diag("longest %lu us", (unsigned long)(longest / 1000));
	ok(sane, "slices that were tampered with make no nonsense");
	ok(longest < 1000000000, "and take no second to unwind");
}

static void test_speed(const char *path)
{
	enum { ROUNDS = 5000 };
	struct truth truth;
	uint64_t before;

	start_victim(path, "cond", true, &truth);
	take_slice(truth.pid, truth.tid);
	unwind(truth.pid);
	before = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		unwind(truth.pid);
	diag("%lu ns for a stack of %d frames", (unsigned long)((now_ns() - before) / ROUNDS),
	     nr_frames);
	ok(now_ns() - before < ROUNDS * 1000000ull, "a slice is unwound in less than a millisecond");
	stop(truth.pid);
}

static void test_refusals(void)
{
	struct truth truth;
	char path[256];

	slice_clear(&slice);
	ok(snapshot_thread(0x7ffffff0, 0x7ffffff0, &slice, &syscall_nr) == -ESRCH,
	   "no such process");
	snprintf(path, sizeof(path), "%s/program", directory);
	start_victim(path, "spin", false, &truth);
	ok(snapshot_thread((uint32_t)truth.pid, (uint32_t)truth.pid, &slice, &syscall_nr) == -EAGAIN,
	   "a thread that runs has no stack to take");
	stop(truth.pid);
}

int main(int argc, char **argv)
{
	char template[] = "/tmp/test-unwind.XXXXXX", command[64], path[2][256];
	const char *own = strrchr(argv[0], '/');
	const char *const kinds[] = { "victim", "victim-fp" };
	int checks = 0;

	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%.*s/%s", own ? (int)(own - argv[0]) : 1,
			 own ? argv[0] : ".", kinds[i]);
	checks += 2 * 25 + 3 + 2 * 3 + 1 + 1 + 2 + 3 + 6 + 2 + 1 + 2 + 2 + 4;
	plan((unsigned int)checks);
	alarm(300);
	directory = mkdtemp(template);
	unwinder = unwinder_create();
	if (!directory || !unwinder || argc > 1)
		return 1;
	test_forget();
	test_prepared(path[0]);
	test_victim(path[0]);
	test_victim(path[1]);
	test_ends(path[0]);
	test_cut_guess(path[0], 4);
	test_cut_guess(path[1], 5);
	test_missing(path[0]);
	test_mounts(path[0]);
	test_replaced(path[0], path[1]);
	test_stopped(path[0]);
	test_vdso();
	test_servers();
	test_mutations(path[0]);
	test_speed(path[0]);
	test_refusals();
	slice_clear(&slice);
	unwinder_destroy(unwinder);
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command) || tap_status();
}
