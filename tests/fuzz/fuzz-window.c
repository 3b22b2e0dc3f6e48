// SPDX-License-Identifier: GPL-2.0
/* Instructions in place of which a jump is put: wherever code may begin. */

#include <perfguard/window.h>

#include "binary/code/scan.h"
#include "fuzz.h"

enum { MAX_PLACES = 256 };

void fuzz_one(const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at < len && at < MAX_PLACES; at++) {
		struct pguard_window window;
		struct scan scan;

		if (pguard_window_prepare(&window, bytes + at, (uint32_t)(len - at)))
			continue;
		if (!scan_insn(bytes + at, len - at, 0, &scan) || scan.size != window.length)
			abort();
	}
}
