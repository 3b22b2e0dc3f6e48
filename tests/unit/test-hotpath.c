// SPDX-License-Identifier: GPL-2.0
/* Stacks of a unit merged: shares, the hot path, recursions, the ranking. */

#include <string.h>

#include "out/alert/hotpath.h"
#include "tap.h"

#define MAX_STACKS 64
#define MAX_FRAMES 256

static struct frame frames[MAX_STACKS][MAX_FRAMES];
static struct hotpath_stack stacks[MAX_STACKS];
static uint32_t nr_stacks;

static struct frame frame_of(const char *name)
{
	bool is_system = name[0] == '*';
	struct frame frame = {
		.module = is_system ? "/lib/libc.so.6" : "/usr/bin/server",
		.build_id = is_system ? "cc" : "aa",
		.function = name + is_system,
	};
	uint64_t sum = 0;

	for (const char *at = name; *at; at++)
		sum = sum * 31 + (unsigned char)*at;
	frame.start = 0x550000000000 + sum * 0x100;
	/* Somewhere in the function, and the file is loaded at another address. */
	frame.pc = frame.start + 0x10 + nr_stacks;
	frame.offset = frame.pc - 0x540000000000;
	frame.function_offset = frame.pc - frame.start;
	return frame;
}

/* @text is "main loop work", outermost first; '*' marks the C library. */
static void take(uint64_t at_ns, const char *text, bool is_blocked)
{
	static char texts[MAX_STACKS][4096];
	char *words[MAX_FRAMES], *save = NULL;
	uint32_t nr = 0;

	snprintf(texts[nr_stacks], sizeof(texts[0]), "%s", text);
	for (char *word = strtok_r(texts[nr_stacks], " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		words[nr++] = word;
	for (uint32_t i = 0; i < nr; i++)
		frames[nr_stacks][i] = frame_of(words[nr - 1 - i]);
	stacks[nr_stacks] = (struct hotpath_stack){
		.at_ns = at_ns,
		.frames = frames[nr_stacks],
		.nr_frames = nr,
		.is_blocked = is_blocked,
	};
	nr_stacks++;
}

/* "main 100 loop 100 work 75", shares in percent. */
static bool is_path(const struct hotpath *hotpath, const char *expected)
{
	char text[4096] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < hotpath->nr_steps; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %.0f", i ? " " : "",
					hotpath->steps[i].place.function,
					100 * hotpath_share(hotpath, hotpath->steps[i].ns));
	if (!strcmp(text, expected))
		return true;
	diag("path %s", text);
	return false;
}

static const struct hotpath_function *find(const struct hotpath *hotpath, const char *name)
{
	static const struct hotpath_function none;

	for (uint32_t i = 0; i < hotpath->nr_functions; i++)
		if (!strcmp(hotpath->functions[i].place.function, name))
			return &hotpath->functions[i];
	return &none;
}

static bool is_first(const struct hotpath *hotpath, const char *name)
{
	bool is = hotpath->nr_functions && !strcmp(hotpath->functions[0].place.function, name);

	if (!is)
		diag("first is %s", hotpath->nr_functions ?
		     hotpath->functions[0].place.function : "none");
	return is;
}

static void test_weights(void)
{
	struct hotpath hotpath;

	nr_stacks = 0;
	take(1000, "main loop quick", false);
	take(1010, "main loop slow", false);
	take(1090, "main loop quick", false);
	ok(!hotpath_init(&hotpath, stacks, nr_stacks, 1100), "three stacks");
	ok(hotpath.ns == 100, "they stand for the time from the first one to the end");
	ok(is_path(&hotpath, "main 100 loop 100 slow 80"),
	   "a stack weighs what lies between it and the next, not 1");
	ok(is_first(&hotpath, "slow") && hotpath.functions[0].own_ns == 80 &&
		   hotpath.functions[0].total_ns == 80,
	   "the function where the time goes ranks first");
	ok(find(&hotpath, "main")->total_ns == 100 && !find(&hotpath, "main")->own_ns,
	   "who only calls has no time of its own");
	hotpath_deinit(&hotpath);

	/* The function seen last, or most often, is not the one to name. */
	nr_stacks = 0;
	take(0, "main slow", false);
	take(900, "main a", false);
	take(910, "main a", false);
	take(920, "main a", false);
	ok(!hotpath_init(&hotpath, stacks, nr_stacks, 930) && is_first(&hotpath, "slow") &&
		   is_path(&hotpath, "main 100 slow 97"),
	   "seen once, but for longest");
	hotpath_deinit(&hotpath);
}

static void test_edges(void)
{
	struct hotpath hotpath;

	nr_stacks = 0;
	ok(!hotpath_init(&hotpath, stacks, 0, 100) && !hotpath.ns && !hotpath.nr_steps &&
		   !hotpath.nr_functions && hotpath_share(&hotpath, 1) == 0,
	   "no stack: nothing");
	ok(hotpath_own_step(&hotpath) == 0, "and no step");
	hotpath_deinit(&hotpath);

	take(1000, "main work", true);
	ok(!hotpath_init(&hotpath, stacks, 1, 1000) && is_path(&hotpath, "main 100 work 100"),
	   "a single stack, printed as it was taken, stands for all");
	hotpath_deinit(&hotpath);
	ok(!hotpath_init(&hotpath, stacks, 1, 10) && is_path(&hotpath, "main 100 work 100"),
	   "even if the end is before it");
	hotpath_deinit(&hotpath);

	take(1000, "", false);
	ok(!hotpath_init(&hotpath, stacks, 2, 2000) && hotpath.ns == 0,
	   "a stack without frames counts for nothing");
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "main a", false);
	take(50, "main b", false);
	ok(!hotpath_init(&hotpath, stacks, 2, 100) && is_path(&hotpath, "main 100"),
	   "of two equal ones none");
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "main parse", false);
	take(60, "main parse copy", false);
	take(80, "main parse move", false);
	ok(!hotpath_init(&hotpath, stacks, 3, 100) && is_path(&hotpath, "main 100 parse 100"),
	   "the path ends where most of the time is spent");
	hotpath_deinit(&hotpath);
}

static void test_scatter(void)
{
	struct hotpath hotpath;

	nr_stacks = 0;
	take(0, "main list open look", false);
	take(30, "main list open read", false);
	take(65, "main list stat", false);
	take(80, "main list copy", false);
	ok(!hotpath_init(&hotpath, stacks, 4, 100) &&
		   is_path(&hotpath, "main 100 list 100 open 65"),
	   "or where the time scatters over several functions");
	hotpath_deinit(&hotpath);

	/* Had it been looked at a bit later, stat were the one with most. */
	nr_stacks = 0;
	take(0, "main list open count read", false);
	take(30, "main list stat", false);
	take(50, "main list open count read", false);
	take(79, "main list stat", false);
	take(90, "main list copy", false);
	ok(!hotpath_init(&hotpath, stacks, 5, 100) && is_path(&hotpath, "main 100 list 100"),
	   "a part of less than three fifths leads nowhere, however far in it goes");
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "main list open count read", false);
	take(31, "main list stat", false);
	take(50, "main list open count read", false);
	take(80, "main list copy", false);
	ok(!hotpath_init(&hotpath, stacks, 4, 100) &&
		   is_path(&hotpath, "main 100 list 100 open 61 count 61 read 61"),
	   "one of more does");
	hotpath_deinit(&hotpath);
}

static void test_several(void)
{
	struct hotpath hotpath;

	nr_stacks = 0;
	take(0, "main list open stat *syscall", false);
	take(30, "main list read", false);
	take(65, "main list close stat *syscall", false);
	ok(!hotpath_init(&hotpath, stacks, 3, 100) &&
		   is_path(&hotpath, "main 100 list 100 stat 65 syscall 65"),
	   "what several callers lead to has most of it together, and its callee");
	ok(!hotpath.steps[1].by_several && hotpath.steps[2].by_several &&
		   hotpath_own_step(&hotpath) == 2,
	   "it is reported as such");
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "main list open stat inner *syscall", false);
	take(65, "main list close stat inner", false);
	ok(!hotpath_init(&hotpath, stacks, 2, 100) &&
		   is_path(&hotpath,
			   "main 100 list 100 open 65 stat 100 inner 100 syscall 65"),
	   "a step has its time by all callers");
	ok(!hotpath.steps[2].by_several && hotpath.steps[3].by_several &&
		   !hotpath.steps[5].by_several,
	   "and that there were several");
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "main list read", false);
	take(36, "main list open stat", false);
	take(68, "main list close stat", false);
	ok(!hotpath_init(&hotpath, stacks, 3, 100) &&
		   is_path(&hotpath, "main 100 list 100 stat 64") && hotpath.steps[2].by_several,
	   "also where most of the time of one caller is not in it");
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "main list open stat", false);
	take(40, "main list read", false);
	take(80, "main list close stat", false);
	ok(!hotpath_init(&hotpath, stacks, 3, 100) && is_path(&hotpath, "main 100 list 100"),
	   "with three fifths of it, it is not");
	hotpath_deinit(&hotpath);
}

static void test_system(void)
{
	struct hotpath hotpath;
	uint64_t first, second;

	nr_stacks = 0;
	take(0, "*__libc_start_main main work *nanosleep", true);
	take(80, "*__libc_start_main main work", false);
	ok(!hotpath_init(&hotpath, stacks, 2, 100), "a sleep");
	ok(is_path(&hotpath, "__libc_start_main 100 main 100 work 100 nanosleep 80"),
	   "the path goes into the C library");
	ok(is_first(&hotpath, "work") && hotpath.functions[0].own_ns == 100 &&
		   hotpath.functions[0].self_ns == 20 && hotpath.functions[0].blocked_ns == 80,
	   "its time is charged to the program's function");
	ok(find(&hotpath, "nanosleep")->self_ns == 80 && !find(&hotpath, "nanosleep")->own_ns,
	   "and reported for the C library's, too");
	ok(hotpath_own_step(&hotpath) == 2, "the program's step");
	first = hotpath_hash(&hotpath);
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "*__libc_start_main main work *memcpy", false);
	hotpath_init(&hotpath, stacks, 1, 100);
	second = hotpath_hash(&hotpath);
	hotpath_deinit(&hotpath);
	ok(first == second, "where in the C library it was does not make another path");
	nr_stacks = 0;
	take(0, "*__libc_start_main main rest *memcpy", false);
	hotpath_init(&hotpath, stacks, 1, 100);
	ok(first != hotpath_hash(&hotpath), "another function of the program does");
	hotpath_deinit(&hotpath);
	ok(hotpath_is_system("/usr/lib/x86_64-linux-gnu/libc.so.6") &&
		   hotpath_is_system("/lib/ld-linux-x86-64.so.2") && hotpath_is_system("[vdso]") &&
		   !hotpath_is_system("/usr/lib/libcrypto.so.3") && !hotpath_is_system(NULL) &&
		   !hotpath_is_system("/opt/libc.d/server"),
	   "what is a system library");
}

static void test_recursion(void)
{
	struct hotpath hotpath;

	nr_stacks = 0;
	take(0, "main walk walk walk leaf", false);
	take(50, "main walk walk walk walk walk leaf", false);
	ok(!hotpath_init(&hotpath, stacks, 2, 100) &&
		   is_path(&hotpath, "main 100 walk 100 leaf 100"),
	   "a recursion is one step, however deep");
	ok(hotpath.steps[1].nr_calls == 5 && hotpath.steps[0].nr_calls == 1,
	   "that says how deep it was");
	ok(find(&hotpath, "walk")->total_ns == 100, "its time counts once");
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "main expr term expr term expr term leaf", false);
	take(50, "main expr term leaf", false);
	ok(!hotpath_init(&hotpath, stacks, 2, 100) &&
		   is_path(&hotpath, "main 100 expr 100 term 100 leaf 100"),
	   "so is one of two functions");
	hotpath_deinit(&hotpath);

	nr_stacks = 0;
	take(0, "main a b a c", false);
	ok(!hotpath_init(&hotpath, stacks, 1, 100) &&
		   is_path(&hotpath, "main 100 a 100 b 100 a 100 c 100"),
	   "a function that comes again is no recursion to fold");
	ok(find(&hotpath, "a")->total_ns == 100, "and still counts once");
	hotpath_deinit(&hotpath);
}

static void test_places(void)
{
	struct hotpath hotpath;
	struct hotpath_place place;
	struct frame other, bare = { .pc = 0x1234 };
	struct frame made = { .pc = 0x7f0000001234, .region = 0x7f0000001000 };

	nr_stacks = 0;
	take(0, "main work", false);
	take(10, "main work", false);
	/* The same file at another path and address: another process image of it. */
	frames[1][0].module = "/proc/1/root/usr/bin/server";
	frames[1][0].pc += 0x1000000;
	frames[1][0].start += 0x1000000;
	ok(!hotpath_init(&hotpath, stacks, 2, 20) && is_path(&hotpath, "main 100 work 100"),
	   "the build id identifies the file");
	hotpath_deinit(&hotpath);
	frames[1][0].build_id = "bb";
	ok(!hotpath_init(&hotpath, stacks, 2, 14) && is_path(&hotpath, "main 100 work 71"),
	   "another build is another function");
	hotpath_deinit(&hotpath);

	other = frames[0][0];
	other.function = NULL;
	place = hotpath_place(&other);
	ok(place.offset == other.offset - (other.pc - other.start) && !place.function,
	   "a function without a name is known by its first byte");
	other.start = 0;
	ok(hotpath_place(&other).offset == other.offset, "or by the place, if that is unknown");
	ok(hotpath_place(&bare).offset == 0x1234 && !hotpath_place(&bare).module,
	   "code without a file by its address");
	ok(hotpath_place(&made).offset == 0x7f0000001000, "or by the memory that it is in");
}

static void test_focus(void)
{
	struct hotpath hotpath;

	nr_stacks = 0;
	take(0, "_start main serve list encode", false);
	take(20, "_start main serve list copy", false);
	take(45, "_start main serve list seek next", false);
	take(70, "_start main serve list reply", false);
	hotpath_init(&hotpath, stacks, 4, 100);
	ok(hotpath_focus(&hotpath) && !strcmp(hotpath_focus(&hotpath)->place.function, "list"),
	   "where no function has most of the time, who called them all");
	hotpath_deinit(&hotpath);
	hotpath_init(&hotpath, stacks, 2, 1000);
	ok(!hotpath_focus(&hotpath) && is_first(&hotpath, "copy"), "where one has, nobody else");
	hotpath_deinit(&hotpath);
	nr_stacks = 0;
	take(0, "_start main one", false);
	take(50, "_start main two", false);
	hotpath_init(&hotpath, stacks, 2, 100);
	ok(!hotpath_focus(&hotpath), "not where any program begins");
	hotpath_deinit(&hotpath);
}

int main(void)
{
	plan(45);
	test_weights();
	test_edges();
	test_scatter();
	test_several();
	test_system();
	test_recursion();
	test_places();
	test_focus();
	return tap_status();
}
