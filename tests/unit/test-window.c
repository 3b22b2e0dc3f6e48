// SPDX-License-Identifier: GPL-2.0
/*
 * Which instructions a jump may replace: by hand, all instructions of programs of
 * this machine and random bytes, each compared with another disassembler, and a run
 * of them by the processor in place and elsewhere.
 */

#include <perfguard/window.h>

#include <capstone/capstone.h>
#include <sys/mman.h>
#include <unistd.h>

#include "processor.h"
#include "program.h"
#include "tap.h"

enum {
	NR_RANDOM = 3000000,
	AREA = 256, /* bytes of memory that an instruction may access */
	KEPT = 1 << 14, /* different instructions that are run */
	RUNS = 24, /* of each */
};

static csh capstone;
static cs_insn *insn;

/* ---- by hand ---- */

static const struct {
	const char *bytes;
	size_t size;
	struct pguard_window wanted;
	const char *name;
} accepted[] = {
#define PLAIN(bytes, disp_at, name) \
	{ bytes, sizeof(bytes) - 1, { WINDOW_PLAIN, sizeof(bytes) - 1, disp_at, 0, 0 }, name }
	PLAIN("\xb8\1\0\0\0", 0, "mov of a constant"),
	PLAIN("\x48\xb8\1\2\3\4\5\6\7\x08", 0, "movabs"),
	PLAIN("\x48\x81\xec\0\1\0\0", 0, "sub of a constant from %rsp"),
	PLAIN("\x48\x81\xc4\0\1\0\0", 0, "add of one to it"),
	PLAIN("\x68\0\0\1\0", 0, "push of a constant"),
	PLAIN("\xff\x35\0\0\1\0", 2, "push from memory by IP"),
	PLAIN("\x48\x89\x5c\x24\x08", 0, "mov to memory by SP"),
	PLAIN("\x48\x83\x0c\x24\x00", 0, "or to it"),
	PLAIN("\x8b\x05\0\0\1\0", 2, "mov from memory by IP"),
	PLAIN("\x48\x8b\x05\0\0\1\0", 3, "with REX"),
	PLAIN("\x83\x05\0\0\1\0\1", 2, "add of a constant to it"),
	PLAIN("\x66\xc7\x05\0\0\1\0\1\0", 3, "mov of a short constant to it"),
	PLAIN("\x64\x48\x8b\x04\x25\x28\0\0\0", 0, "mov from fs"),
	PLAIN("\x48\x8d\x3d\0\0\1\0", 3, "lea by IP"),
	PLAIN("\x66\x48\x8d\x3d\0\0\1\0", 4, "with an operand size"),
	PLAIN("\x48\x8d\x05\xf9\xff\xff\xff", 3, "of its own place"),
	PLAIN("\x48\x8d\x44\x82\x10", 0, "lea with base and index"),
	PLAIN("\x48\x8d\x04\x85\0\0\0\0", 0, "with an index alone"),
	PLAIN("\x48\x69\xc0\0\1\0\0", 0, "imul by a constant"),
	PLAIN("\x48\x0f\xaf\x05\0\0\1\0", 4, "imul by memory by IP"),
	PLAIN("\xf7\x25\0\0\1\0", 2, "mul"),
	PLAIN("\xf7\x05\0\0\1\0\1\0\0\0", 2, "test of memory by IP with a constant"),
	PLAIN("\x0f\xba\x64\x24\x08\x01", 0, "bt of memory by SP"),
	PLAIN("\x48\x0f\xa4\xc2\x03", 0, "shld"),
	PLAIN("\x66\x41\xc1\xc0\x08", 0, "rol"),
	PLAIN("\xf3\x48\x0f\xbc\xc7", 0, "tzcnt"),
	PLAIN("\x0f\x44\x44\x24\x08", 0, "cmov"),
	PLAIN("\x87\x05\0\0\1\0", 2, "xchg with memory by IP"),
	PLAIN("\x66\x48\x0f\x6e\xc7", 0, "movq to a vector"),
	PLAIN("\x66\x45\x0f\xef\xc0", 0, "pxor"),
	PLAIN("\x0f\x11\x44\x24\x10", 0, "movups to memory by SP"),
	PLAIN("\xf3\x0f\x7f\x44\x24\x10", 0, "movdqu to it"),
	PLAIN("\xf2\x0f\x10\x05\0\0\1\0", 4, "movsd from memory by IP"),
	PLAIN("\x66\x0f\x6f\x05\0\0\1\0", 4, "movdqa from it"),
	PLAIN("\x66\x0f\x70\xc0\x1b", 0, "pshufd"),
	PLAIN("\x8b\x05\xea\xff\xff\xff", 2, "memory that ends where it begins"),
	PLAIN("\x0f\x1f\x80\0\0\0\0", 0, "nop of seven bytes"),
	{ "\xe8\0\0\1\0", 5, { WINDOW_CALL, 5, 0, 0, 0x10000 }, "call" },
	{ "\xe9\xfb\xff\xff\xff", 5, { WINDOW_JUMP, 5, 0, 0, -5 }, "jmp to itself" },
	{ "\x0f\x84\0\0\1\0", 6, { WINDOW_BRANCH, 6, 0, 4, 0x10000 }, "je" },
	{ "\x0f\x8f\0\0\0\xff", 6, { WINDOW_BRANCH, 6, 0, 15, -0x1000000 }, "jg" },
};

static const struct {
	const char *bytes;
	size_t size;
	const char *name;
} refused[] = {
#define CASE(bytes, name) { bytes, sizeof(bytes) - 1, name }
	CASE("\x48\x83\xec\x18", "four bytes"),
	CASE("\x48\x8b\x80\0\1\0\0", "memory by a register"),
	CASE("\x49\x8b\x84\x24\0\1\0\0", "by %r12, which is encoded as SP is"),
	CASE("\x48\x8b\x44\x04\x08", "by SP with an index"),
	CASE("\x8b\x04\x25\0\0\1\0", "at an address"),
	CASE("\x48\xa1\0\0\0\0\0\0\0\0", "at one of eight bytes"),
	CASE("\x65\x48\x8b\x04\x25\x28\0\0\0", "gs"),
	CASE("\x64\x8b\x05\0\0\1\0", "fs by IP"),
	CASE("\x64\x48\x8b\x44\x24\x08", "fs by SP"),
	CASE("\x64\xb8\1\0\0\0", "fs that means nothing"),
	CASE("\xf0\x83\x05\0\0\1\0\1", "lock"),
	CASE("\xf3\xb8\1\0\0\0", "rep that means nothing"),
	CASE("\x2e\xb8\1\0\0\0", "cs"),
	CASE("\x67\x8d\x84\x25\0\0\1\0", "addresses of 32 bits"),
	CASE("\x48\x66\xb8\1\0\0\0", "REX that is not just before the opcode"),
	CASE("\x0f\x1f\x44\0\0", "nop of five bytes"),
	CASE("\x66\x66\x66\x66\x90", "another one"),
	CASE("\x66\x2e\x0f\x1f\x84\0\0\0\0\0", "nop of ten bytes"),
	CASE("\xf7\x35\0\0\1\0", "div"),
	CASE("\xf7\x3d\0\0\1\0", "idiv"),
	CASE("\x66\x68\0\0\0\0", "push of a short constant"),
	CASE("\xff\x15\0\0\1\0", "call through memory"),
	CASE("\xff\x25\0\0\1\0", "jmp through memory"),
	CASE("\xf2\xff\x25\0\0\1\0", "with bnd"),
	CASE("\xf2\xe9\0\0\1\0", "bnd jmp"),
	CASE("\x66\x66\x48\xe8\0\0\1\0", "call of __tls_get_addr"),
	CASE("\x66\x0f\x84\0\0\1\0", "je with an operand size"),
	CASE("\x3e\x0f\x84\0\0\1\0", "with a hint"),
	CASE("\xe9\xfe\xff\xff\xff", "jmp into its middle"),
	CASE("\xe8\xff\xff\xff\xff", "call of it"),
	CASE("\x8b\x05\xfa\xff\xff\xff", "memory that is its own bytes"),
	CASE("\x8b\x05\xff\xff\xff\xff", "or its last one"),
	CASE("\x66\x0f\x6f\x44\x24\x10", "movdqa by SP"),
	CASE("\x0f\x29\x44\x24\x10", "movaps by SP"),
	CASE("\xf2\x0f\x58\x05\0\0\1\0", "addsd: exceptions"),
	CASE("\xf2\x48\x0f\x2a\xc0", "cvtsi2sd"),
	CASE("\x66\x0f\x2e\x05\0\0\1\0", "ucomisd"),
	CASE("\xd9\x05\0\0\1\0", "fld"),
	CASE("\x0f\x6f\x05\0\0\1\0", "MMX"),
	CASE("\xc5\xf9\x6f\x05\0\0\1\0", "VEX"),
	CASE("\x62\xf1\x7d\x48\x6f\xc1", "EVEX"),
	CASE("\x0f\xb8\x05\0\0\1\0", "popcnt without its prefix"),
	CASE("\xc7\xf8\0\0\0\0", "xbegin"),
	CASE("\x66\xf3\x0f\x1e\xfa", "endbr64"),
	CASE("\x66\x66\x66\x0f\x05", "syscall"),
	CASE("\x66\x66\x66\x0f\x0b", "ud2"),
	CASE("\x66\x66\x66\x0f\x31", "rdtsc"),
	CASE("\x66\x66\x66\x66\xc3", "ret"),
};

enum {
	NR_ACCEPTED = sizeof(accepted) / sizeof(accepted[0]),
	NR_REFUSED = sizeof(refused) / sizeof(refused[0]),
};

static void test_by_hand(void)
{
	struct pguard_window window;

	for (size_t i = 0; i < NR_ACCEPTED; i++)
		ok(!pguard_window_prepare(&window, (const uint8_t *)accepted[i].bytes,
					  (uint32_t)accepted[i].size) &&
		   !memcmp(&window, &accepted[i].wanted, sizeof(window)), "%s", accepted[i].name);
	for (size_t i = 0; i < NR_REFUSED; i++)
		ok(pguard_window_prepare(&window, (const uint8_t *)refused[i].bytes,
					 (uint32_t)refused[i].size) == -EOPNOTSUPP, "refused: %s",
		   refused[i].name);
}

/* ---- what another disassembler says ---- */

static uint32_t nr_wrong;

static void complain(const char *what, const uint8_t *bytes, size_t size)
{
	char hex[64] = "";

	if (++nr_wrong > 10)
		return;
	for (size_t i = 0; i < size && i < 16; i++)
		sprintf(hex + 3 * i, "%02x ", bytes[i]);
	diag("%s: %s(%s %s)", what, hex, insn->mnemonic, insn->op_str);
}

static bool is_in_group(cs_group_type group)
{
	return cs_insn_group(capstone, insn, group);
}

static bool is_flow(void)
{
	return is_in_group(CS_GRP_JUMP) || is_in_group(CS_GRP_CALL) || is_in_group(CS_GRP_RET) ||
	       is_in_group(CS_GRP_INT) || is_in_group(CS_GRP_IRET) ||
	       is_in_group(CS_GRP_PRIVILEGE) || insn->id == X86_INS_XBEGIN;
}

/* Mnemonics of instructions that raise exceptions by their operands, or do more than compute. */
static bool is_dangerous(void)
{
	static const char *const names[] = {
		"div", "idiv", "add?s", "sub?s", "mul?s", "div?s", "sqrt", "cvt", "comis", "ucomis",
		"cmp?s", "min?s", "max?s", "f", "syscall", "sysenter", "int", "hlt", "ud", "rd",
		"xsave", "xrstor", "maskmov", "in", "out", "rep", "lock", "cpuid", "xgetbv",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = names[i], *at = insn->mnemonic;

		for (; *name && (*name == *at || (*name == '?' && (*at == 's' || *at == 'p')));
		     name++, at++)
			;
		/* inc, insertq, outs: by whole names, which have no vector forms here */
		if (!*name && strncmp(insn->mnemonic, "inc", 3))
			return true;
	}
	return false;
}

/* An operand in memory is one that does not fault, and its displacement is where it is said to be. */
static void check_memory(const struct pguard_window *window, const cs_x86_op *op,
			 const uint8_t *bytes)
{
	bool is_by_ip = op->mem.base == X86_REG_RIP;

	if (is_by_ip != (window->disp_at != 0) ||
	    (is_by_ip && window->disp_at != insn->detail->x86.encoding.disp_offset))
		complain("the displacement is elsewhere", bytes, 16);
	if (insn->id == X86_INS_LEA || insn->id == X86_INS_NOP)
		return;
	if (op->mem.segment == X86_REG_FS ?
	    op->mem.base != X86_REG_INVALID || op->mem.index != X86_REG_INVALID :
	    (op->mem.base != X86_REG_RSP && !is_by_ip) || op->mem.index != X86_REG_INVALID)
		complain("memory by a register", bytes, 16);
	if (is_by_ip && op->mem.disp < 0 && op->mem.disp + op->size > -(int64_t)insn->size)
		complain("its own bytes", bytes, 16);
}

static void check_plain(const struct pguard_window *window, const uint8_t *bytes)
{
	const cs_x86 *x86 = &insn->detail->x86;
	bool has_memory = false;

	if (is_flow() || is_dangerous())
		complain("not plain", bytes, 16);
	if (window->target || window->condition)
		complain("a target", bytes, 16);
	for (uint8_t i = 0; i < x86->op_count; i++) {
		if (x86->operands[i].type != X86_OP_MEM)
			continue;
		has_memory = true;
		check_memory(window, &x86->operands[i], bytes);
	}
	if (!has_memory && window->disp_at)
		complain("a displacement without an operand", bytes, 16);
}

static void check_relative(const struct pguard_window *window, const uint8_t *bytes)
{
	static const char *const names[] = { [WINDOW_CALL] = "call", [WINDOW_JUMP] = "jmp" };
	static const char *const branches[] = {
		"jo", "jno", "jb", "jae", "je", "jne", "jbe", "ja",
		"js", "jns", "jp", "jnp", "jl", "jge", "jle", "jg",
	};
	const char *name = window->kind == WINDOW_BRANCH ? branches[window->condition & 15] :
							   names[window->kind];

	if (strcmp(insn->mnemonic, name) ||
	    insn->detail->x86.operands[0].imm != (int64_t)insn->address + insn->size + window->target)
		complain("another target", bytes, 16);
}

/* The window that @bytes begin with, all of which are there, is what the disassembler says. */
static void check_window(const struct pguard_window *window, const uint8_t *bytes)
{
	const uint8_t *at = bytes;
	struct pguard_window again;
	uint64_t addr = 0x100000000;
	size_t size = 16;

	if (!cs_disasm_iter(capstone, &at, &size, &addr, insn)) {
		insn->mnemonic[0] = 0;
		insn->op_str[0] = 0;
		complain("unknown to the disassembler", bytes, 16);
		return;
	}
	if (insn->size != window->length || insn->size < WINDOW_MIN)
		complain("another length", bytes, 16);
	if (window->kind == WINDOW_PLAIN)
		check_plain(window, bytes);
	else
		check_relative(window, bytes);
	for (uint32_t less = 0; less < window->length; less++)
		if (!pguard_window_prepare(&again, bytes, less))
			complain("cut and yet accepted", bytes, less);
	if (pguard_window_prepare(&again, bytes, window->length) ||
	    memcmp(&again, window, sizeof(again)))
		complain("depends on what follows", bytes, 16);
}

/* ---- what is run ---- */

static struct {
	uint8_t bytes[16];
	struct pguard_window window;
} kept[KEPT];

static uint32_t nr_kept;

static uint64_t random_state = 1;

static uint64_t random_next(void)
{
	uint64_t z = (random_state += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t random_below(uint32_t limit)
{
	return (uint32_t)((random_next() >> 32) * limit >> 32);
}

/* Different ones by their first bytes; of those that share a place, the first. */
static void keep(const struct pguard_window *window, const uint8_t *bytes)
{
	uint32_t key = 0;

	for (int i = 0; i < 5; i++)
		key = (key ^ bytes[i]) * 0x01000193u;
	key = (key ^ key >> 15) % KEPT;
	if (kept[key].window.length)
		return;
	memcpy(kept[key].bytes, bytes, 16);
	kept[key].window = *window;
	nr_kept++;
}

/* ---- programs ---- */

static const char *const others[] = {
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/bin/bash", "/usr/bin/python3",
};

enum {
	NR_OTHERS = sizeof(others) / sizeof(others[0]),
};

static void read_range(const struct code_map *code, const struct range *range, uint32_t counts[5])
{
	const uint8_t *at = code->object->view.bytes + range->offset;
	const uint8_t *end = at + range->size;

	while (end - at >= 16) {
		struct pguard_window window;
		struct scan scan;

		if (!scan_insn(at, (size_t)(end - at), 0, &scan)) {
			at++;
			continue;
		}
		counts[4]++;
		if (!pguard_window_prepare(&window, at, 16)) {
			counts[window.kind]++;
			check_window(&window, at);
			keep(&window, at);
		}
		at += scan.size;
	}
}

static void test_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint32_t counts[5] = { 0 };
	struct code_map *code;

	if (fd < 0 || code_map_open(fd, path, &code)) {
		skip(1, "no such program");
		return;
	}
	nr_wrong = 0;
	for (uint32_t i = 0; i < code->functions.ranges.nr; i++)
		read_range(code, &code->functions.ranges.entries[i], counts);
	ok(!nr_wrong && counts[WINDOW_PLAIN] && counts[WINDOW_CALL] && counts[WINDOW_JUMP] &&
	   counts[WINDOW_BRANCH], "%s: what is accepted is what the disassembler says", path);
	diag("of %u instructions: %u plain, %u calls, %u jumps, %u branches", counts[4],
	     counts[WINDOW_PLAIN], counts[WINDOW_CALL], counts[WINDOW_JUMP], counts[WINDOW_BRANCH]);
	code_map_close(code);
}

/* ---- any bytes ---- */

/* The end of a page behind which there is nothing. */
static uint8_t *edge_new(void)
{
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE))
		exit(1);
	return pages + 4096;
}

/* Of bytes to begin with, one in two is of an instruction that is common. */
static void random_bytes(uint8_t *bytes, uint32_t size)
{
	static const uint8_t common[] = {
		0x48, 0x66, 0x0f, 0xf3, 0x41, 0x64, 0x8b, 0x89, 0x8d, 0x83, 0xe8, 0xe9, 0xf2, 0x05,
		0x24, 0x84, 0xc7, 0xf7,
	};

	for (uint32_t i = 0; i < size; i++) {
		uint64_t value = random_next();

		bytes[i] = value & 0x100 && i < 4 ? common[(value >> 9) % sizeof(common)] :
						    (uint8_t)value;
	}
}

static void test_random(void)
{
	uint32_t nr_windows = 0;
	uint8_t *end = edge_new();

	nr_wrong = 0;
	for (uint32_t i = 0; i < NR_RANDOM; i++) {
		struct pguard_window window;
		uint32_t size = random_below(17);

		random_bytes(end - 16, 16);
		if (!pguard_window_prepare(&window, end - 16, 16)) {
			nr_windows++;
			check_window(&window, end - 16);
			keep(&window, end - 16);
		}
		memmove(end - size, end - 16, size);
		pguard_window_prepare(&window, end - size, size);
	}
	ok(!nr_wrong && nr_windows > NR_RANDOM / 100,
	   "of any bytes, only what is known is accepted, and none behind their end is read");
	diag("%u random ones, %u accepted", NR_RANDOM, nr_windows);
	munmap(end - 4096, 8192);
}

/* ---- in place, and elsewhere ---- */

static struct processor processor;
static uint8_t *landing; /* within reach of the processor's code, as is all that follows */
static uint8_t *area; /* memory for the instruction's operand */
static uint8_t *taken; /* where jumps, branches and calls lead */
static __thread uint64_t of_thread[AREA / 8];

static uint64_t vectors[2][16][2]; /* before, after */

/* As in processor_run(), with the vector registers. */
static void run_with_vectors(void)
{
	asm volatile(
#define LOAD(n) "movups 16*" #n "(%[from]), %%xmm" #n "\n\t"
#define STORE(n) "movups %%xmm" #n ", 16*" #n "(%[to])\n\t"
		LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7)
		LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14) LOAD(15)
		"sub $128, %%rsp\n\t"
		"call *%[code]\n\t"
		"add $128, %%rsp\n\t"
		STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5) STORE(6) STORE(7)
		STORE(8) STORE(9) STORE(10) STORE(11) STORE(12) STORE(13) STORE(14) STORE(15)
		:
		: [from] "b" (vectors[0]), [to] "r" (vectors[1]), [code] "r" (processor.code)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc",
		  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
		  "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

static void put_relative(uint8_t *at, const uint8_t *target)
{
	int32_t distance = (int32_t)(target - (at + 4));

	memcpy(at, &distance, sizeof(distance));
}

static uint8_t *put_jump(uint8_t *at, uint8_t opcode, const uint8_t *target)
{
	*at = opcode;
	put_relative(at + 1, target);
	return at + 5;
}

/* Copy the instruction from where it is run in place to @to, as a landing has it. */
static uint8_t *put_elsewhere(uint8_t *to, const uint8_t *bytes, const struct pguard_window *window)
{
	int32_t disp;

	memcpy(to, bytes, window->length);
	if (window->disp_at) {
		memcpy(&disp, to + window->disp_at, sizeof(disp));
		disp += (int32_t)(processor.insn - to);
		memcpy(to + window->disp_at, &disp, sizeof(disp));
	}
	return to + window->length;
}

/* From now on the place has a jump, and the landing the instruction. */
static void patch(const uint8_t *bytes, const struct pguard_window *window)
{
	const uint8_t *target = processor.insn + window->length + window->target;
	uint8_t *at = landing;

	switch (window->kind) {
	case WINDOW_PLAIN:
		at = put_elsewhere(at, bytes, window);
		put_jump(at, 0xe9, processor.insn + window->length);
		break;
	case WINDOW_CALL: /* the place keeps a call, so that the return address is right */
	case WINDOW_JUMP:
		put_jump(at, 0xe9, target);
		break;
	case WINDOW_BRANCH:
		at[0] = 0x0f;
		at[1] = 0x80 | window->condition;
		put_relative(at + 2, target);
		put_jump(at + 6, 0xe9, processor.insn + window->length);
		break;
	}
	put_jump(processor.insn, window->kind == WINDOW_CALL ? 0xe8 : 0xe9, landing);
	for (uint8_t i = WINDOW_MIN; i < window->length; i++)
		processor.insn[i] = 0xcc;
}

/* The operand in memory, or the target, is ours; the stack too. */
static void place(uint8_t *bytes, struct pguard_window *window, struct processor_state *state)
{
	const cs_x86 *x86 = &insn->detail->x86;
	uint64_t middle = (uint64_t)area + AREA / 2;
	int32_t at;

	state->regs[EMULATE_SP] = middle;
	if (window->kind != WINDOW_PLAIN) {
		window->target = (int32_t)(taken - (processor.insn + window->length));
		memcpy(bytes + window->length - 4, &window->target, 4);
		return;
	}
	if (window->disp_at) {
		at = (int32_t)(middle - ((uint64_t)processor.insn + window->length));
		memcpy(bytes + window->disp_at, &at, 4);
	}
	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type != X86_OP_MEM || insn->id == X86_INS_LEA)
			continue;
		if (op->mem.base == X86_REG_RSP)
			state->regs[EMULATE_SP] = middle - (uint64_t)op->mem.disp;
		if (op->mem.segment == X86_REG_FS) {
			uint64_t base;

			asm("mov %%fs:0, %0" : "=r" (base));
			at = (int32_t)((uint64_t)of_thread + AREA / 2 - base);
			memcpy(bytes + x86->encoding.disp_offset, &at, 4);
		}
	}
}

/* True if its stack, too, is in the area: a push of memory by SP with a displacement is not. */
static bool is_run(const struct processor_state *state)
{
	const cs_x86 *x86 = &insn->detail->x86;

	if (insn->id != X86_INS_PUSH || !x86->op_count || x86->operands[0].type != X86_OP_MEM)
		return true;
	return state->regs[EMULATE_SP] - (uint64_t)area - 16 < AREA - 32;
}

struct outcome {
	struct processor_state state;
	uint64_t vectors[16][2];
	uint8_t area[AREA];
	uint8_t of_thread[AREA];
	uint8_t is_taken;
};

static uint8_t *was_taken;

static void run_one(const struct processor_state *state, const uint8_t *memory, struct outcome *ret)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(area, memory, AREA);
	memcpy(of_thread, memory, AREA);
	*was_taken = 0;
	processor.frame->before = *state;
	run_with_vectors();
	ret->state = processor.frame->after;
	memcpy(ret->vectors, vectors[1], sizeof(ret->vectors));
	memcpy(ret->area, area, AREA);
	memcpy(ret->of_thread, of_thread, AREA);
	ret->is_taken = *was_taken;
}

static uint64_t random_value(void)
{
	uint64_t value = random_next();

	return value & 3 ? value >> random_below(64) : (uint64_t)(int8_t)(value >> 8);
}

static bool run_kept(const uint8_t *from, const struct pguard_window *given, uint32_t *nr_runs)
{
	enum { FREE = 0xcd5 }; /* flags that a user may set freely */
	struct pguard_window window = *given;
	uint8_t bytes[16], memory[AREA];
	struct outcome wanted, is;

	memcpy(bytes, from, sizeof(bytes));
	for (int run = 0; run < RUNS; run++) {
		struct processor_state state;

		for (int i = 0; i < 16; i++) {
			state.regs[i] = random_value();
			vectors[0][i][0] = random_next();
			vectors[0][i][1] = random_value();
		}
		for (int i = 0; i < AREA; i++)
			memory[i] = (uint8_t)random_next();
		state.flags = (random_next() & FREE) | 0x202;
		place(bytes, &window, &state);
		if (!is_run(&state))
			return true;
		processor_set(&processor, bytes, window.length);
		run_one(&state, memory, &wanted);
		patch(bytes, &window);
		run_one(&state, memory, &is);
		++*nr_runs;
		if (memcmp(&wanted, &is, sizeof(is)))
			return false;
	}
	return true;
}

static void test_runs(void)
{
	uint32_t nr = 0, nr_runs = 0, by_kind[4] = { 0 };

	nr_wrong = 0;
	for (uint32_t i = 0; i < KEPT; i++) {
		const uint8_t *at = kept[i].bytes;
		uint64_t addr = 0;
		size_t size = 16;

		if (!kept[i].window.length || !cs_disasm_iter(capstone, &at, &size, &addr, insn))
			continue;
		if (!run_kept(kept[i].bytes, &kept[i].window, &nr_runs))
			complain("another result elsewhere", kept[i].bytes, 16);
		nr++;
		by_kind[kept[i].window.kind]++;
	}
	ok(!nr_wrong && nr > KEPT / 4 && by_kind[WINDOW_CALL] && by_kind[WINDOW_JUMP] &&
	   by_kind[WINDOW_BRANCH] >= 16, "%u instructions do in a landing what they do in place", nr);
	diag("%u runs; %u plain, %u calls, %u jumps, %u branches", nr_runs, by_kind[WINDOW_PLAIN],
	     by_kind[WINDOW_CALL], by_kind[WINDOW_JUMP], by_kind[WINDOW_BRANCH]);
}

/* Code where jumps lead: it notes that, and leaves as the instruction behind the place does. */
static void set_up_taken(void)
{
	static const uint8_t mov[] = { 0xc6, 0x05 }; /* of a constant byte, to memory by IP */
	uint8_t *at = taken;

	memcpy(at, mov, sizeof(mov));
	put_relative(at + 2, was_taken - 1); /* the constant follows */
	at[6] = 1;
	put_jump(at + 7, 0xe9, processor.leave);
}

static void set_up(void)
{
	uint8_t *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (pages == MAP_FAILED || cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		exit(1);
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(capstone);
	processor_init(&processor);
	landing = pages;
	taken = pages + 256;
	was_taken = pages + 4096;
	area = pages + 2 * 4096;
	set_up_taken();
}

int main(void)
{
	set_up();
	plan(NR_ACCEPTED + NR_REFUSED + NR_DEBIAN + NR_OTHERS + 3);
	test_by_hand();
	for (int i = 0; i < NR_DEBIAN; i++)
		test_program(debian[i]);
	for (int i = 0; i < NR_OTHERS; i++)
		test_program(others[i]);
	test_random();
	test_runs();
	ok(sizeof(struct pguard_window) == 8, "one takes %zu bytes", sizeof(struct pguard_window));
	cs_free(insn, 1);
	cs_close(&capstone);
	return tap_status();
}
