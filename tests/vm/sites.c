// SPDX-License-Identifier: GPL-2.0
/*
 * Where breakpoints go in a file, a line each: the place, how far SP is from
 * that at the function's entry, and whether the place is cheap.
 *
 * usage: sites FILE          a guard site of each function
 *        sites FILE STRIDE   each STRIDEth instruction that the module carries
 *                            out, wherever it is; SP is not known then
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "binary/code/code-map.h"

static void print_site(const struct code_map *code, const struct function *function)
{
	struct probe_site site;

	probe_site_find(&code->functions, function, &site);
	if (site.class != PROBE_SITE_NONE)
		printf("%" PRIu64 " %u %d\n", site.offset, site.sp_delta,
		       site.class == PROBE_SITE_CHEAP);
}

static void print_insns(const struct code_map *code, const struct function *function,
			unsigned long stride)
{
	const uint8_t *bytes = code->functions.view->bytes + function->offset;
	static unsigned long nr;
	struct insn insn;

	for (uint32_t at = 0; at < function->size; at += insn.size) {
		if (!insn_decode(&code->functions.decoder, bytes + at, function->size - at,
				 function->addr + at, &insn))
			return;
		if (probe_site_step_mode(bytes + at, &insn) == STEP_MODE_MODULE && !(nr++ % stride))
			printf("%" PRIu64 " 0 1\n", function->offset + at);
	}
}

int main(int argc, char **argv)
{
	unsigned long stride = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct code_map *code;
	int fd;

	if (argc < 2)
		return 2;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || code_map_open(fd, argv[1], &code))
		return 1;
	for (uint32_t i = 0; i < code->functions.nr; i++) {
		const struct function *function = &code->functions.entries[i];

		if (stride && function->is_sound && !function->is_plt)
			print_insns(code, function, stride);
		else if (!stride)
			print_site(code, function);
	}
	code_map_close(code);
	return 0;
}
