// SPDX-License-Identifier: GPL-2.0
/*
 * Single instructions by their bytes, and those of whole programs against what
 * objdump makes of them.
 */

#include "program.h"
#include "tap.h"

enum { AT = 0x1000, UNKNOWN = INT32_MIN };

/* @target: of the flow; @sp: by how much SP is lowered. */
static const struct {
	const char *bytes;
	size_t size;
	enum insn_flow flow;
	uint64_t target;
	int sp;
	const char *name;
} cases[] = {
#define CASE(bytes, flow, target, sp, name) { bytes, sizeof(bytes) - 1, flow, target, sp, name }
	CASE("\x89\xf8", INSN_NEXT, 0, 0, "mov"),
	CASE("\xf3\x0f\x1e\xfa", INSN_NEXT, 0, 0, "endbr64"),
	CASE("\x2e\x66\x0f\x1f\x84\0\0\0\0\0", INSN_NEXT, 0, 0, "nop of ten bytes"),
	CASE("\xe8\x10\0\0\0", INSN_CALL, AT + 0x15, 0, "call"),
	CASE("\x67\xe8\xf0\xff\xff\xff", INSN_CALL, AT - 0xa, 0, "call with addr32"),
	CASE("\x66\x66\x48\xe8\0\0\0\0", INSN_CALL, AT + 8, 0, "call of __tls_get_addr"),
	CASE("\xff\x15\0\0\0\0", INSN_CALL_INDIRECT, 0, 0, "call through memory"),
	CASE("\xff\xd0", INSN_CALL_INDIRECT, 0, 0, "call *%rax"),
	CASE("\xeb\xfe", INSN_JUMP, AT, 0, "short jmp"),
	CASE("\xe9\0\x01\0\0", INSN_JUMP, AT + 0x105, 0, "jmp"),
	CASE("\xf2\xe9\0\0\0\0", INSN_JUMP, AT + 6, 0, "bnd jmp"),
	CASE("\xff\xe0", INSN_JUMP_INDIRECT, 0, 0, "jmp *%rax"),
	CASE("\x3e\xff\xe0", INSN_JUMP_INDIRECT, 0, 0, "notrack jmp *%rax"),
	CASE("\xf2\xff\x25\0\0\0\0", INSN_JUMP_INDIRECT, 0, 0, "bnd jmp through memory"),
	CASE("\x74\x80", INSN_BRANCH, AT - 0x7e, 0, "short je"),
	CASE("\x0f\x84\0\0\0\x80", INSN_BRANCH, AT + 6 - 0x80000000ull, 0, "je"),
	CASE("\xe3\0", INSN_BRANCH, AT + 2, 0, "jrcxz"),
	CASE("\xe2\0", INSN_BRANCH, AT + 2, 0, "loop"),
	CASE("\xc7\xf8\0\0\0\0", INSN_BRANCH, AT + 6, 0, "xbegin"),
	CASE("\xc3", INSN_RETURN, 0, UNKNOWN, "ret"),
	CASE("\xf3\xc3", INSN_RETURN, 0, UNKNOWN, "repz ret"),
	CASE("\xc2\x08\0", INSN_RETURN, 0, UNKNOWN, "ret that takes arguments down"),
	CASE("\x48\xcf", INSN_RETURN, 0, 0, "iretq"),
	CASE("\x0f\x05", INSN_SYSCALL, 0, 0, "syscall"),
	CASE("\xcd\x80", INSN_SYSCALL, 0, 0, "int 0x80"),
	CASE("\xcc", INSN_STOP, 0, 0, "int3"),
	CASE("\x0f\x0b", INSN_STOP, 0, 0, "ud2"),
	CASE("\xf4", INSN_STOP, 0, 0, "hlt"),
	CASE("\x55", INSN_NEXT, 0, 8, "push %rbp"),
	CASE("\x54", INSN_NEXT, 0, 8, "push %rsp"),
	CASE("\x41\x57", INSN_NEXT, 0, 8, "push %r15"),
	CASE("\x6a\x01", INSN_NEXT, 0, 8, "push of a byte"),
	CASE("\x68\x01\0\0\0", INSN_NEXT, 0, 8, "push of a constant"),
	CASE("\xff\x30", INSN_NEXT, 0, 8, "push from memory"),
	CASE("\x9c", INSN_NEXT, 0, 8, "pushf"),
	CASE("\x66\x55", INSN_NEXT, 0, UNKNOWN, "push %bp"),
	CASE("\x66\x6a\x01", INSN_NEXT, 0, UNKNOWN, "push of a word"),
	CASE("\x58", INSN_NEXT, 0, -8, "pop %rax"),
	CASE("\x8f\0", INSN_NEXT, 0, -8, "pop to memory"),
	CASE("\x9d", INSN_NEXT, 0, -8, "popf"),
	CASE("\x5c", INSN_NEXT, 0, UNKNOWN, "pop %rsp"),
	CASE("\x66\x58", INSN_NEXT, 0, UNKNOWN, "pop %ax"),
	CASE("\x48\x83\xec\x18", INSN_NEXT, 0, 24, "sub of a byte"),
	CASE("\x48\x83\xec\x80", INSN_NEXT, 0, -128, "sub of less than 0"),
	CASE("\x48\x81\xec\0\x10\0\0", INSN_NEXT, 0, 4096, "sub"),
	CASE("\x48\x83\xc4\x08", INSN_NEXT, 0, -8, "add"),
	CASE("\x48\x8d\x64\x24\xf0", INSN_NEXT, 0, 16, "lea below"),
	CASE("\x48\x8d\xa4\x24\0\x10\0\0", INSN_NEXT, 0, -4096, "lea above"),
	CASE("\x4a\x8d\x24\x04", INSN_NEXT, 0, UNKNOWN, "lea with an index"),
	CASE("\x48\x8d\x65\xf0", INSN_NEXT, 0, UNKNOWN, "lea from the frame"),
	CASE("\x8d\x64\x24\xf0", INSN_NEXT, 0, UNKNOWN, "lea to %esp"),
	CASE("\x83\xec\x08", INSN_NEXT, 0, UNKNOWN, "sub of %esp"),
	CASE("\x48\x29\xc4", INSN_NEXT, 0, UNKNOWN, "sub of a register"),
	CASE("\x48\x83\xe4\xf0", INSN_NEXT, 0, UNKNOWN, "and"),
	CASE("\x48\x89\xc4", INSN_NEXT, 0, UNKNOWN, "mov to %rsp"),
	CASE("\x48\x8b\x23", INSN_NEXT, 0, UNKNOWN, "mov to %rsp from memory"),
	CASE("\x48\x94", INSN_NEXT, 0, UNKNOWN, "xchg"),
	CASE("\x48\x0f\x44\xe0", INSN_NEXT, 0, UNKNOWN, "cmov"),
	CASE("\xc9", INSN_NEXT, 0, UNKNOWN, "leave"),
	CASE("\xc8\x10\0\0", INSN_NEXT, 0, UNKNOWN, "enter"),
	CASE("\x49\x89\xe2", INSN_NEXT, 0, 0, "mov from %rsp"),
	CASE("\x48\x39\xc4", INSN_NEXT, 0, 0, "cmp of %rsp"),
	CASE("\x80\xe4\xfb", INSN_NEXT, 0, 0, "and of %ah, which is no part of %rsp"),
	/* what Capstone 4 does not know */
	CASE("\xc5\xfb\x93\xc0", INSN_NEXT, 0, 0, "kmovd %k0,%eax"),
	CASE("\xc4\xe1\xfb\x93\xc8", INSN_NEXT, 0, 0, "kmovq %k0,%rcx"),
	CASE("\x62\xf3\x75\x20\x3f\x46\x20\x04", INSN_NEXT, 0, 0, "vpcmpneqb 0x400(%rsi),%ymm17,%k0"),
	CASE("\x62\xb1\x65\x20\x74\xa4\x36\0\x10\0\0", INSN_NEXT, 0, 0, "vpcmpeqb with SIB"),
	CASE("\x62\xf3\x7d\x28\x3f\x0d\0\0\0\0\x04", INSN_NEXT, 0, 0, "vpcmpneqb by RIP"),
	CASE("\x62\xf1\xfe\x28\x6f\x04\x25\0\0\0\0", INSN_NEXT, 0, 0, "vmovdqu64 by SIB alone"),
};

static const struct {
	const char *bytes;
	size_t size;
	const char *name;
} invalid[] = {
#define INVALID(bytes, name) { bytes, sizeof(bytes) - 1, name }
	INVALID("", "nothing"),
	INVALID("\x48", "a prefix only"),
	INVALID("\x0f", "half an opcode"),
	INVALID("\x48\x8b", "no ModRM"),
	INVALID("\x8b\x84\x24\x00\x00\x00", "half a displacement"),
	INVALID("\xe8\x00\x00\x00", "half a target"),
	INVALID("\x06", "push %es"),
	INVALID("\xc5\xf9", "half a VEX prefix"),
	INVALID("\xc5\xfb\x93", "VEX without ModRM"),
	INVALID("\x62\xf3\x75\x20\x3f\x46\x20", "EVEX without its constant"),
	INVALID("\x62\xb1\x65\x20\x74\xa4", "EVEX without SIB"),
	INVALID("\x62\xb1\x65\x20\x74\xa4\x36\0\x10\0", "EVEX with half a displacement"),
	INVALID("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", "16 bytes"),
};

/* Of Debian, with instructions of all kinds. */
static const char *const programs[] = {
	"/usr/sbin/nginx", "/lib/x86_64-linux-gnu/libc.so.6",
};

enum {
	NR_CASES = sizeof(cases) / sizeof(cases[0]),
	NR_INVALID = sizeof(invalid) / sizeof(invalid[0]),
	NR_PROGRAMS = sizeof(programs) / sizeof(programs[0]),
};

static void test_cases(const struct insn_decoder *decoder)
{
	for (size_t i = 0; i < NR_CASES; i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
		bool is_sp_known = cases[i].sp != UNKNOWN;
		struct insn insn;

		ok(insn_decode(decoder, bytes, cases[i].size, AT, &insn) &&
		   insn.size == cases[i].size && insn.flow == cases[i].flow &&
		   insn.target == cases[i].target && insn.is_sp_known == is_sp_known &&
		   (!is_sp_known || insn.sp_effect == cases[i].sp), "%s", cases[i].name);
	}
	for (size_t i = 0; i < NR_INVALID; i++) {
		const uint8_t *bytes = (const uint8_t *)invalid[i].bytes;
		struct insn insn;

		ok(!insn_decode(decoder, bytes, invalid[i].size, AT, &insn), "no instruction: %s",
		   invalid[i].name);
	}
}

static void test_operands(const struct insn_decoder *decoder)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x15, 0x10, 0, 0, 0 };
	static const uint8_t mov[] = { 0x48, 0xc7, 0x05, 0xf0, 0xff, 0xff, 0xff, 1, 0, 0, 0 };
	static const uint8_t load[] = { 0x48, 0x8b, 0x45, 0x10 };
	struct insn insn;

	ok(insn_decode(decoder, lea, sizeof(lea), AT, &insn) && insn.id == X86_INS_LEA &&
	   insn.is_rip_relative && insn.address == AT + 0x17 && insn.ops[0].reg == X86_REG_RDX,
	   "the address of lea");
	ok(insn_decode(decoder, mov, sizeof(mov), AT, &insn) && insn.is_rip_relative &&
	   insn.address == AT - 5 && insn.ops[1].imm == 1, "and of a mov with a constant behind it");
	ok(insn_decode(decoder, load, sizeof(load), AT, &insn) && !insn.is_rip_relative &&
	   insn.ops[1].mem.disp == 0x10, "no address where there is none");
}

/* What objdump's text says of the flow; jumps and calls to a place have its address. */
static enum insn_flow flow_of(const char *name, bool is_indirect)
{
	static const struct {
		const char *start;
		enum insn_flow flow;
	} others[] = {
		{ "ret", INSN_RETURN }, { "iret", INSN_RETURN }, { "sysret", INSN_RETURN },
		{ "syscall", INSN_SYSCALL }, { "int3", INSN_STOP }, { "int1", INSN_STOP },
		{ "int ", INSN_SYSCALL }, { "hlt", INSN_STOP }, { "ud", INSN_STOP },
		{ "loop", INSN_BRANCH }, { "xbegin", INSN_BRANCH },
	};

	if (!strncmp(name, "call", 4))
		return is_indirect ? INSN_CALL_INDIRECT : INSN_CALL;
	if (!strncmp(name, "jmp", 3))
		return is_indirect ? INSN_JUMP_INDIRECT : INSN_JUMP;
	if (name[0] == 'j')
		return INSN_BRANCH;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(name, others[i].start, strlen(others[i].start)))
			return others[i].flow;
	return INSN_NEXT;
}

static const char *skip_prefixes(const char *name)
{
	static const char *const prefixes[] = {
		"bnd ", "notrack ", "repz ", "repnz ", "data16 ", "addr32 ", "lock ", "rex.W ",
		"cs ", "ds ", "es ", "ss ", "fs ", "gs ",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], length)) {
			name += length;
			i = (size_t)-1;
		}
	}
	return name;
}

struct line {
	uint64_t addr;
	uint64_t target;
	unsigned int size;
	enum insn_flow flow;
};

/* "  addr:\tbytes \tname operands"; false for other lines. */
static bool read_line(char *text, struct line *ret)
{
	char *bytes = strchr(text, '\t'), *name = bytes ? strchr(bytes + 1, '\t') : NULL;
	const char *operand;

	if (!name || text[0] != ' ')
		return false;
	ret->addr = strtoull(text, NULL, 16);
	ret->size = 0;
	*name++ = '\0';
	for (char *at = strtok(bytes + 1, " "); at; at = strtok(NULL, " "))
		ret->size++;
	name = (char *)skip_prefixes(name);
	operand = name + strcspn(name, " \n");
	operand += strspn(operand, " ");
	ret->flow = flow_of(name, *operand == '*');
	ret->target = ret->flow == INSN_CALL || ret->flow == INSN_JUMP || ret->flow == INSN_BRANCH ?
		strtoull(operand, NULL, 16) : 0;
	return true;
}

static bool decode(const struct code_map *code, const struct line *line, struct insn *ret)
{
	const uint8_t *bytes = file_view_at(&code->object->view, line->addr, line->size);

	return bytes && insn_decode(&code->functions.decoder, bytes, line->size, line->addr, ret);
}

static void test_program(const char *path)
{
	struct code_map *code = open_code(path);
	size_t nr = 0, nr_unknown = 0, nr_other = 0;
	char command[128], text[512];
	FILE *file = NULL;

	snprintf(command, sizeof(command), "objdump -dw %s 2>/dev/null", path);
	if (code)
		file = popen(command, "r");
	while (file && fgets(text, sizeof(text), file)) {
		struct line line;
		struct insn insn;

		if (!read_line(text, &line) || !functions_find(&code->functions, line.addr))
			continue;
		nr++;
		if (!decode(code, &line, &insn))
			nr_unknown++; /* such as wrpkru */
		else if ((insn.size != line.size || insn.flow != line.flow ||
			  insn.target != line.target) && nr_other++ < 5)
			diag("%#lx: %u bytes, flow %d to %#lx", (unsigned long)line.addr, line.size,
			     line.flow, (unsigned long)line.target);
	}
	if (file)
		pclose(file);
	if (nr)
		ok(!nr_other && nr_unknown * 10000 < nr,
		   "%s: objdump reads the same %zu instructions, and %zu more", path,
		   nr - nr_unknown, nr_unknown);
	else
		skip(1, "no such program, or no objdump");
	code_map_close(code);
}

int main(void)
{
	struct insn_decoder decoder;

	plan(NR_CASES + NR_INVALID + 3 + NR_PROGRAMS);
	if (insn_decoder_init(&decoder))
		exit(1);
	test_cases(&decoder);
	test_operands(&decoder);
	insn_decoder_deinit(&decoder);
	for (int i = 0; i < NR_PROGRAMS; i++)
		test_program(programs[i]);
	return tap_status();
}
