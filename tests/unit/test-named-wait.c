// SPDX-License-Identifier: GPL-2.0
/* Waits that an operator names, and the words that are guessed. */

#include <string.h>
#include <sys/syscall.h>

#include "app/audit/named-wait.h"
#include "base/guess.h"
#include "base/log.h"
#include "tap.h"

static void drop(enum log_level level, const char *line)
{
	(void)level;
	(void)line;
}

static int parse(struct named_waits *waits, const char *text)
{
	const struct option_use use = { .verb = "audit", .text = text, .name = "--loop" };

	return option_loop(&use, waits);
}

/* As text_frame() has them: the second function has no name. */
static const struct frame frames[] = {
	{ .module = "/lib/libc.so.6", .offset = 0xf7, .function = "epoll_wait", .function_offset = 7 },
	{ .module = "/usr/sbin/server", .offset = 0x53ff4 },
	{ .module = "/usr/sbin/server", .offset = 0x100, .function = "a::run(int)",
	  .function_offset = 0x10 },
};

static uint32_t find(const char *text, uint32_t syscall)
{
	struct named_waits waits = { .nr = 0 };

	return parse(&waits, text) ? NAMED_WAIT_NONE - 1 :
				     named_waits_frame(&waits, syscall, frames, 3);
}

static const char *guess(const char *wanted)
{
	struct guess guess = { .wanted = wanted };

	guess_offer(&guess, "slower-than");
	guess_offer(&guess, "top");
	guess_offer(&guess, "json");
	guess_offer(&guess, "duration");
	return guess.word ? guess.word : "";
}

int main(void)
{
	struct named_waits waits = { .nr = 0 };
	static const char *const wrong[] = {
		"", "@", "epoll_wait", "epoll_wait@", "epoll_wait@+0x1", "epoll_wait@server",
		"epoll_wait@server+", "epoll_wait@server+0x1z", "epoll_wait@server+-1",
		"openat@server+0x1", "@server+0x1",
	};
	int nr = 0;

	plan(13);
	log_set_writer(drop, true);
	ok(find("epoll_wait@server+0x53ff4", SYS_epoll_wait) == 1, "by the file and the address in it");
	ok(find("epoll_wait@server+53ff4", SYS_epoll_wait) == 1, "which is hexadecimal");
	ok(find("epoll_wait@a::run(int)+0x10", SYS_epoll_wait) == 2, "by the function");
	ok(find("epoll_wait@server+0x100", SYS_epoll_wait) == 2, "or by the file all the same");
	ok(find("epoll_wait@server+0x53ff4", SYS_poll) == NAMED_WAIT_NONE, "not in another call");
	ok(find("epoll_wait@server+0x53ff5", SYS_epoll_wait) == NAMED_WAIT_NONE, "nor at another place");
	ok(find("epoll_wait@serve+0x53ff4", SYS_epoll_wait) == NAMED_WAIT_NONE, "nor in another file");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		nr += !parse(&waits, wrong[i]);
	ok(!nr && !waits.nr, "what is no wait is refused");
	for (int i = 0; i < NAMED_WAITS_MAX; i++)
		nr += !parse(&waits, "futex@server+0x1");
	ok(nr == NAMED_WAITS_MAX && parse(&waits, "futex@server+0x1"), "one too many, too");
	ok(!strcmp(guess("slower-then"), "slower-than"), "a letter");
	ok(!strcmp(guess("jsno"), "json") && !strcmp(guess("durations"), "duration"),
	   "two in the wrong order, one too many");
	ok(!*guess("to-the-end") && !*guess("x") && !*guess(""), "no word is like it");
	ok(!*guess("slower-than-all-others-of-its-kind-ever"), "nor like what is very long");
	return tap_status();
}
