// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose work is done by code that it makes at run time.  Its loop waits in poll() for
 * a line of standard input.
 *
 *   calls N     machine code that it made calls work(), N times
 *   alone N     such code calls nothing, as that of a regular expression
 */

#include <err.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TURNS = 20000 };

/* push %rbp; mov %rsp,%rbp; push %rbx; push %r12; mov %rdi,%rbx; mov %rsi,%r12
 * again: call *%r12; dec %rbx; jnz again; pop %r12; pop %rbx; pop %rbp; ret */
static const uint8_t calling[] = {
	0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0x48, 0x89, 0xfb, 0x49, 0x89, 0xf4,
	0x41, 0xff, 0xd4, 0x48, 0xff, 0xcb, 0x75, 0xf8, 0x41, 0x5c, 0x5b, 0x5d, 0xc3,
};

/* imul $20000,%rdi,%rdi; again: dec %rdi; jnz again; ret */
static const uint8_t counting[] = {
	0x48, 0x69, 0xff, 0x20, 0x4e, 0x00, 0x00, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3,
};

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void work(void)
{
	for (volatile int i = 0; i < TURNS; i++)
		;
}

typedef void (*generated)(uint64_t times, void (*called)(void));

static generated generate(const uint8_t *code, size_t size)
{
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "memory for code");
	memcpy(memory, code, size);
	return (generated)(uintptr_t)memory;
}

int main(void)
{
	generated call = generate(calling, sizeof(calling));
	generated count = generate(counting, sizeof(counting));
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[64];
	ssize_t size;

	for (;;) {
		if (poll(&in, 1, -1) <= 0)
			continue;
		size = read(STDIN_FILENO, line, sizeof(line) - 1);
		if (size <= 0)
			return 0;
		line[size] = 0;
		(*line == 'c' ? call : count)(strtoull(line + 6, NULL, 10), work);
		if (write(STDOUT_FILENO, "ok\n", 3) != 3)
			return 1;
	}
}
