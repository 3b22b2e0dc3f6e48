// SPDX-License-Identifier: GPL-2.0
/*
 * Code of known shape for test-functions, test-site and test-cfg, which read
 * a stripped copy and compare with the symbols of this one.  The program is
 * never run.  The name of the function that is called says where the call is.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK(name) \
	__attribute__((noipa)) int name(int value) \
	{ \
		__asm__ volatile("" : "+r"(value)); \
		return value; \
	}

MARK(in_no_loop)
MARK(in_one_loop)
MARK(in_two_loops)
MARK(in_three_loops)
MARK(in_switch_in_loop)
MARK(in_cold_part_of_loop)
MARK(in_goto_loop)

volatile int limit = 10;
int (*volatile handler)(int) = in_no_loop;

__attribute__((noipa, noreturn, cold)) void never_returns(int code)
{
	fprintf(stderr, "failed: %d\n", code);
	exit(code);
}

__attribute__((noipa)) int has_no_loop(int value)
{
	return in_no_loop(value) + in_no_loop(value + 1);
}

__attribute__((noipa)) int has_loop(int value)
{
	int sum = in_no_loop(value);

	for (int i = 0; i < limit; i++)
		sum += in_one_loop(i);
	return sum + in_no_loop(sum);
}

__attribute__((noipa)) int has_nested_loops(int value)
{
	int sum = 0;

	for (int i = 0; i < limit; i++) {
		sum += in_one_loop(i);
		for (int k = 0; k < limit; k++) {
			sum += in_two_loops(k);
			for (int m = 0; m < limit; m++)
				sum += in_three_loops(m + value);
			if (sum > limit)
				break;
		}
	}
	return sum;
}

/* The way back leads through a jump table only. */
__attribute__((noipa)) int has_switch(const unsigned char *code)
{
	int sum = 0;

	for (;;) {
		switch (*code++) {
		case 0: sum = in_switch_in_loop(sum + 7); break;
		case 1: sum = in_switch_in_loop(sum * 3); break;
		case 2: sum ^= in_switch_in_loop(sum + 1); break;
		case 3: sum = in_switch_in_loop(-sum); break;
		case 4: sum += in_switch_in_loop(sum << 2); break;
		case 5: sum = in_switch_in_loop(sum / 3); break;
		case 6: sum -= in_switch_in_loop(sum & 15); break;
		case 7: break;
		case 8: return in_no_loop(sum);
		default: never_returns(sum);
		}
	}
}

/* The same near the entry, where a guard would count each round. */
__attribute__((noipa)) int has_early_switch(const unsigned char *code)
{
	for (;;) {
		switch (*code++) {
		case 0: return limit * 3;
		case 1: return limit + 22;
		case 2: return limit - code[1];
		case 3: return limit << 4;
		case 4: return limit / 5;
		case 5: return limit ^ code[2];
		case 6: return limit % 7;
		case 7: break;
		default: return 0;
		}
	}
}

/* A switch of its own, without a loop. */
__attribute__((noipa)) int has_only_switch(int value)
{
	switch (value) {
	case 10: return in_no_loop(1);
	case 11: return in_no_loop(22) + 1;
	case 12: return in_no_loop(3) * 2;
	case 13: return in_no_loop(44) ^ 5;
	case 14: return in_no_loop(5) - 3;
	case 15: return in_no_loop(66) / 7;
	case 17: return in_no_loop(7) % 5;
	}
	return 0;
}

__attribute__((noipa)) int has_cold_part(int value)
{
	char text[64];

	for (int i = 0; i < limit; i++) {
		value += in_one_loop(i);
		if (__builtin_expect(value < 0, 0)) {
			snprintf(text, sizeof(text), "%d", value);
			value = in_cold_part_of_loop((int)strlen(text));
			perror(text);
		}
	}
	return value;
}

/* Its cold part does not come back. */
__attribute__((noipa)) int has_cold_end(int *value)
{
	if (!value)
		never_returns(1);
	*value = in_no_loop(*value);
	if (*value < 0)
		never_returns(*value + in_no_loop(*value));
	return *value;
}

__attribute__((noipa)) int has_goto_loop(int value)
{
again:
	value = in_goto_loop(value);
	if (value > limit)
		goto again;
	return value;
}

/* The function's own first instruction is where its loop begins. */
int has_entry_loop(int value);
__asm__(".text\n"
	".p2align 4\n"
	".globl has_entry_loop\n"
	".type has_entry_loop, @function\n"
	"has_entry_loop:\n"
	".cfi_startproc\n"
	"sub $1, %edi\n"
	"jg has_entry_loop\n"
	"mov %edi, %eax\n"
	"ret\n"
	".cfi_endproc\n"
	".size has_entry_loop, . - has_entry_loop\n");

__attribute__((noipa)) int calls_indirectly(int value)
{
	for (int i = 0; i < limit; i++)
		value += handler(i);
	return value;
}

__attribute__((noipa)) int tail_calls(int value)
{
	return handler(value + 1);
}

__attribute__((noipa)) int is_leaf(int value)
{
	return value * 3 + limit;
}

__attribute__((noipa)) int pushes_much(int a, int b, int c, int d, int e, int f, int g)
{
	int first = in_no_loop(a), second = in_no_loop(b), third = in_no_loop(c);

	return first * d + second * e + third * f + g;
}

__attribute__((noipa)) int takes_many(const char *format, ...)
{
	va_list args;
	int ret;

	va_start(args, format);
	ret = vprintf(format, args);
	va_end(args);
	return ret;
}

/* What follows its last instruction, a call, is another function. */
__attribute__((noipa)) void ends_with_call(int value)
{
	if (value)
		never_returns(value);
	never_returns(in_no_loop(value));
}

__attribute__((noipa)) int follows(int value)
{
	return in_no_loop(value) + 1;
}

int main(int argc, char **argv)
{
	int sum = has_no_loop(argc) + has_loop(argc) + has_nested_loops(argc);

	sum += has_switch((unsigned char *)argv[0]) + has_only_switch(argc);
	sum += has_early_switch((unsigned char *)argv[0]);
	sum += has_cold_part(sum) + has_cold_end(&sum) + has_goto_loop(sum);
	sum += has_entry_loop(sum) + calls_indirectly(sum) + tail_calls(sum) + is_leaf(sum);
	sum += pushes_much(1, 2, 3, 4, 5, 6, sum) + takes_many("%d", sum) + follows(sum);
	ends_with_call(sum);
	return sum;
}
