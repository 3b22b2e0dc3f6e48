// SPDX-License-Identifier: GPL-2.0
/* Code that uses the base of gs, by hand; programs of Debian do not. */

#include "binary/code/gs-base.h"
#include "program.h"
#include "tap.h"

static const struct {
	const char *bytes;
	size_t size;
	bool is_used;
	const char *name;
} cases[] = {
#define CASE(bytes, is_used, name) { bytes, sizeof(bytes) - 1, is_used, name }
	CASE("\x65\x48\x8b\x04\x25\x28\0\0\0", true, "mov from gs"),
	CASE("\x65\x48\x89\x07", true, "mov to gs, by a register"),
	CASE("\x65\xff\x25\0\0\0\0", true, "jmp by a pointer there"),
	CASE("\xf3\x48\x0f\xae\xd8", true, "wrgsbase"),
	CASE("\xf3\x0f\xae\xdf", true, "of 32 bits"),
	CASE("\x90\xc3\x55\x65\x48\xa1\0\0\0\0\0\0\0\0", true, "behind others"),
	CASE("\xf3\x48\x0f\xae\xd0", false, "wrfsbase"),
	CASE("\x0f\xae\x18", false, "stmxcsr"),
	CASE("\x64\x48\x8b\x04\x25\x28\0\0\0", false, "mov from fs"),
	CASE("\x48\xb8\x65\x48\x8b\x04\x25\x28\0\0", false, "a constant that looks like it"),
	CASE("\x65\x90", false, "a prefix that means nothing"),
};

enum {
	NR_CASES = sizeof(cases) / sizeof(cases[0]),
};

static bool is_used_by(const char *bytes, size_t size, const struct insn_decoder *decoder)
{
	struct file_view view = { .bytes = (const uint8_t *)bytes, .size = size };
	struct range range = { .addr = 0x1000, .size = (uint32_t)size };
	struct functions functions = {
		.view = &view, .decoder = *decoder, .ranges = { .entries = &range, .nr = 1 },
	};

	return gs_base_is_used(&functions);
}

int main(void)
{
	struct insn_decoder decoder;

	plan(NR_CASES + NR_DEBIAN);
	if (insn_decoder_init(&decoder))
		exit(1);
	for (size_t i = 0; i < NR_CASES; i++)
		ok(is_used_by(cases[i].bytes, cases[i].size, &decoder) == cases[i].is_used, "%s",
		   cases[i].name);
	insn_decoder_deinit(&decoder);
	for (int i = 0; i < NR_DEBIAN; i++) {
		struct code_map *code = open_code(debian[i]);

		if (!code) {
			skip(1, debian[i]);
			continue;
		}
		ok(!gs_base_is_used(&code->functions), "%s: not used", debian[i]);
		code_map_close(code);
	}
	return tap_status();
}
