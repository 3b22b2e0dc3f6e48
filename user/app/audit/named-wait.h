/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits that an operator says are the loops' own, in place of those that would be found:
 * SYSCALL@MODULE+0xOFFSET or SYSCALL@FUNCTION+0xOFFSET, as an audit prints them.
 */
#ifndef _USER_APP_AUDIT_NAMED_WAIT_H
#define _USER_APP_AUDIT_NAMED_WAIT_H

#include <stdint.h>

#include "app/common/options.h"
#include "data/frame.h"

enum {
	NAMED_WAITS_MAX = 8,
	NAMED_WAIT_NONE = UINT32_MAX,
};

struct named_wait {
	const char *text; /* all of it */
	const char *place; /* behind the @ */
	int place_size; /* of it, up to the last + */
	uint32_t syscall;
	uint64_t offset;
};

struct named_waits {
	struct named_wait of[NAMED_WAITS_MAX];
	uint32_t nr; /* 0: loops are found */
};

/* --loop, which can be given several times; sets a struct named_waits. */
int option_loop(const struct option_use *use, void *to);

#define NAMED_WAIT_OPTION(at_) { 0, "loop", "WAIT", option_loop, at_, .help = \
	"take this wait alone for the loop's own, whatever else would be: SYSCALL@MODULE+OFFSET, as an " \
	"audit prints it; may be given several times" }

/*
 * Which of @nr_frames, innermost first, of a thread that waits in @syscall is the one of a named
 * wait; or NAMED_WAIT_NONE.
 */
uint32_t named_waits_frame(const struct named_waits *waits, uint32_t syscall,
			   const struct frame *frames, uint32_t nr_frames);

#endif /* _USER_APP_AUDIT_NAMED_WAIT_H */
