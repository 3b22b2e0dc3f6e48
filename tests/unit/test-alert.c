// SPDX-License-Identifier: GPL-2.0
/* What 'watch' prints of an alert, for people and for machines. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/duration.h"
#include "binary/code/runtimes.h"
#include "data/stack-copy.h"
#include "out/alert/alert.h"
#include "tap.h"

#define MS NSEC_PER_MSEC
/* 2024-01-31 14:05:03.120 UTC */
#define TIME_NS (UINT64_C(1706709903) * NSEC_PER_SEC + 120 * MS)

static char *printed;
static size_t printed_size;

static FILE *begin(void)
{
	free(printed);
	printed = NULL;
	return open_memstream(&printed, &printed_size);
}

static bool is_printed(FILE *file, const char *expected)
{
	fclose(file);
	if (!strcmp(printed, expected))
		return true;
	for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n"))
		diag("%s", line);
	return false;
}

static struct frame frame_of(const char *module, const char *function, uint64_t offset)
{
	return (struct frame){
		.pc = 0x550000000000 + offset + 5,
		.start = 0x550000000000 + offset,
		.module = module,
		.build_id = module[9] == 'r' ? "aa" : "cc",
		.offset = offset + 5,
		.function = function,
		.function_offset = 5,
	};
}

#define EXE "/usr/bin/redis-server"
#define LIBC "/lib/libc.so.6"

/* A request of a server that waits for a mutex. */
struct example {
	struct record record;
	struct frame waiting[8], holding[3];
	struct alert_stack stacks[2];
	struct alert_type type;
	struct alert_lock lock;
	struct alert_met met[3];
	uint32_t unusual[3];
	struct hotpath hotpath;
	struct reason reason;
	struct alert alert;
};

static void make(struct example *example)
{
	static const struct reason_normal normal = {
		.units = 9000, .elapsed_ns = 350000, .cpu_ns = 240000, .runqueue_ns = 10000,
	};
	const struct reason_context never = { .hits = 2, .is_known = true, .units = 500 };
	const struct reason_context often = {
		.hits = 212, .is_known = true, .units = 500, .visits = 500, .sum = 500, .most = 2,
	};
	struct hotpath_stack stacks[2];
	struct reason_stack times[2];

	memset(example, 0, sizeof(*example));
	example->record = (struct record){
		.seq = 17,
		.kind = PERFGUARD_RECORD_KIND_LATE,
		.found_by = PERFGUARD_FOUND_BY_OVERDUE,
		.time_ns = TIME_NS,
		.pid = 812,
		.tid = 815,
		.comm = "redis-server",
		.unit = 48812,
		.threshold_ns = 9420000,
		.account = {
			.elapsed_ns = 212 * MS, .cpu_ns = 800000, .runqueue_ns = 100000,
			.blocked_ns = 211100000,
		},
		.profile_id = 3,
		.type_id = 5,
		.margin = 40,
	};
	example->waiting[0] = frame_of(LIBC, "__lll_lock_wait", 0x80000);
	example->waiting[1] = frame_of(LIBC, "pthread_mutex_lock", 0x81000);
	example->waiting[2] = frame_of(EXE, NULL, 0x4412a);
	example->waiting[3] = frame_of(EXE, "lrangeCommand", 0x45000);
	example->waiting[4] = frame_of(EXE, "call", 0x46000);
	example->waiting[5] = frame_of(EXE, "aeMain", 0x47000);
	example->waiting[6] = frame_of(EXE, "main", 0x48000);
	example->waiting[7] = frame_of(EXE, "_start", 0x49000);
	example->holding[0] = frame_of(EXE, "emptyDbAsync", 0x50000);
	example->holding[1] = frame_of(EXE, "bioProcessBackgroundJobs", 0x51000);
	example->holding[2] = frame_of(LIBC, "start_thread", 0x82000);
	for (int i = 0; i < 2; i++) {
		stacks[i] = (struct hotpath_stack){
			.at_ns = TIME_NS - (i ? 40 : 200) * MS,
			.frames = example->waiting + 3 * i,
			.nr_frames = 8 - 3 * (uint32_t)i,
			.is_blocked = !i,
		};
		times[i] = (struct reason_stack){ i ? 40 * MS : 160 * MS, i ? SLICE_NO_SYSCALL : SYS_futex, !i };
	}
	example->stacks[0] = (struct alert_stack){
		.at_ns = 1, .state = PERFGUARD_STACK_STATE_BLOCKED, .syscall = SYS_futex,
		.lock = 0x7f1200345678, .holder = 816, .nr_frames = 1, .frames = example->waiting,
	};
	example->stacks[1] = (struct alert_stack){
		.at_ns = 1, .state = PERFGUARD_STACK_STATE_BLOCKED, .tid = 816,
		.syscall = SLICE_NO_SYSCALL, .nr_frames = 3, .frames = example->holding,
	};
	example->type = (struct alert_type){ 5, "lrangeCommand, addListRangeReply", 350000, false, 0.996, false };
	example->lock = (struct alert_lock){
		.address = 0x7f1200345678, .syscall = SYS_futex, .holder = 816,
		.comm = "bio_lazy_free", .stack = &example->stacks[1],
	};
	example->met[0] = (struct alert_met){ EXE, "lookupKey", 0x1000, 520, often };
	example->met[1] = (struct alert_met){ EXE, "rdbSave", 0x2000, 520, never };
	example->met[2] = (struct alert_met){ EXE, NULL, 0x3000, 520, often };
	example->met[2].context.hits = 1;
	example->unusual[0] = 1;
	example->unusual[1] = 0;
	hotpath_init(&example->hotpath, stacks, 2, TIME_NS);
	reason_set(&example->reason, &example->record.account, times, 2, &normal);
	example->alert = (struct alert){
		.record = &example->record,
		.exe = EXE,
		.build_id = "aa",
		.cgroup = "/system.slice/redis.service",
		.loop = 1,
		.nr_stacks = 2,
		.stacks = example->stacks,
		.type = &example->type,
		.hotpath = &example->hotpath,
		.reason = &example->reason,
		.lock = &example->lock,
		.met = example->met,
		.nr_met = 3,
		.unusual = example->unusual,
		.nr_unusual = 2,
	};
}

/* The path of all of them. */
#define PATH \
"  path      100 %  main\n" \
"            100 %  aeMain\n" \
"            100 %  call\n" \
"            100 %  lrangeCommand\n" \
"             80 %  redis-server+0x4412a\n" \
"             80 %  pthread_mutex_lock  libc.so.6\n" \
"             80 %  __lll_lock_wait  libc.so.6\n"

static const char block[] =
"14:05:03.120 LATE redis-server[812/815]: 212 ms, 23 times its limit\n"
"  limit     9.42 ms for all of its time\n"
"  unit      48812, since 14:05:02.908, still running\n"
"  type      5 (lrangeCommand, addListRangeReply), sure\n"
"  normally  350 us for this type: it takes 606 times that\n"
"  where     redis-server+0x4412a below lrangeCommand, 80 % of the 200 ms seen\n"
"            (2 stacks)\n"
"  why       blocked 211 ms in futex, where this type blocks 100 us\n"
"            ran rdbSave, which this type never does\n"
"            ran lookupKey 212 times, normally 1\n"
"  lock      0x7f1200345678, held by thread 816 (bio_lazy_free), which is in\n"
"            emptyDbAsync < bioProcessBackgroundJobs < start_thread\n"
"  spent     CPU 800 us, run queue 100 us, blocked 211 ms\n"
PATH
"  look at   thread 816 (bio_lazy_free): why it keeps the lock\n";

static const char plain[] =
"14:05:03.120 LATE redis-server[812/815]: took 212 ms, 23 times its limit\n"
"  limit     9.42 ms for all of its time\n"
"  unit      48812, since 14:05:02.908, ended\n"
"  where     redis-server+0x4412a below lrangeCommand, 80 % of the 200 ms seen\n"
"            (2 stacks)\n"
"  why       blocked 211 ms\n"
"  spent     CPU 800 us, run queue 100 us, blocked 211 ms\n"
"  path      100 %  main\n"
"            100 %  aeMain\n"
"            100 %  call\n"
"            100 %  lrangeCommand\n"
"             80 %  redis-server+0x4412a\n"
"             80 %  pthread_mutex_lock  libc.so.6\n"
"             80 %  __lll_lock_wait  libc.so.6\n";

static const char again[] =
"14:05:03.120 still late redis-server[812/815]: 4.00 s, 425 times its limit\n"
"  where     redis-server+0x4412a below lrangeCommand, 80 % of the 200 ms seen\n"
"            (2 stacks)\n"
"14:05:03.120 ended redis-server[812/815]: took 4.00 s, 425 times its limit\n"
"  where     redis-server+0x4412a below lrangeCommand, 80 % of the 200 ms seen\n"
"            (2 stacks)\n"
"  why       blocked 211 ms in futex, where this type blocks 100 us\n"
"            ran rdbSave, which this type never does\n"
"            ran lookupKey 212 times, normally 1\n";

static const char others[] =
"14:05:03.120 novel redis-server[812/815]: fits no type; unit 48812, 4.00 s\n"
"14:05:03.120 3 alerts were lost\n";

static const char folded[] =
"14:05:03.120 the same 37 more times in 10.0 s: redis-server\n"
"            type 5 (lrangeCommand, addListRan...), in lrangeCommand\n"
"            36 ended, after 50.0 ms to 210 ms; 1 not, after up to 812 ms\n"
"14:05:03.120 the same 1 more time in 10.0 s: redis-server\n"
"            in lrangeCommand\n"
"            one ended, after 210 ms\n";

static const char levels[] =
"14:05:03.120 SLOW redis-server, type 7 (getCommand)\n"
"            since 14:04:59 its units compute 12.0 ms instead of 3.20 ms, 3.75\n"
"            times as long; 380 of 402 were late\n"
"            its late units are not reported singly until it is back, except\n"
"            those far beyond\n"
"14:05:03.120 back redis-server, type 7 (getCommand)\n"
"            since 14:04:59 its units compute 3.30 ms again; 380 of 402 were\n"
"            late meanwhile\n";

static const char limits[] =
"  limit     9.42 ms without the run queue, and it took 212 ms\n"
"  limit     9.42 ms of computing, and it computed 800 us\n"
"  limit     9.42 ms blocked, and it was so for 211 ms\n"
"  limit     9.42 ms of block I/O, and it had 0 ns\n";

static const char stopped[] =
"14:05:03.120 STOPPED redis-server[812/815]: 212 ms, 200 ms of it stopped\n"
"  limit     9.42 ms, within which it is otherwise\n"
"  unit      48812, since 14:05:02.908, still running\n"
"  type      5 (lrangeCommand, addListRangeReply), sure\n"
"  normally  350 us for this type\n"
"  where     redis-server+0x4412a below lrangeCommand, 80 % of the 200 ms seen\n"
"            (2 stacks)\n"
"  why       was stopped 200 ms\n"
"            ran rdbSave, which this type never does\n"
"            ran lookupKey 212 times, normally 1\n"
"  spent     CPU 800 us, run queue 100 us, blocked 11.1 ms, stopped 200 ms\n"
PATH
"  look at   who sent SIGSTOP; 'kill -CONT 812' lets it go on\n";

static const char stoppers[] =
"  look at   who sent SIGTSTP, and SIGCONT after it\n"
"  look at   process 77 (gdb), which traces it: a debugger, or strace\n"
"  look at   who uses the freezer of its cgroup /system.slice/redis.service, as\n"
"            a pause of its container does\n";

static const char starved[] =
"14:05:03.120 STARVED: units wait for a CPU\n"
"            since 14:04:59 380 of 1,402 units waited for one longer than all of\n"
"            their time may be; otherwise they are in time\n"
"  CPUs      98 % of one by process 812 (sh)\n"
"            40 % of one by process 7 (kworker/0:1)\n"
"14:05:03.120 no longer starved\n"
"            since 14:04:59 380 of 1,402 units waited for one longer than all of\n"
"            their time may be\n";

static void test_block(void)
{
	struct example example;
	size_t column = 0, widest = 0;
	FILE *file = begin();

	make(&example);
	alert_text(file, &example.alert);
	ok(is_printed(file, block), "a late unit, as people read it");
	for (const char *at = block; *at; at++) {
		column = *at == '\n' ? 0 : column + 1;
		if (column > widest)
			widest = column;
	}
	ok(widest < 80, "it fits a terminal");
	hotpath_deinit(&example.hotpath);
}

/* What is reported without a type, or of a unit that was reported before. */
static void test_less(void)
{
	struct example example;
	FILE *file = begin();

	make(&example);
	example.record.kind = PERFGUARD_RECORD_KIND_ENDED;
	example.record.profile_id = 0;
	example.alert.type = NULL;
	example.alert.lock = NULL;
	example.alert.nr_unusual = 0;
	reason_set(&example.reason, &example.record.account, NULL, 0, NULL);
	alert_text(file, &example.alert);
	ok(is_printed(file, plain), "a unit that no profile judges");
	hotpath_deinit(&example.hotpath);

	make(&example);
	file = begin();
	example.record.account.elapsed_ns = 4 * NSEC_PER_SEC;
	alert_again_text(file, &example.alert, 10 * MS, true);
	example.record.kind = PERFGUARD_RECORD_KIND_ENDED;
	alert_again_text(file, &example.alert, 10 * MS, false);
	ok(is_printed(file, again), "what more is heard of it is short");

	file = begin();
	example.record.kind = PERFGUARD_RECORD_KIND_NOVEL;
	example.record.is_novel = true;
	alert_novel_text(file, &example.alert);
	example.record.kind = PERFGUARD_RECORD_KIND_LOST;
	example.record.lost = 3;
	alert_text(file, &example.alert);
	ok(is_printed(file, others), "a unit that fits no type, and lost alerts");
	hotpath_deinit(&example.hotpath);
}

static void test_many(void)
{
	struct fold_window window = {
		.subject = {
			.type = 5, .comm = (char *)"redis-server",
			.type_name = (char *)"lrangeCommand, addListRangeReply",
			.function = (char *)"lrangeCommand",
		},
		.nr_units = 37, .nr_ended = 36, .min_ns = 50 * MS, .max_ns = 210 * MS,
		.running_ns = 812 * MS,
	};
	struct regression regression = {
		.is_on = true,
		.before_ns = 3200000,
		.level_ns = 12 * MS,
		.since_ns = TIME_NS - 4 * NSEC_PER_SEC,
		.units = 402,
		.late = 380,
	};
	struct alert_type type = { 7, "getCommand", 3200000, false, 0.99, false };
	struct alert_level level = {
		.time_ns = TIME_NS, .exe = EXE, .type = &type, .regression = &regression
	};
	FILE *file = begin();

	alert_folded_text(file, &window, 10 * NSEC_PER_SEC, TIME_NS);
	window.nr_units = window.nr_ended = 1;
	window.subject.type = 0;
	alert_folded_text(file, &window, 10 * NSEC_PER_SEC, TIME_NS);
	ok(is_printed(file, folded), "equal ones by their number");

	file = begin();
	alert_level_text(file, &level);
	regression.is_on = false;
	regression.level_ns = 3300000;
	alert_level_text(file, &level);
	ok(is_printed(file, levels), "a change of level, and back");
}

/* The second line of what is printed of a unit for each part of its time. */
static void test_parts(void)
{
	struct example example;
	char all[1024] = "", *line;
	FILE *file;

	make(&example);
	for (uint32_t part = PERFGUARD_PART_OWN; part <= PERFGUARD_PART_BLOCK_IO; part++) {
		file = begin();
		example.record.part = part;
		alert_text(file, &example.alert);
		fclose(file);
		line = strchr(printed, '\n') + 1;
		strncat(all, line, (size_t)(strchr(line, '\n') + 1 - line));
	}
	ok(!strcmp(all, limits), "which part of its time exceeded which limit");
	hotpath_deinit(&example.hotpath);
}

/* The advice alone. */
static void add_advice(char *all, size_t size, struct example *example)
{
	FILE *file = begin();

	alert_text(file, &example->alert);
	fclose(file);
	strncat(all, strstr(printed, "  look at"), size - strlen(all) - 1);
}

static void test_stopped(void)
{
	struct example example;
	char all[1024] = "";
	FILE *file;

	make(&example);
	example.record.part = PERFGUARD_PART_STOPPED;
	example.record.account.blocked_ns -= 200 * MS;
	example.record.account.stopped_ns = 200 * MS;
	example.record.stop_cause = PERFGUARD_STOP_CAUSE_SIGNAL;
	example.record.stopped_by = SIGSTOP;
	example.record.is_stopped = true;
	example.alert.lock = NULL;
	reason_set(&example.reason, &example.record.account, NULL, 0, &example.reason.normal);
	file = begin();
	alert_text(file, &example.alert);
	ok(is_printed(file, stopped), "a unit that is stopped");
	example.record.is_stopped = false;
	example.record.stopped_by = SIGTSTP;
	add_advice(all, sizeof(all), &example);
	example.record.stop_cause = PERFGUARD_STOP_CAUSE_TRACER;
	example.record.stopped_by = 77;
	example.alert.tracer = "gdb";
	add_advice(all, sizeof(all), &example);
	example.record.stop_cause = PERFGUARD_STOP_CAUSE_FREEZER;
	add_advice(all, sizeof(all), &example);
	ok(!strcmp(all, stoppers), "who stopped it is to be looked at");
	hotpath_deinit(&example.hotpath);
}

static void test_starvation(void)
{
	static const struct alert_cpu_user users[] = { { 812, "sh", 0.98 },
						       { 7, "kworker/0:1", 0.4 } };
	struct starvation starvation = {
		.is_on = true,
		.since_ns = TIME_NS - 4 * NSEC_PER_SEC,
		.counts = { .units = 1402, .starved = 380 },
	};
	struct alert_starvation alert = { TIME_NS, &starvation, users, 2 };
	FILE *file = begin();

	alert_starvation_text(file, &alert);
	starvation.is_on = false;
	alert.nr_users = 0;
	alert_starvation_text(file, &alert);
	ok(is_printed(file, starved), "a machine that starves units, and no longer does");
}

static void test_thinned(void)
{
	struct record record = { .profile_id = 1, .type_id = 5, .margin = 60 };
	double all = alert_confidence(&record), thinned;

	record.is_degraded = true;
	thinned = alert_confidence(&record);
	ok(all > 0.9999 && thinned > 0.74 && thinned < 0.76, "it is less sure while guards are off");
	record.margin = 0;
	ok(alert_confidence(&record) == 0.5, "and of two that are equal as unsure as before");
}

/* That the functions are an interpreter's, where the stacks lead through its own. */
static void test_interpreter(void)
{
	struct example example;
	FILE *file = begin();

	make(&example);
	example.alert.interpreter = runtimes_interpreter("_PyEval_EvalFrameDefault");
	alert_text(file, &example.alert);
	fclose(file);
	ok(strstr(printed, "\n  runtime   CPython: these are functions of the interpreter, not of what it\n") &&
	   !runtimes_interpreter("PyList_New"), "functions of an interpreter");
	hotpath_deinit(&example.hotpath);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	plan(14);
	test_block();
	test_less();
	test_many();
	test_parts();
	test_stopped();
	test_starvation();
	test_thinned();
	test_interpreter();
	free(printed);
	return tap_status();
}
