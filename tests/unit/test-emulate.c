// SPDX-License-Identifier: GPL-2.0
/*
 * The module's emulation against the processor.  All encodings that the decoder
 * accepts are sorted into forms: opcode, operand size, kind of operands.  Each
 * form is run in 10,000 random states of registers, flags and memory, by the
 * processor and by kmod/probe/emulate.c.  Lengths and operands are what another
 * disassembler says.
 *
 * With --table, print the forms as Documentation/emulation.md has them.
 */

#include <linux/ptrace.h>

#include "../../kmod/probe/emulate.c"

#include <capstone/capstone.h>
#include <fcntl.h>
#include <unistd.h>

#include "binary/code/probe-site.h"
#include "processor.h"
#include "tap.h"

enum {
	STATES = 10000, /* at least, for each form */
	ENCODINGS = 256, /* at most, of each form */
	MAX_FORMS = 1 << 14,
	NR_KEYS = 1 << 21,
	WINDOW = 256, /* bytes that an instruction may come by */
	NR_RANDOM = 3000000,
};

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

static csh capstone;
static cs_insn *insn;
static struct processor processor;
static uint8_t *window; /* across the border of two pages, in the lower 2 GiB */

static bool disassemble(const uint8_t *bytes, size_t size)
{
	uint64_t addr = 0;

	return cs_disasm_iter(capstone, &bytes, &size, &addr, insn);
}

/* ---- what another disassembler says ---- */

static bool is_sp(unsigned int reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}

static bool disassembler_writes_sp(void)
{
	const cs_detail *detail = insn->detail;

	for (uint8_t i = 0; i < detail->regs_write_count; i++)
		if (is_sp(detail->regs_write[i]))
			return true;
	/* Capstone 4 takes the operands of test for written */
	if (insn->id == X86_INS_TEST || insn->id == X86_INS_CMP || insn->id == X86_INS_NOP)
		return false;
	for (uint8_t i = 0; i < detail->x86.op_count; i++) {
		const cs_x86_op *op = &detail->x86.operands[i];

		if (op->type == X86_OP_REG && is_sp(op->reg) &&
		    (!i || insn->id == X86_INS_XCHG || op->access & CS_AC_WRITE))
			return true;
	}
	return false;
}

static const struct {
	const char *mnemonic; /* or how it begins, with * */
	enum emulate_op op;
} mnemonics[] = {
	{ "add", EMULATE_ADD }, { "or", EMULATE_OR }, { "adc", EMULATE_ADC },
	{ "sbb", EMULATE_SBB }, { "and", EMULATE_AND }, { "sub", EMULATE_SUB },
	{ "xor", EMULATE_XOR }, { "cmp", EMULATE_CMP }, { "test", EMULATE_TEST },
	{ "inc", EMULATE_INC }, { "dec", EMULATE_DEC }, { "not", EMULATE_NOT },
	{ "neg", EMULATE_NEG }, { "shl", EMULATE_SHL }, { "shr", EMULATE_SHR },
	{ "sar", EMULATE_SAR }, { "mov", EMULATE_MOV }, { "movabs", EMULATE_MOV },
	{ "movzx", EMULATE_MOV }, { "lea", EMULATE_MOV }, { "movsx", EMULATE_EXTEND },
	{ "movsxd", EMULATE_EXTEND }, { "cbw", EMULATE_EXTEND }, { "cwde", EMULATE_EXTEND },
	{ "cdqe", EMULATE_EXTEND }, { "cwd", EMULATE_SPREAD }, { "cdq", EMULATE_SPREAD },
	{ "cqo", EMULATE_SPREAD }, { "set*", EMULATE_SET }, { "cmov*", EMULATE_CMOV },
	{ "xchg", EMULATE_XCHG }, { "nop", EMULATE_NOP }, { "pause", EMULATE_NOP },
	{ "endbr64", EMULATE_NOP },
};

enum {
	NR_MNEMONICS = sizeof(mnemonics) / sizeof(mnemonics[0]),
};

static unsigned int find_mnemonic(void)
{
	unsigned int i;

	for (i = 0; i < NR_MNEMONICS; i++) {
		const char *name = mnemonics[i].mnemonic, *star = strchr(name, '*');

		if (star ? !strncmp(name, insn->mnemonic, (size_t)(star - name)) :
			   !strcmp(name, insn->mnemonic))
			break;
	}
	return i;
}

static const cs_x86_op *memory_operand(void)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (uint8_t i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM)
			return &x86->operands[i];
	return NULL;
}

/* The number of a 64-bit register. */
static unsigned int register_number(unsigned int reg)
{
	static const unsigned int numbers[] = {
		X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX, X86_REG_RSP, X86_REG_RBP,
		X86_REG_RSI, X86_REG_RDI, X86_REG_R8, X86_REG_R9, X86_REG_R10, X86_REG_R11,
		X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15,
	};
	unsigned int i;

	for (i = 0; i < 16 && numbers[i] != reg; i++)
		;
	return i;
}

/* ---- forms ---- */

struct encoding {
	uint8_t bytes[16];
};

/* Where an operand is, for the table and the key. */
enum place {
	PLACE_NONE,
	PLACE_REG,
	PLACE_BASE, /* and, if at all, a displacement of 8 or 32 bits */
	PLACE_BASE_8,
	PLACE_BASE_32,
	PLACE_INDEXED,
	PLACE_INDEXED_8,
	PLACE_INDEXED_32,
	PLACE_INDEX_ONLY,
	PLACE_ABSOLUTE,
	PLACE_IP,
};

/* Kinds of operands, in the order of the table. */
static const char *const kinds[] = {
	"none", "register", "register, register", "register, constant", "register, memory",
	"memory, register", "memory, constant", "memory", "register, address",
};

enum {
	NR_KINDS = sizeof(kinds) / sizeof(kinds[0]),
};

/* By opcode, and its extension or 8: the mnemonics; by mnemonic: the kinds.  Bits. */
static uint64_t mnemonics_of[512][9];
static uint32_t kinds_of[NR_MNEMONICS];

struct form {
	unsigned int mnemonic;
	uint16_t opcode; /* 0xfxx: behind 0f */
	uint8_t extension; /* of the opcode, or 8 */
	enum place place;
	bool is_accessed; /* the operand in memory */
	bool is_stored;
	uint32_t seen;
	struct encoding encodings[ENCODINGS];
};

static struct form *forms;
static uint32_t nr_forms;
static uint16_t form_of_key[NR_KEYS];

static enum place find_place(const struct pguard_emulation *emulation, const uint8_t *modrm,
			     bool has_modrm)
{
	uint8_t mod = *modrm >> 6;

	if (!has_modrm)
		return PLACE_NONE;
	if (mod == 3)
		return PLACE_REG;
	if (emulation->base == EMULATE_IP)
		return PLACE_IP;
	if (emulation->base == EMULATE_NONE)
		return emulation->index == EMULATE_NONE ? PLACE_ABSOLUTE : PLACE_INDEX_ONLY;
	return (emulation->index == EMULATE_NONE ? PLACE_BASE : PLACE_INDEXED) + mod;
}

/* True if the middle of ModRM is part of the opcode. */
static bool is_group(uint16_t opcode)
{
	return (opcode >= 0x80 && opcode <= 0x83) || opcode == 0xc0 || opcode == 0xc1 ||
	       (opcode >= 0xc6 && opcode <= 0xd1) || opcode == 0xf6 || opcode == 0xf7 ||
	       opcode == 0xfe || opcode == 0xff;
}

static bool opcode_has_modrm(uint16_t opcode)
{
	if (opcode >= 0x0f00)
		return true;
	return (opcode < 0x40 ? (opcode & 7) < 4 : opcode < 0x90 || (opcode >= 0xc0));
}

static unsigned int find_kind(void)
{
	const cs_x86 *x86 = &insn->detail->x86;
	bool has_constant = x86->op_count > 1 && x86->operands[1].type == X86_OP_IMM;
	const cs_x86_op *memory = memory_operand();

	if (insn->id == X86_INS_LEA)
		return 8;
	if (x86->op_count < 2)
		return !x86->op_count ? 0 : memory ? 7 : 1;
	if (!memory)
		return has_constant ? 3 : 2;
	return has_constant ? 6 : memory == &x86->operands[0] ? 5 : 4;
}

static uint32_t count_wrong[4];

static void complain(unsigned int what, const char *text, const uint8_t *bytes, size_t size)
{
	char hex[64] = "";

	if (++count_wrong[what] > 5)
		return;
	for (size_t i = 0; i < size && i < 16; i++)
		sprintf(hex + 3 * i, "%02x ", bytes[i]);
	diag("%s: %s(%s %s)", text, hex, insn->mnemonic, insn->op_str);
}

/* True if it is what the other disassembler says, and all of its bytes alone are needed. */
static void check_decoded(const struct pguard_emulation *emulation, const uint8_t *bytes,
			  size_t size)
{
	struct pguard_emulation again;

	if (!disassemble(bytes, size)) {
		insn->mnemonic[0] = 0;
		insn->op_str[0] = 0;
		complain(0, "unknown to the disassembler", bytes, size);
		return;
	}
	if (insn->size != emulation->length)
		complain(0, "another length", bytes, size);
	if (disassembler_writes_sp())
		complain(1, "writes SP", bytes, size);
	if (find_mnemonic() == NR_MNEMONICS || mnemonics[find_mnemonic()].op != emulation->op)
		complain(2, "another instruction", bytes, size);
	for (uint8_t less = 0; less < emulation->length; less++)
		if (!pguard_emulate_prepare(&again, bytes, less))
			complain(3, "cut and yet accepted", bytes, less);
	if (pguard_emulate_prepare(&again, bytes, emulation->length) ||
	    memcmp(&again, emulation, sizeof(again)))
		complain(3, "depends on what follows", bytes, size);
}

/* An encoding that is accepted: one of those of its form that are run. */
static void keep(const uint8_t *bytes, const struct pguard_emulation *emulation, bool has_66,
		 uint8_t rex, uint16_t opcode, const uint8_t *modrm)
{
	uint8_t extension = is_group(opcode) ? *modrm >> 3 & 7 : 8;
	enum place place = find_place(emulation, modrm, opcode_has_modrm(opcode));
	uint32_t key, slot;
	struct form *form;

	check_decoded(emulation, bytes, 16);
	key = (uint32_t)(opcode & 0xff) | (uint32_t)(opcode > 0xff) << 8 | (uint32_t)has_66 << 9 |
	      (uint32_t)(rex >> 3 & 1) << 10 | (uint32_t)(rex && emulation->width == 1) << 11 |
	      (uint32_t)extension << 12 | (uint32_t)place << 16;
	if (!form_of_key[key]) {
		const cs_x86 *x86 = &insn->detail->x86;
		unsigned int mnemonic = find_mnemonic();

		if (nr_forms == MAX_FORMS - 1)
			exit(1);
		form_of_key[key] = (uint16_t)++nr_forms;
		forms[nr_forms] = (struct form){
			.mnemonic = mnemonic, .opcode = opcode, .extension = extension,
			.place = place,
			.is_accessed = memory_operand() && emulation->op != EMULATE_NOP &&
				       insn->id != X86_INS_LEA,
			.is_stored = x86->op_count && x86->operands[0].type == X86_OP_MEM &&
				     emulation->op != EMULATE_CMP && emulation->op != EMULATE_TEST,
		};
		mnemonics_of[(opcode & 0xff) | (opcode > 0xff) << 8][extension] |= 1ull << mnemonic;
		kinds_of[mnemonic] |= 1u << find_kind();
	}
	form = &forms[form_of_key[key]];
	form->seen++;
	slot = form->seen <= ENCODINGS ? form->seen - 1 : random_below(form->seen);
	if (slot < ENCODINGS)
		memcpy(form->encodings[slot].bytes, bytes, 16);
}

static void try_encoding(bool has_66, uint8_t rex, uint16_t opcode, uint8_t modrm)
{
	struct pguard_emulation emulation;
	uint64_t tail[2] = { random_next(), random_next() };
	uint8_t bytes[32], *at = bytes;

	if (has_66)
		*at++ = 0x66;
	if (rex)
		*at++ = rex;
	if (opcode > 0xff)
		*at++ = 0x0f;
	*at++ = opcode & 0xff;
	*at = modrm;
	memcpy(at + 1, tail, sizeof(tail));
	if (pguard_emulate_prepare(&emulation, bytes, 16))
		return;
	keep(bytes, &emulation, has_66, rex, opcode, at);
}

/* All opcodes, with and without 66, all REX, all ModRM; the rest random, if at all several times. */
static void find_forms(void)
{
	for (uint32_t i = 0; i < 2 * 512 * 17 * 256; i++) {
		uint16_t opcode = i >> 9 & 0x1ff;
		uint8_t modrm = i & 0xff, rex = (uint8_t)(i >> 18);
		bool has_sib = modrm < 0xc0 && (modrm & 7) == 4;

		/* these go before an opcode */
		if (opcode == 0x0f || opcode == 0x66 || opcode == 0xf3 || opcode >> 4 == 4)
			continue;
		opcode = opcode > 0xff ? 0xf00 | (opcode & 0xff) : opcode;
		for (int n = has_sib ? 8 : 1; n--;)
			try_encoding(i >> 8 & 1, rex ? 0x40 + rex - 1 : 0, opcode, modrm);
	}
}

/* ---- states ---- */

static uint64_t random_value(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, ~0ull, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0x0f, 0x10,
		0xffffffff80000000, 0xffffffffffffff80, 0xffffffffffff8000, 0xfffffffffffffffe,
	};
	uint64_t value = random_next();

	switch (value & 7) {
	case 0: case 1:
		return edges[random_below(sizeof(edges) / sizeof(edges[0]))];
	case 2:
		return (uint64_t)(int8_t)(value >> 8);
	case 3:
		return value >> random_below(64);
	}
	return random_next();
}

/*
 * An interrupt comes at any time, and the return from it fails on some processors (#GP) if
 * the stack pointer is no canonical address.
 */
static uint64_t canonical(uint64_t value)
{
	return (uint64_t)((int64_t)(value << 17) >> 17);
}

static void random_regs(struct processor_state *ret)
{
	/* all that a user may set freely: CF, PF, AF, ZF, SF, DF, OF */
	enum { FREE = 0xcd5 };

	for (int i = 0; i < 16; i++)
		ret->regs[i] = random_value();
	ret->regs[EMULATE_SP] = canonical(ret->regs[EMULATE_SP]);
	ret->flags = (random_next() & FREE) | 0x202;
}

/* Let the operand in memory be in the window: by its registers, or by the bytes of @encoding. */
static void place_memory(struct encoding *encoding, struct processor_state *state)
{
	const cs_x86_op *op = memory_operand();
	uint64_t wanted = (uint64_t)window + WINDOW / 4 + random_below(WINDOW / 2);
	unsigned int base = register_number(op->mem.base);
	unsigned int index = register_number(op->mem.index);
	uint64_t disp = (uint64_t)op->mem.disp;

	if (base < 16 && base == index) {
		state->regs[base] = (wanted - disp) / (1 + (uint64_t)op->mem.scale);
		/* the quotient must not be of a number that is less than 0 */
		if (wanted < disp)
			state->regs[base] = -((disp - wanted) / (1 + (uint64_t)op->mem.scale));
	} else if (base < 16) {
		if (base == EMULATE_SP && index < 16)
			state->regs[index] = (uint32_t)state->regs[index];
		state->regs[base] = wanted - disp -
			(index < 16 ? state->regs[index] * (uint64_t)op->mem.scale : 0);
	} else if (index < 16) {
		state->regs[index] = (uint64_t)((int64_t)(wanted - disp) / op->mem.scale);
	} else {
		uint32_t bytes = (uint32_t)wanted;

		if (op->mem.base == X86_REG_RIP)
			bytes -= (uint32_t)((uint64_t)processor.insn + insn->size);
		memcpy(encoding->bytes + insn->detail->x86.encoding.disp_offset, &bytes, 4);
	}
}

static void regs_from(const struct processor_state *state, struct pt_regs *ret)
{
	*ret = (struct pt_regs){ .orig_ax = ~0ul, .cs = __USER_CS, .ss = 0x2b };
	for (uint8_t i = 0; i < 16; i++)
		*register_of(ret, i) = state->regs[i];
	ret->flags = state->flags;
	ret->ip = (unsigned long)processor.insn;
}

/* Those of the flags after it that are defined. */
static uint64_t defined_flags(const struct pguard_emulation *emulation)
{
	switch (emulation->op) {
	case EMULATE_AND: case EMULATE_OR: case EMULATE_XOR: case EMULATE_TEST:
		return ~(uint64_t)X86_EFLAGS_AF;
	case EMULATE_SHL: case EMULATE_SHR: case EMULATE_SAR:
		if (!emulation->constant)
			break;
		return ~(uint64_t)(X86_EFLAGS_AF |
				   (emulation->constant > 1 ? X86_EFLAGS_OF : 0));
	}
	return ~0ull;
}

static struct {
	uint64_t states;
	uint64_t encodings;
	uint32_t forms;
	uint64_t wrong;
	uint64_t undefined; /* states after which an undefined flag was not the same */
	uint64_t missed; /* forms of memory that did not fault */
} by_mnemonic[NR_MNEMONICS];

static uint64_t memory_before[WINDOW / 8], memory_after[WINDOW / 8];

static bool is_equal(const struct pguard_emulation *emulation, const struct pt_regs *regs)
{
	const struct processor_state *after = &processor.frame->after;
	struct pt_regs wanted;

	regs_from(after, &wanted);
	wanted.ip += insn->size;
	wanted.flags = (after->flags & defined_flags(emulation)) |
		       (regs->flags & ~defined_flags(emulation));
	return !memcmp(&wanted, regs, sizeof(wanted)) && !memcmp(memory_after, window, WINDOW);
}

static void run_state(const struct form *form, const struct pguard_emulation *emulation,
		      const struct processor_state *state)
{
	struct pt_regs regs;

	for (int i = 0; form->is_accessed && i < WINDOW / 8; i++)
		memory_before[i] = random_value();
	memcpy(window, memory_before, WINDOW);
	processor.frame->before = *state;
	processor_run(&processor);
	if (form->is_accessed) {
		memcpy(memory_after, window, WINDOW);
		memcpy(window, memory_before, WINDOW);
	}
	regs_from(state, &regs);
	if (!pguard_emulate(emulation, &regs) || !is_equal(emulation, &regs)) {
		if (!by_mnemonic[form->mnemonic].wrong++)
			diag("%s %s: rax %#lx, is %#lx; flags %#lx to %#lx, are %#lx",
			     insn->mnemonic, insn->op_str, processor.frame->after.regs[0],
			     regs.ax, state->flags, processor.frame->after.flags, regs.flags);
	}
	by_mnemonic[form->mnemonic].undefined += regs.flags != processor.frame->after.flags;
}

/* What is not there, is stepped or is no 64-bit code changes nothing. */
static void run_refused(const struct form *form, const struct pguard_emulation *emulation,
			const struct processor_state *state)
{
	struct pt_regs before, regs;
	bool is_done = false;

	memcpy(memory_before, window, WINDOW);
	regs_from(state, &before);
	if (form->is_accessed) {
		uint64_t end = user_end;

		/* all of it is gone, or the end of what is accessed */
		regs = before;
		user_end = random_below(2) ? user_start :
			   address_of(emulation, &regs) +
			   (form->is_stored ? emulation->width : emulation->source_width) - 1;
		is_done |= pguard_emulate(emulation, &regs);
		is_done |= memcmp(&before, &regs, sizeof(regs)) != 0;
		user_end = end;
	}
	before.flags |= X86_EFLAGS_TF;
	regs = before;
	is_done |= pguard_emulate(emulation, &regs) || memcmp(&before, &regs, sizeof(regs));
	before.flags &= ~(unsigned long)X86_EFLAGS_TF;
	before.cs = 0x23;
	regs = before;
	is_done |= pguard_emulate(emulation, &regs) || memcmp(&before, &regs, sizeof(regs));
	is_done |= memcmp(memory_before, window, WINDOW) != 0;
	by_mnemonic[form->mnemonic].missed += is_done;
}

static void run_encoding(const struct form *form, struct encoding *encoding, uint32_t states)
{
	struct pguard_emulation emulation;
	struct processor_state state;

	if (!disassemble(encoding->bytes, 16) ||
	    pguard_emulate_prepare(&emulation, encoding->bytes, 16))
		exit(1);
	for (uint32_t i = 0; i < states; i++) {
		random_regs(&state);
		if (form->is_accessed)
			place_memory(encoding, &state);
		if (!i || form->place == PLACE_IP || form->place == PLACE_ABSOLUTE) {
			pguard_emulate_prepare(&emulation, encoding->bytes, 16);
			processor_set(&processor, encoding->bytes, emulation.length);
		}
		run_state(form, &emulation, &state);
	}
	run_refused(form, &emulation, &state);
}

static void run_form(struct form *form)
{
	uint32_t nr = form->seen < ENCODINGS ? form->seen : ENCODINGS;
	uint32_t states = (STATES + nr - 1) / nr;

	for (uint32_t i = 0; i < nr; i++)
		run_encoding(form, &form->encodings[i], states);
	by_mnemonic[form->mnemonic].forms++;
	by_mnemonic[form->mnemonic].encodings += nr;
	by_mnemonic[form->mnemonic].states += (uint64_t)nr * states;
}

static void run_forms(void)
{
	uint64_t states = 0, encodings = 0, missed = 0;

	for (uint32_t i = 1; i <= nr_forms; i++)
		run_form(&forms[i]);
	for (unsigned int i = 0; i < NR_MNEMONICS; i++) {
		states += by_mnemonic[i].states;
		encodings += by_mnemonic[i].encodings;
		missed += by_mnemonic[i].missed;
		if (!strcmp(mnemonics[i].mnemonic, "endbr64") ||
		    !strcmp(mnemonics[i].mnemonic, "pause"))
			continue; /* see test_rep_nops() */
		ok(by_mnemonic[i].forms && !by_mnemonic[i].wrong,
		   "%s: %u forms, %lu states", mnemonics[i].mnemonic, by_mnemonic[i].forms,
		   (unsigned long)by_mnemonic[i].states);
		if (by_mnemonic[i].undefined)
			diag("an undefined flag was another in %lu states",
			     (unsigned long)by_mnemonic[i].undefined);
	}
	ok(!missed, "nothing is changed where memory is not there, by a step, and in 32-bit code");
	diag("%u forms, %lu encodings, %lu states", nr_forms, (unsigned long)encodings,
	     (unsigned long)states);
}

/* Not found by opcode: prefix f3 is part of them. */
static void test_rep_nops(void)
{
	static const struct encoding nops[] = {
		{ { 0xf3, 0x0f, 0x1e, 0xfa } }, { { 0xf3, 0x90 } },
	};

	for (int i = 0; i < 2; i++) {
		struct form form = { .seen = 1, .encodings = { nops[i] } };

		disassemble(nops[i].bytes, 16);
		form.mnemonic = find_mnemonic();
		run_form(&form);
		ok(!by_mnemonic[form.mnemonic].wrong && !by_mnemonic[form.mnemonic].missed,
		   "%s: %lu states", mnemonics[form.mnemonic].mnemonic,
		   (unsigned long)by_mnemonic[form.mnemonic].states);
	}
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
		0x48, 0x66, 0x0f, 0xf3, 0x41, 0x90, 0x8b, 0x89, 0x8d, 0x83, 0xe8, 0x74, 0x55, 0x67,
	};

	for (uint32_t i = 0; i < size; i++) {
		uint64_t value = random_next();

		bytes[i] = value & 0x100 && i < 3 ? common[(value >> 9) % sizeof(common)] :
						    (uint8_t)value;
	}
}

/* True if kernels emulate it, unless they refuse it, by what the disassembler says it is. */
static bool is_kernels(const uint8_t *bytes, const struct insn *is)
{
	switch (is->id) {
	case X86_INS_LOOP: case X86_INS_LOOPE: case X86_INS_LOOPNE:
	case X86_INS_JRCXZ: case X86_INS_JECXZ:
		return false;
	case X86_INS_PUSH:
		return is->ops[0].type == X86_OP_REG && is->ops[0].size == 8 &&
		       (is->size == 1 || (is->size == 2 && bytes[0] == 0x41));
	case X86_INS_NOP:
		for (int i = 0; i < is->size - 1; i++)
			if (bytes[i] != 0x66)
				return false;
		return bytes[is->size - 1] == 0x90;
	}
	return insn_has_target(is->flow);
}

static bool is_agreed(const struct insn_decoder *decoder, const uint8_t *bytes)
{
	struct insn is;
	bool said;

	if (!insn_decode(decoder, bytes, 16, 0, &is) || is.id == X86_INS_INVALID)
		return true;
	/* It takes call with 67 and REX.W for two bytes too short. */
	if (is.flow == INSN_CALL && (is.size < 5 || bytes[is.size - 5] != 0xe8))
		return true;
	if (probe_site_step_mode(bytes, &is) == STEP_MODE_REFUSED)
		return true;
	said = pguard_emulate_by_kernel(bytes, is.size);
	if (said == is_kernels(bytes, &is) && said == pguard_emulate_by_kernel(bytes, 16))
		return true;
	disassemble(bytes, 16);
	complain(3, said ? "the kernel's?" : "not the kernel's?", bytes, is.size);
	return false;
}

static void test_random(const struct insn_decoder *decoder)
{
	uint32_t accepted = 0, by_kernel = 0, disagreed = 0;
	uint8_t *end = edge_new();

	memset(count_wrong, 0, sizeof(count_wrong));
	for (uint32_t i = 0; i < NR_RANDOM; i++) {
		struct pguard_emulation emulation;
		uint32_t size = random_below(17);

		random_bytes(end - 16, 16);
		by_kernel += pguard_emulate_by_kernel(end - 16, 16);
		disagreed += !is_agreed(decoder, end - 16);
		memmove(end - size, end - 16, size);
		pguard_emulate_by_kernel(end - size, size);
		if (pguard_emulate_prepare(&emulation, end - size, size))
			continue;
		accepted++;
		check_decoded(&emulation, end - size, size);
	}
	ok(!count_wrong[0] && !count_wrong[1] && !count_wrong[2] && !count_wrong[3],
	   "of any bytes, only what is known is accepted, and none behind their end is read");
	ok(accepted > NR_RANDOM / 50 && by_kernel > NR_RANDOM / 50 && !disagreed,
	   "what the kernel emulates is known by the bytes");
	diag("%u random ones, %u accepted, %u the kernel's", NR_RANDOM, accepted, by_kernel);
	munmap(end - 4096, 8192);
}

static void test_refused(void)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *name;
	} cases[] = {
#define CASE(bytes, name) { bytes, sizeof(bytes) - 1, name }
		CASE("\x48\x83\xec\x08", "sub of %rsp"),
		CASE("\x89\xc4", "mov to %esp"),
		CASE("\x40\xb4\x01", "mov to %spl"),
		CASE("\x48\x8d\x64\x24\x08", "lea to %rsp"),
		CASE("\x48\x94", "xchg with %rsp"),
		CASE("\x48\x87\xc4", "xchg of %rsp"),
		CASE("\x87\x07", "xchg with memory"),
		CASE("\x49\x90", "xchg that kernels take for nop"),
		CASE("\xff\x07", "inc of memory"),
		CASE("\x83\x07\x01", "add to memory"),
		CASE("\xf0\x01\x07", "lock"),
		CASE("\x64\x48\x8b\x04\x25\x28\0\0\0", "fs"),
		CASE("\x67\x8b\x07", "addresses of 32 bits"),
		CASE("\x48\x66\x89\xc0", "REX that is not just before the opcode"),
		CASE("\xd1\xf0", "another name of shl"),
		CASE("\x66\xc1\xe0\x10", "a shift by all bits"),
		CASE("\x55", "push"),
		CASE("\xc3", "ret"),
		CASE("\xe8\0\0\0\0", "call"),
		CASE("\x0f\xaf\xc1", "imul: undefined flags"),
		CASE("\x0f\x1f\xc8", "a nop of another number"),
		CASE("\xc5\xf8\x77", "vzeroupper"),
	};
	struct pguard_emulation unused;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ok(pguard_emulate_prepare(&unused, (const uint8_t *)cases[i].bytes,
					  cases[i].size) == -EOPNOTSUPP, "refused: %s",
		   cases[i].name);
}

/* ---- the table in Documentation/emulation.md ---- */

/* One line for each mnemonic: its opcodes, and the kinds of its operands. */
static void print_row(FILE *file, unsigned int mnemonic)
{
	const char *between = "";

	fprintf(file, "| %s |", mnemonics[mnemonic].mnemonic);
	for (unsigned int opcode = 0; opcode < 512; opcode++)
		for (unsigned int extension = 0; extension < 9; extension++) {
			if (!(mnemonics_of[opcode][extension] >> mnemonic & 1))
				continue;
			fprintf(file, opcode > 0xff ? " 0f %02x" : " %02x", opcode & 0xff);
			if (extension < 8)
				fprintf(file, "/%u", extension);
		}
	if (!strcmp(mnemonics[mnemonic].mnemonic, "endbr64"))
		fprintf(file, " f3 0f 1e fa");
	if (!strcmp(mnemonics[mnemonic].mnemonic, "pause"))
		fprintf(file, " f3 90");
	fprintf(file, " |");
	for (int kind = 0; kind < NR_KINDS; kind++) {
		if (!(kinds_of[mnemonic] >> kind & 1))
			continue;
		fprintf(file, "%s %s", between, kinds[kind]);
		between = ";";
	}
	fprintf(file, " |\n");
}

static char *print_table(void)
{
	size_t size;
	char *text;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		exit(1);
	/* found otherwise, see test_rep_nops() */
	for (unsigned int i = 0; i < NR_MNEMONICS; i++)
		kinds_of[i] |= !kinds_of[i];
	fprintf(file, "| instruction | opcodes | operands |\n|---|---|---|\n");
	for (unsigned int i = 0; i < NR_MNEMONICS; i++)
		print_row(file, i);
	fclose(file);
	return text;
}

static void test_table(void)
{
	FILE *file = fopen("Documentation/emulation.md", "r");
	static char document[65536];
	char *table = print_table();

	if (!file) {
		skip(1, "not run in the sources");
		return;
	}
	document[fread(document, 1, sizeof(document) - 1, file)] = 0;
	fclose(file);
	ok(strstr(document, table), "Documentation/emulation.md has what is carried out");
	free(table);
}

static void set_up(void)
{
	/* Two pages, and in the middle of them the window. */
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	forms = calloc(MAX_FORMS, sizeof(*forms));
	if (pages == MAP_FAILED || !forms || cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		exit(1);
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(capstone);
	window = pages + 4096 - WINDOW / 2;
	user_start = (uint64_t)window;
	user_end = user_start + WINDOW;
	processor_init(&processor);
}

static void tear_down(void)
{
	free(forms);
	cs_free(insn, 1);
	cs_close(&capstone);
}

int main(int argc, char **argv)
{
	struct insn_decoder decoder;

	set_up();
	if (insn_decoder_init(&decoder))
		exit(1);
	find_forms();
	if (argc > 1 && !strcmp(argv[1], "--table")) {
		char *table = print_table();

		fputs(table, stdout);
		free(table);
		insn_decoder_deinit(&decoder);
		tear_down();
		return 0;
	}
	plan(NR_MNEMONICS + 1 + 1 + 2 + 22 + 2);
	ok(!count_wrong[0] && !count_wrong[1] && !count_wrong[2] && !count_wrong[3],
	   "all encodings are what the disassembler says, and complete");
	run_forms();
	test_rep_nops();
	test_random(&decoder);
	test_refused();
	ok(sizeof(struct pguard_emulation) <= 32, "one takes %zu bytes",
	   sizeof(struct pguard_emulation));
	test_table();
	insn_decoder_deinit(&decoder);
	tear_down();
	return tap_status();
}
