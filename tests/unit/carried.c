// SPDX-License-Identifier: GPL-2.0
/*
 * A program with a loop, built twice for test-carry: once with -DNEW, which changes some of its
 * functions, the frames of others, and what stands where.  It prints where its functions are
 * called below the frame of its loop, and where its wait is, as it finds them while it runs.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

extern const char __executable_start[];

static char *loop_sp;
static volatile int sink;

#define FUNCTION __attribute__((noipa))
/* The stack pointer at the function's entry is 8 below this. */
#define ENTER() note(__func__, __builtin_dwarf_cfa())

static FUNCTION void note(const char *name, char *cfa)
{
	if (loop_sp)
		printf("F %s %ld\n", name, loop_sp - cfa + 8);
}

/* A frame whose size both builds choose. */
#define LOCALS(old_size, new_size) \
	volatile char locals[NEW ? (new_size) : (old_size)]; \
	locals[0] = 1; \
	sink += locals[0]

#ifdef NEW
#undef NEW
#define NEW 1
static FUNCTION int added_before(int value)
{
	ENTER();
	for (int i = 0; i < value; i++)
		sink += i * 3 + value / (i + 1);
	return sink;
}
#else
#define NEW 0
static FUNCTION int only_old(int value)
{
	ENTER();
	for (int i = value; i > 0; i -= 3)
		sink ^= i << 2;
	return sink & 7;
}
#endif

static FUNCTION int twin_first(int value)
{
	ENTER();
	return value * 7 + sink;
}

static FUNCTION int twin_second(int value)
{
	ENTER();
	return value * 7 + sink;
}

static FUNCTION int leaf(int value)
{
	ENTER();
	for (int i = 0; i < 5; i++)
		sink += value ^ i;
	return sink;
}

/* Its frame differs, and with it the depth of what it calls. */
static FUNCTION int look_up(const char *key)
{
	LOCALS(24, 136);
	ENTER();
	sink += (int)strlen(key);
	return leaf((int)strlen(key)) + 1;
}

/* Its code differs, not its frame. */
static FUNCTION int parse(const char *text)
{
	int sum = 0;

	ENTER();
	for (const char *at = text; *at; at++)
#if NEW
		sum += *at == ':' ? 17 : *at == ';' ? 4 : *at;
#else
		sum += *at == ':' ? 17 : *at;
#endif
	sink += printf("%s%d", sum < 0 ? "no such text" : "", 0) - 1;
	putchar('\n');
	return sum + look_up(text);
}

static FUNCTION int answer(int code)
{
	ENTER();
	if (code < 0)
		puts("an answer that never comes");
	return twin_first(code) + twin_second(code + 1);
}

static FUNCTION int serve_get(const char *text)
{
	ENTER();
	if (!text[0])
		puts("nothing to get");
	return parse(text) + answer(200);
}

static FUNCTION int serve_put(const char *text)
{
	LOCALS(40, 40);
	ENTER();
	if (text[0] == '!')
		puts("cannot put that");
#if NEW
	sink += added_before(2);
#else
	sink += only_old(2);
#endif
	return look_up(text) + answer(201);
}

static FUNCTION int handle(int kind)
{
	static int (*const handlers[])(const char *) = { serve_get, serve_put };

	loop_sp = __builtin_dwarf_cfa();
	ENTER();
	return handlers[kind]("key:value");
}

/* The slot of its return address is 8 below its CFA. */
static FUNCTION long wait_for(long fd)
{
	char *slot = (char *)__builtin_dwarf_cfa() - 8, *sp;
	LOCALS(16, 80);
	long ret = SYS_getppid;

	__asm__ volatile("mov %%rsp, %1\n\tsyscall" : "+a"(ret), "=r"(sp) : : "rcx", "r11", "memory");
	if (fd)
		printf("W %lu %ld %ld\n",
		       (unsigned long)((char *)__builtin_return_address(0) - __executable_start),
		       slot - sp, slot + 8 - sp);
	return ret;
}

static FUNCTION void loop(void)
{
	LOCALS(64, 200);
	for (int i = 0; i < 2; i++) {
		wait_for(i);
		sink += handle(i);
	}
}

int main(void)
{
	loop();
	return 0;
}
