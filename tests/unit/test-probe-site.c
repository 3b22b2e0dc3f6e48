// SPDX-License-Identifier: GPL-2.0
/*
 * Where guards go: single instructions, functions made by hand, and all sites
 * of Debian's programs, checked once more by a plain reading of their bytes, by
 * another disassembler, and by the unwind tables.
 */

#include <capstone/capstone.h>
#include <perfguard/window.h>

#include "binary/code/window-site.h"
#include "program.h"
#include "tap.h"

static const struct {
	const char *bytes;
	size_t size;
	enum step_mode wanted;
	const char *name;
} cases[] = {
#define CASE(bytes, wanted, name) { bytes, sizeof(bytes) - 1, STEP_MODE_##wanted, name }
	CASE("\x55", KERNEL, "push %rbp"),
	CASE("\x54", KERNEL, "push %rsp"),
	CASE("\x41\x57", KERNEL, "push %r15"),
	CASE("\x40\x55", STEPPED, "push %rbp with an empty REX"),
	CASE("\x48\x55", STEPPED, "push %rbp with REX.W"),
	CASE("\x48\x67\x55", REFUSED, "push %rbp with REX that is not just before the opcode"),
	CASE("\x66\x55", STEPPED, "push %bp"),
	CASE("\xff\x30", STEPPED, "push from memory"),
	CASE("\x6a\x01", STEPPED, "push of a constant"),
	CASE("\x90", KERNEL, "nop"),
	CASE("\x66\x90", KERNEL, "nop of two bytes"),
	CASE("\xf3\x90", MODULE, "pause"),
	CASE("\x49\x90", REFUSED, "xchg %rax,%r8, which kernels take for nop"),
	CASE("\x0f\x1f\x44\x00\x00", MODULE, "nop of five bytes"),
	CASE("\x2e\x66\x0f\x1f\x84\x00\x00\x00\x00\x00", REFUSED, "nop with cs"),
	CASE("\xf3\x0f\x1e\xfa", MODULE, "endbr64"),
	CASE("\xe8\x00\x00\x00\x00", KERNEL, "call"),
	CASE("\x67\xe8\x00\x00\x00\x00", KERNEL, "call with addr32"),
	CASE("\xf2\xe9\x00\x00\x00\x00", KERNEL, "bnd jmp"),
	CASE("\x66\x66\x48\xe8\x00\x00\x00\x00", REFUSED, "call of __tls_get_addr"),
	CASE("\xe9\x00\x00\x00\x00", KERNEL, "jmp"),
	CASE("\xeb\x00", KERNEL, "short jmp"),
	CASE("\x74\x00", KERNEL, "short je"),
	CASE("\x3e\x74\x00", REFUSED, "je with a hint"),
	CASE("\x0f\x84\x00\x00\x00\x00", KERNEL, "je"),
	CASE("\xe3\x00", STEPPED, "jrcxz"),
	CASE("\xff\xe0", STEPPED, "jmp *%rax"),
	CASE("\xff\x15\x00\x00\x00\x00", STEPPED, "call through memory"),
	CASE("\xc3", STEPPED, "ret"),
	CASE("\x48\x83\xec\x08", STEPPED, "sub of %rsp"),
	CASE("\x89\xf8", MODULE, "mov"),
	CASE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00", STEPPED, "mov from fs"),
	CASE("\xf0\x48\xff\x07", REFUSED, "lock inc"),
	CASE("\x36\x8b\x07", REFUSED, "mov from ss"),
	CASE("\xc5\xf9\xeb\xc1", REFUSED, "vpor, which kernels take for jmp"),
	CASE("\xc5\xf9\x74\xc1", REFUSED, "vpcmpeqb, which kernels take for je"),
	CASE("\x62\xf1\x7d\x48\xeb\xc1", REFUSED, "vpord"),
	CASE("\x66\x0f\xeb\xc1", STEPPED, "por"),
	CASE("\xf3\x48\xab", REFUSED, "rep stos: a hit for each round"),
	CASE("\x48\xab", STEPPED, "stos"),
	CASE("\xcc", REFUSED, "int3"),
	CASE("\x0f\x0b", REFUSED, "ud2"),
	CASE("\x0f\x05", REFUSED, "syscall"),
	CASE("\xcd\x80", REFUSED, "int 0x80"),
	CASE("\xf4", REFUSED, "hlt"),
	CASE("\x8e\xd0", REFUSED, "mov to ss"),
	CASE("\xc7\xf8\x00\x00\x00\x00", REFUSED, "xbegin"),
	CASE("\x0f\xae\xf0", REFUSED, "mfence"),
};

enum {
	NR_CASES = sizeof(cases) / sizeof(cases[0]),
};

static struct insn_decoder decoder;

static void test_cases(void)
{
	for (size_t i = 0; i < NR_CASES; i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
		struct insn insn;

		if (!ok(insn_decode(&decoder, bytes, cases[i].size, 0, &insn) &&
			insn.size == cases[i].size &&
			probe_site_step_mode(bytes, &insn) == cases[i].wanted, "%s", cases[i].name))
			diag("%d bytes, %d", insn.size, probe_site_step_mode(bytes, &insn));
	}
}

/* The site of a function of these bytes, byte @target of which is jumped to. */
static struct probe_site find_in(const char *bytes, size_t size, uint32_t target, bool at_entry)
{
	struct file_view view = { .bytes = (const uint8_t *)bytes, .size = size };
	struct functions functions = { .view = &view, .decoder = decoder };
	struct function function = {
		.addr = 0x1000, .size = (uint32_t)size, .is_sound = true, .entry_is_target = at_entry,
	};
	struct probe_site site;

	if (target)
		function.near[target / 64] |= 1ull << target % 64;
	probe_site_find(&functions, &function, &site);
	return site;
}

#define FIND(bytes, target) find_in(bytes, sizeof(bytes) - 1, target, false)

static bool is_site(struct probe_site site, enum probe_site_class class, uint64_t offset,
		    uint32_t sp_delta)
{
	if (site.class == class && site.offset == offset && site.sp_delta == sp_delta)
		return true;
	diag("class %d at %lu, delta %u", site.class, (unsigned long)site.offset, site.sp_delta);
	return false;
}

#define IS(bytes, target, class, offset, sp_delta) \
	is_site(FIND(bytes, target), PROBE_SITE_##class, offset, sp_delta)

#define NOP5 "\x0f\x1f\x44\x00\x00"
#define MUL "\xf7\xe1" /* stepped */
#define MOV "\x89\xf8"
#define SUB_24 "\x48\x83\xec\x18"
#define JE "\x74\x00"
#define RET "\xc3"
#define ENDBR "\xf3\x0f\x1e\xfa"

static void test_functions(void)
{
	ok(IS(NOP5 MOV RET, 0, CHEAP, 0, 0), "the entry, if the kernel emulates it");
	ok(IS(MOV "\x55" RET, 0, CHEAP, 0, 0), "or the module carries it out");
	ok(IS("\x55" "\x41\x54" MOV RET, 0, CHEAP, 3, 16),
	   "behind a push, for which the kernel writes to the stack");
	ok(IS("\x55" MUL "\x53" RET, 0, CHEAP, 0, 0),
	   "but the first push, if all else is stepped");
	ok(IS("\x55" MOV RET, 1, CHEAP, 0, 0), "or jumped to");
	ok(IS("\x55" "\xe8\0\0\0\0" MOV RET, 0, CHEAP, 0, 0),
	   "or a call, which is no better");
	ok(IS(ENDBR "\x55", 0, CHEAP, 0, 0), "as it does endbr64");
	ok(IS(SUB_24 MOV JE RET, 0, CHEAP, 4, 24), "a move below the entry");
	ok(IS(SUB_24 MUL JE RET, 0, CHEAP, 6, 24), "or a branch");
	ok(IS(SUB_24 NOP5 JE RET, 0, CHEAP, 9, 24), "but no nop of five bytes");
	ok(IS(NOP5 RET, 0, CHEAP, 0, 0), "unless at the entry");
	ok(IS("\x6a\x01" "\x58" "\x6a\x01" "\xe8\0\0\0\0", 0, CHEAP, 5, 8),
	   "push and pop are counted");
	ok(IS("\x48\x8d\x64\x24\xf0" JE, 0, CHEAP, 5, 16), "so is lea");
	ok(IS("\x48\x81\xec\x00\x10\x00\x00" JE, 0, CHEAP, 7, 4096),
	   "and a large sub");
	ok(IS(MUL MUL MUL MUL MUL MUL MUL JE, 0, CHEAP, 14, 0), "the eighth");
	ok(IS(MUL MUL MUL MUL MUL MUL MUL MUL JE, 0, STEPPED, 0, 0),
	   "the ninth is too far");
	ok(IS(MUL MUL JE RET, 4, STEPPED, 0, 0), "no site that is jumped to");
	ok(IS(MUL MUL JE RET, 2, STEPPED, 0, 0), "and none behind such a place");
	ok(IS(MUL RET JE, 0, STEPPED, 0, 0), "none behind a return");
	ok(IS("\xff\xd0" JE, 0, STEPPED, 0, 0), "none behind an indirect call");
	ok(IS("\x3e\x74\x00" "\x55", 0, NONE, 0, 0), "none behind a refused branch");
	ok(IS("\x48\x83\xe4\xf0" JE, 0, STEPPED, 0, 0),
	   "none where SP is not known any more: and");
	ok(IS("\x48\x89\xc4" JE, 0, STEPPED, 0, 0), "mov to %%rsp");
	ok(IS("\xc9" JE, 0, STEPPED, 0, 0), "leave");
	ok(IS("\x58" "\x55", 0, STEPPED, 0, 0), "none above the entry's SP");
	ok(IS(MUL "\x49\x89\xe2", 0, CHEAP, 2, 0), "mov from %%rsp is fine");
	ok(IS("\xc5\xf9\xeb\xc1" RET, 0, NONE, 0, 0), "no site at all");
	ok(IS("\xc5\xf9\xeb\xc1" JE, 0, CHEAP, 4, 0), "a site behind a refused one");
	ok(is_site(find_in("\x55\xc3", 2, 0, true), PROBE_SITE_NONE, 0, 0),
	   "none if the entry is jumped to from inside");
	ok(IS("\x48\x83", 0, NONE, 0, 0), "none in a cut instruction");
}

static struct window_site window_in(const char *bytes, size_t size, uint32_t target)
{
	struct file_view view = { .bytes = (const uint8_t *)bytes, .size = size };
	struct functions functions = { .view = &view, .decoder = decoder };
	struct function function = { .addr = 0x1000, .size = (uint32_t)size, .is_sound = true };
	struct window_site site;

	if (target)
		function.near[target / 64] |= 1ull << target % 64;
	window_site_find(&functions, &function, &site);
	return site;
}

enum { NR_WINDOWS = 16 };

#define IS_WINDOW(bytes, target, at, delta, name) \
	do { \
		struct window_site site = window_in(bytes, sizeof(bytes) - 1, target); \
		ok(site.verdict == WINDOW_SITE_FOUND && site.offset == at && site.sp_delta == delta, \
		   "a window: %s", name); \
	} while (0)
#define HAS_NONE(bytes, target, why, name) \
	ok(window_in(bytes, sizeof(bytes) - 1, target).verdict == WINDOW_SITE_##why, \
	   "none: %s", name)
#define MOVL "\xb8\1\0\0\0"
#define SUB_256 "\x48\x81\xec\0\1\0\0"

static void test_window_sites(void)
{
	IS_WINDOW(MOVL RET, 0, 0, 0, "at the entry");
	IS_WINDOW("\x55" SUB_24 MOVL RET, 0, 5, 32, "below it");
	IS_WINDOW(SUB_256 "\x89\xf8" RET, 0, 0, 0, "a stepped one");
	IS_WINDOW(SUB_256 MOVL RET, 0, 7, 256, "but not if there is another");
	IS_WINDOW(MUL MUL MUL MUL MUL MUL MUL MUL MOVL RET, 0, 16, 0, "however far in");
	IS_WINDOW("\x55" "\x0f\x84\0\0\1\0" RET, 0, 1, 8, "a branch");
	IS_WINDOW("\x55" "\xe8\0\0\1\0" RET, 0, 1, 8, "a call");
	HAS_NONE("\x55" "\xe8\0\0\1\0" MOVL RET, 1, NONE, "all behind what is jumped to");
	HAS_NONE(JE MOVL RET, 0, NONE, "behind a branch");
	HAS_NONE(MOVL RET, 2, NONE, "jumped into");
	HAS_NONE(MOV RET, 0, NONE, "too short");
	HAS_NONE("\x48\x8b\x87\0\1\0\0" RET, 0, FAULTS, "memory by a register");
	HAS_NONE(NOP5 RET, 0, NOP, "a nop that kernels replace");
	HAS_NONE("\xff\x25\0\0\1\0", 0, INDIRECT, "a jump by a pointer");
	HAS_NONE("\xc5\xf9\x6f\x05\0\0\1\0" RET, 0, REFUSED, "a vector extension");
	HAS_NONE("\x48\x83\xe4\xf0" MOVL RET, 0, NONE, "SP is not known");
}

/*
 * push %r64, nop, jmp, jcc and call as kernels from 6.1 on emulate them, read
 * from the bytes alone.
 */
static bool is_emulated(const uint8_t *at)
{
	bool has_66 = false, has_rex = false;

	if (*at >= 0x50 && *at <= 0x57)
		return true;
	if (*at == 0x41 && at[1] >= 0x50 && at[1] <= 0x57)
		return true;
	for (;; at++) {
		if (*at == 0x66)
			has_66 = true;
		else if (*at != 0x67 && *at != 0xf2)
			break;
	}
	if (*at == 0x90)
		return true;
	if (*at >> 4 == 4) {
		has_rex = true;
		at++;
	}
	(void)has_rex;
	if (has_66)
		return false;
	return *at == 0xe8 || *at == 0xe9 || *at == 0xeb || *at >> 4 == 7 ||
	       (*at == 0x0f && at[1] >> 4 == 8);
}

struct jump {
	uint64_t target;
	uint64_t from;
	bool is_call;
};

struct jumps {
	struct jump *entries;
	size_t nr;
	size_t max;
};

static int compare(const void *left, const void *right)
{
	const struct jump *a = left, *b = right;

	return a->target < b->target ? -1 : a->target > b->target;
}

static bool is_call(const cs_insn *insn)
{
	return insn->id == X86_INS_CALL;
}

/* Direct jumps and calls, as text: 0x and the target. */
static void read_jumps(const struct code_map *code, csh capstone, struct jumps *ret)
{
	cs_insn *insn = cs_malloc(capstone);

	for (uint32_t i = 0; i < code->functions.ranges.nr; i++) {
		const struct range *range = &code->functions.ranges.entries[i];
		const uint8_t *at = code->object->view.bytes + range->offset;
		uint64_t addr = range->addr;
		size_t left = range->size;

		while (cs_disasm_iter(capstone, &at, &left, &addr, insn)) {
			if ((insn->mnemonic[0] != 'j' && !is_call(insn)) ||
			    strncmp(insn->op_str, "0x", 2))
				continue;
			if (ret->nr == ret->max) {
				ret->max = ret->max ? 2 * ret->max : 4096;
				ret->entries = realloc(ret->entries,
						       ret->max * sizeof(*ret->entries));
			}
			ret->entries[ret->nr++] = (struct jump){
				strtoull(insn->op_str, NULL, 16), insn->address, is_call(insn),
			};
		}
	}
	qsort(ret->entries, ret->nr, sizeof(*ret->entries), compare);
	cs_free(insn, 1);
}

/* True if every entry of the function, and nothing else, comes by the site. */
static bool is_once(const struct code_map *code, const struct jumps *jumps,
		    const struct function *function, uint64_t site)
{
	size_t low = 0, high = jumps->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (jumps->entries[mid].target < function->addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < jumps->nr && jumps->entries[low].target <= site; low++) {
		const struct jump *jump = &jumps->entries[low];

		if (jump->target != function->addr)
			return false;
		if (!jump->is_call && functions_find(&code->functions, jump->from) == function)
			return false;
	}
	return true;
}

/* The effect on SP of what another disassembler writes. */
static long sp_effect(const cs_insn *insn)
{
	if (!strcmp(insn->mnemonic, "push"))
		return 8;
	if (!strcmp(insn->mnemonic, "pop"))
		return -8;
	if (!strcmp(insn->mnemonic, "sub") && !strncmp(insn->op_str, "rsp, ", 5))
		return strtol(insn->op_str + 5, NULL, 0);
	if (!strcmp(insn->mnemonic, "add") && !strncmp(insn->op_str, "rsp, ", 5))
		return -strtol(insn->op_str + 5, NULL, 0);
	if (!strcmp(insn->mnemonic, "lea") && !strncmp(insn->op_str, "rsp, [rsp - ", 12))
		return strtol(insn->op_str + 12, NULL, 0);
	if (!strcmp(insn->mnemonic, "lea") && !strncmp(insn->op_str, "rsp, [rsp + ", 12))
		return -strtol(insn->op_str + 12, NULL, 0);
	return 0;
}

static bool is_flow(const cs_insn *insn)
{
	return insn->mnemonic[0] == 'j' || is_call(insn) || !strncmp(insn->mnemonic, "ret", 3) ||
	       !strncmp(insn->mnemonic, "loop", 4) || !strcmp(insn->mnemonic, "syscall") ||
	       !strncmp(insn->mnemonic, "ud2", 3) || !strncmp(insn->mnemonic, "int", 3);
}

/* True if the site is reached in a straight line from the entry, with that SP. */
static bool is_straight(const struct code_map *code, csh capstone, cs_insn *insn,
			const struct function *function, const struct probe_site *site)
{
	const uint8_t *at = code->object->view.bytes + function->offset;
	uint64_t end = function->addr + (site->offset - function->offset);
	uint64_t addr = function->addr;
	size_t left = function->size;
	long sp_delta = 0;

	while (addr < end) {
		if (!cs_disasm_iter(capstone, &at, &left, &addr, insn) || is_flow(insn))
			return false;
		sp_delta += sp_effect(insn);
	}
	return addr == end && sp_delta == (long)site->sp_delta;
}

/* Of those that the kernel emulates. */
static bool is_dear(const uint8_t *bytes)
{
	return *bytes == 0xe8 || (bytes[*bytes == 0x41] & 0xf8) == 0x50;
}

struct counts {
	uint32_t nr;
	uint32_t cheap;
	uint32_t at_entry;
	uint32_t dear; /* push of a register or call, which take more */
	uint32_t none;
	uint32_t stepped;
	uint32_t not_straight;
	uint32_t not_once;
	uint32_t in_loop;
	uint32_t by_cfi; /* of which the unwind tables have SP */
	uint32_t other_cfi;
};

static void complain(uint32_t *count, const struct function *function, const char *what)
{
	if (++*count <= 3)
		diag("%s: %s at %#lx", what, function->name ? function->name : "?",
		     (unsigned long)function->addr);
}

/* Where jumps go by tables, the text of the instructions does not show it. */
static bool is_in_loop(const struct code_map *code, const struct function *function, uint64_t addr)
{
	struct cfg cfg;
	uint32_t block;
	bool ret;

	if (cfg_init(&cfg, &code->functions, function))
		exit(1);
	block = cfg_find(&cfg, addr);
	ret = block == GRAPH_NONE || cfg.dominators.loop[block] != GRAPH_NONE;
	cfg_deinit(&cfg);
	return ret;
}

/* Assembler without unwind tables even for its first push, as some in the C library. */
static bool is_untold(const struct code_map *code, const struct function *function)
{
	uint64_t addr, end = function->addr + function->size;
	const struct rule *rule;

	if (!is_dear(code->object->view.bytes + function->offset))
		return false;
	for (addr = function->addr; addr < end; addr++) {
		rule = object_rule(code->object, addr);
		if (!rule || rule->cfa_is_expr || rule->cfa_reg != 7 || rule->cfa_offset != 8)
			return false;
	}
	return true;
}

/* Every entry comes to the site, once, with that SP. */
static void check_reached(const struct code_map *code, csh capstone, cs_insn *insn,
			  const struct jumps *jumps, const struct function *function,
			  const struct probe_site *site, struct counts *counts)
{
	uint64_t addr = function->addr + (site->offset - function->offset);
	const struct rule *rule;

	if (!is_straight(code, capstone, insn, function, site))
		complain(&counts->not_straight, function, "not reached straight");
	if (!is_once(code, jumps, function, addr))
		complain(&counts->not_once, function, "more than once");
	if (is_in_loop(code, function, addr))
		complain(&counts->in_loop, function, "in a loop");
	rule = object_rule(code->object, addr);
	if (!rule || rule->cfa_is_expr || rule->cfa_reg != 7)
		return;
	counts->by_cfi++;
	if (rule->cfa_offset != (int32_t)site->sp_delta + 8 && !is_untold(code, function))
		complain(&counts->other_cfi, function, "another SP in the unwind tables");
}

static void check_site(const struct code_map *code, csh capstone, cs_insn *insn,
		       const struct jumps *jumps, const struct function *function,
		       struct counts *counts)
{
	struct pguard_emulation emulation; /* test-emulate shows that it is right */
	struct probe_site site;

	probe_site_find(&code->functions, function, &site);
	counts->nr++;
	counts->none += site.class == PROBE_SITE_NONE;
	if (site.class != PROBE_SITE_CHEAP)
		return;
	counts->cheap++;
	counts->at_entry += site.offset == function->offset;
	counts->dear += is_dear(code->object->view.bytes + site.offset);
	if (!is_emulated(code->object->view.bytes + site.offset) &&
	    pguard_emulate_prepare(&emulation, code->object->view.bytes + site.offset,
				   EMULATE_MAX_LENGTH))
		complain(&counts->stepped, function, "stepped");
	check_reached(code, capstone, insn, jumps, function, &site, counts);
}

struct window_counts {
	struct counts reached; /* of those that are windows */
	uint32_t nr; /* functions that can have a guard */
	uint32_t verdicts[WINDOW_SITE_NR];
	uint32_t wrong; /* no window, or not to be probed */
};

/* test-window shows that the decoder is right. */
static bool is_window(const struct code_map *code, csh capstone, cs_insn *insn,
		      const struct function *function, uint64_t offset)
{
	const uint8_t *bytes = code->object->view.bytes + offset, *at = bytes;
	struct pguard_window window;
	struct insn decoded;
	uint64_t addr = 0;
	size_t size = 16;

	return !pguard_window_prepare(&window, bytes, 16) &&
	       cs_disasm_iter(capstone, &at, &size, &addr, insn) && insn->size == window.length &&
	       offset + insn->size <= function->offset + function->size &&
	       insn_decode(&code->functions.decoder, bytes, 16, 0, &decoded) &&
	       probe_site_step_mode(bytes, &decoded) != STEP_MODE_REFUSED;
}

static void check_window(const struct code_map *code, csh capstone, cs_insn *insn,
			 const struct jumps *jumps, const struct function *function,
			 struct window_counts *counts)
{
	struct probe_site site;
	struct window_site window;

	probe_site_find(&code->functions, function, &site);
	if (site.class == PROBE_SITE_NONE)
		return;
	window_site_find(&code->functions, function, &window);
	counts->nr++;
	counts->verdicts[window.verdict]++;
	if (window.verdict != WINDOW_SITE_FOUND)
		return;
	if (!is_window(code, capstone, insn, function, window.offset))
		complain(&counts->wrong, function, "no window");
	site = (struct probe_site){ PROBE_SITE_CHEAP, window.offset, window.sp_delta };
	counts->reached.cheap++;
	check_reached(code, capstone, insn, jumps, function, &site, &counts->reached);
}

/* @least: the share of windows, of 1000 functions. */
static void test_windows(const char *path, const struct window_counts *counts, uint32_t least)
{
	const struct counts *reached = &counts->reached;
	const uint32_t *verdicts = counts->verdicts;

	ok(!counts->wrong, "%s: all windows can be replaced, and probed", path);
	ok(!reached->not_straight && !reached->not_once && !reached->in_loop && !reached->other_cfi &&
	   reached->by_cfi * 4 > reached->cheap, "%s: and each call comes by them once, with that SP",
	   path);
	ok(verdicts[WINDOW_SITE_FOUND] * 1000ull >= least * (uint64_t)counts->nr,
	   "%s: %.1f %% of %u functions have one", path,
	   100.0 * verdicts[WINDOW_SITE_FOUND] / counts->nr, counts->nr);
	diag("%u without a long instruction, %u may fault, %u at a nop, %u by pointers, %u refused; "
	     "%u of %u checked by unwind tables", verdicts[WINDOW_SITE_NONE], verdicts[WINDOW_SITE_FAULTS], verdicts[WINDOW_SITE_NOP],
	     verdicts[WINDOW_SITE_INDIRECT], verdicts[WINDOW_SITE_REFUSED], reached->by_cfi,
	     reached->cheap);
}

/* @least, @least_windows: the share of cheap sites and of windows, of 1000 functions. */
static void test_program(const char *path, uint32_t least, uint32_t least_windows)
{
	struct window_counts windows = { 0 };
	struct jumps jumps = { NULL, 0, 0 };
	struct code_map *code = open_code(path);
	struct counts counts = { 0 };
	cs_insn *insn;
	csh capstone;

	if (!code) {
		skip(8, "no such program");
		return;
	}
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		exit(1);
	insn = cs_malloc(capstone);
	read_jumps(code, capstone, &jumps);
	for (uint32_t i = 0; i < code->functions.nr; i++) {
		const struct function *function = &code->functions.entries[i];

		if (function->is_plt || function->is_cold)
			continue;
		check_site(code, capstone, insn, &jumps, function, &counts);
		check_window(code, capstone, insn, &jumps, function, &windows);
	}
	ok(!counts.stepped, "%s: no cheap site is stepped", path);
	ok(!counts.not_straight, "%s: and reached in a straight line with the right SP", path);
	ok(!counts.not_once && !counts.in_loop, "%s: once in each call", path);
	ok(!counts.other_cfi && counts.by_cfi * 2 > counts.cheap,
	   "%s: the unwind tables have the same SP", path);
	ok(counts.cheap * 1000ull >= least * (uint64_t)counts.nr,
	   "%s: %.1f %% of %u functions have one", path, 100.0 * counts.cheap / counts.nr,
	   counts.nr);
	diag("%.1f %% at the entry, %.1f %% at a push or a call, %u without any site, "
	     "%u of %u checked by unwind tables", 100.0 * counts.at_entry / counts.nr,
	     100.0 * counts.dear / counts.nr, counts.none, counts.by_cfi, counts.cheap);
	test_windows(path, &windows, least_windows);
	cs_free(insn, 1);
	cs_close(&capstone);
	free(jumps.entries);
	code_map_close(code);
}

int main(int argc, char **argv)
{
	/* what was measured with Debian 12's versions, less some */
	static const uint32_t least_windows[NR_DEBIAN] = { 770, 720, 800, 825, 660, 765, 700 };
	static const uint32_t least[NR_DEBIAN] = { 990, 990, 990, 990, 945, 985, 995 };

	(void)argc;
	plan(NR_CASES + 30 + NR_WINDOWS + 8 * (NR_DEBIAN + 2));
	if (insn_decoder_init(&decoder))
		exit(1);
	test_cases();
	test_functions();
	test_window_sites();
	insn_decoder_deinit(&decoder);
	test_program(beside(argv[0], "victim-code.stripped"), 500, 300);
	test_program(beside(argv[0], "victim-throw.stripped"), 400, 300);
	for (int i = 0; i < NR_DEBIAN; i++)
		test_program(debian[i], least[i], least_windows[i]);
	return tap_status();
}
