// SPDX-License-Identifier: GPL-2.0
/* In the guest: begin or end the counting of the plugin guest-count. */

#include <err.h>
#include <string.h>

#include "guest-count.h"

/* nopl DISPLACEMENT(%rax) */
#define MARK(mark) __asm__ volatile("nopl %c0(%%rax)" : : "i" (mark))

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "begin"))
		MARK(GUEST_MARK_BEGIN);
	else if (argc == 2 && !strcmp(argv[1], "end"))
		MARK(GUEST_MARK_END);
	else
		errx(2, "usage: guest-mark begin|end");
	return 0;
}
