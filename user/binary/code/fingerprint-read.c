// SPDX-License-Identifier: GPL-2.0

#include "binary/code/fingerprint-read.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"
#include "binary/code/scan.h"
#include "binary/code/stack-depth.h"
#include "binary/file/dynamic.h"
#include "binary/file/object.h"

enum {
	MIN_STRING = 4,
	MAX_STRING = 256,
	MAX_PASSES = 4, /* after the depth of the stack */
	JUMP_SIZE = 6, /* of a PLT's, without prefixes */
};

/* A pointer that the dynamic linker sets. */
struct import_slot {
	uint64_t addr;
	uint64_t function; /* of the file, if name is 0 */
	uint32_t name;
};

struct print_file {
	const struct object *object;
	const struct functions *functions;
	uint32_t *numbers; /* of the functions, in the result; or UINT32_MAX */
	struct import_slot *slots;
	size_t max_slots;
	uint32_t nr_slots;
	struct stack_depth depth;
	struct fingerprints *to;
	size_t max_refs;
};

static int by_addr(const void *left, const void *right)
{
	const struct import_slot *a = left, *b = right;

	return order_of(a->addr, b->addr);
}

static int add_slot(struct print_file *file, const struct dynamic *dynamic, const Elf64_Rela *rela)
{
	const struct file_view *view = &file->object->view;
	struct import_slot slot = { .addr = rela->r_offset };
	uint64_t type = ELF64_R_TYPE(rela->r_info);
	char name[DYNAMIC_STRING_MAX];
	const uint8_t *at;
	Elf64_Sym sym;

	if (type == R_X86_64_RELATIVE) {
		slot.function = (uint64_t)rela->r_addend;
	} else {
		at = file_view_at(view, dynamic_value(dynamic, DT_SYMTAB) +
				  ELF64_R_SYM(rela->r_info) * sizeof(sym), sizeof(sym));
		if (!at)
			return 0;
		memcpy(&sym, at, sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && type == R_X86_64_64)
			slot.function = sym.st_value + (uint64_t)rela->r_addend;
		else if (dynamic_string(dynamic, sym.st_name, name))
			slot.name = fingerprint_name(name);
	}
	if (array_grow(file->slots, file->nr_slots, file->max_slots))
		return -ENOMEM;
	file->slots[file->nr_slots++] = slot;
	return 0;
}

static int read_slots(struct print_file *file, const struct dynamic *dynamic, int64_t tag,
		      int64_t size_tag)
{
	uint64_t size = dynamic_value(dynamic, size_tag);
	const uint8_t *bytes = file_view_at(&file->object->view, dynamic_value(dynamic, tag), size);
	Elf64_Rela rela;
	int error = 0;

	for (uint64_t at = 0; bytes && size - at >= sizeof(rela) && !error; at += sizeof(rela)) {
		memcpy(&rela, bytes + at, sizeof(rela));
		error = add_slot(file, dynamic, &rela);
	}
	return error;
}

static int read_imports(struct print_file *file)
{
	struct dynamic dynamic;
	int error;

	dynamic_init(&dynamic, &file->object->view, file->object->elf);
	error = read_slots(file, &dynamic, DT_JMPREL, DT_PLTRELSZ) ?:
		read_slots(file, &dynamic, DT_RELA, DT_RELASZ);
	if (!error && file->nr_slots)
		qsort(file->slots, file->nr_slots, sizeof(*file->slots), by_addr);
	return error;
}

static const struct import_slot *slot_at(const struct print_file *file, uint64_t addr)
{
	uint32_t at = (uint32_t)array_bisect(i, file->nr_slots, file->slots[i].addr >= addr);

	return at < file->nr_slots && file->slots[at].addr == addr ? &file->slots[at] : NULL;
}

static uint32_t number_at(const struct print_file *file, uint64_t addr)
{
	const struct function *function = functions_at(file->functions, addr);

	return function ? file->numbers[function - file->functions->entries] : UINT32_MAX;
}

/* Of a jump or call through a pointer relative to RIP: ff /2 or /4. */
static const struct import_slot *slot_of(const struct print_file *file, const uint8_t *bytes,
					 const struct scan *insn, uint64_t addr)
{
	int32_t disp;

	if (insn->encoding.map != SCAN_MAP_ONE || insn->encoding.opcode != 0xff ||
	    (insn->encoding.modrm & 0xc7) != 5)
		return NULL;
	memcpy(&disp, bytes + insn->size - 4, sizeof(disp));
	return slot_at(file, addr + insn->size + (uint64_t)(int64_t)disp);
}

/* The import that an entry of a PLT leads to: a jump, maybe behind endbr64. */
static const struct import_slot *plt_slot(const struct print_file *file, uint64_t addr)
{
	struct scan insn;

	for (int i = 0; i < 2; i++, addr += insn.size) {
		const uint8_t *bytes = file_view_at(&file->object->view, addr, JUMP_SIZE + 2);

		if (!bytes || !scan_insn(bytes, JUMP_SIZE + 2, addr, &insn))
			return NULL;
		if (insn.flow == INSN_JUMP_INDIRECT)
			return slot_of(file, bytes, &insn, addr);
	}
	return NULL;
}

static int add_ref(struct print_file *file, struct fingerprint *print, struct fingerprint_ref ref)
{
	struct fingerprints *to = file->to;

	if (to->nr_refs >= FINGERPRINT_MAX_REFS)
		return 0;
	if (array_grow(to->refs, to->nr_refs, file->max_refs))
		return -ENOMEM;
	to->refs[to->nr_refs++] = ref;
	print->nr_refs++;
	return 0;
}

/* What is called there, if anything is; the kind is FINGERPRINT_NR_KINDS else. */
static void find_call(const struct print_file *file, const uint8_t *bytes, const struct scan *insn,
		      uint64_t addr, struct fingerprint_ref *ret)
{
	bool is_direct = insn->flow == INSN_CALL || insn->flow == INSN_JUMP ||
			 insn->flow == INSN_BRANCH;
	uint32_t number = is_direct ? number_at(file, insn->target) : UINT32_MAX;
	const struct import_slot *slot = NULL;

	if (number != UINT32_MAX) {
		ret->kind = insn->flow == INSN_CALL ? FINGERPRINT_CALL : FINGERPRINT_JUMP;
		ret->value = number;
		return;
	}
	if (insn->flow == INSN_CALL || insn->flow == INSN_JUMP)
		slot = plt_slot(file, insn->target);
	else if (insn->flow == INSN_CALL_INDIRECT || insn->flow == INSN_JUMP_INDIRECT)
		slot = slot_of(file, bytes, insn, addr);
	if (slot && slot->name) {
		ret->kind = FINGERPRINT_IMPORT;
		ret->value = slot->name;
	} else if (insn->flow == INSN_CALL_INDIRECT || insn->flow == INSN_CALL ||
		   (insn->flow == INSN_JUMP_INDIRECT && !ret->frame)) {
		ret->kind = FINGERPRINT_INDIRECT; /* a jump is a tail call, if the frame is gone */
	} else if (insn->flow == INSN_SYSCALL) {
		ret->kind = FINGERPRINT_SYSCALL;
	}
}

/* A text that ends; its hash, or 0. */
static uint32_t string_at(const struct print_file *file, uint64_t addr)
{
	uint64_t hash = HASH_FNV1A;

	for (uint32_t i = 0; i < MAX_STRING; i++) {
		const uint8_t *byte = file_view_at(&file->object->view, addr + i, 1);

		if (!byte || (*byte && *byte != '\n' && *byte != '\t' && (*byte < ' ' || *byte > '~')))
			return 0;
		if (!*byte)
			return i >= MIN_STRING ? (uint32_t)(hash >> 32) ?: 1 : 0;
		hash = hash_fnv1a(hash, byte, 1);
	}
	return 0;
}

static bool is_rip_relative(const struct scan *insn)
{
	return (insn->encoding.modrm & 0xc7) == 5;
}

/* lea of an address of the file. */
static void find_address(const struct print_file *file, const uint8_t *bytes,
			 const struct scan *insn, uint64_t addr, struct fingerprint_ref *ret)
{
	uint64_t target;
	int32_t disp;

	if (insn->encoding.map != SCAN_MAP_ONE || insn->encoding.opcode != 0x8d ||
	    !is_rip_relative(insn))
		return;
	memcpy(&disp, bytes + insn->size - 4, sizeof(disp));
	target = addr + insn->size + (uint64_t)(int64_t)disp;
	ret->value = number_at(file, target);
	if (ret->value != UINT32_MAX) {
		ret->kind = FINGERPRINT_CODE;
		return;
	}
	ret->value = string_at(file, target);
	if (ret->value)
		ret->kind = FINGERPRINT_STRING;
}

static bool is_nop(const uint8_t *bytes, const struct scan *insn)
{
	const struct scan_encoding *code = &insn->encoding;

	return (code->map == SCAN_MAP_0F && code->opcode == 0x1f) ||
	       (code->map == SCAN_MAP_ONE && code->opcode == 0x90 && !(code->rex & 1)) ||
	       (code->map == SCAN_MAP_0F && code->opcode == 0x1e && bytes[insn->size - 1] == 0xfa);
}

/* The operation: a short branch is as good as a near one. */
static uint64_t operation_of(const struct scan *insn)
{
	const struct scan_encoding *code = &insn->encoding;
	uint64_t operation = (uint64_t)code->map << 8 | code->opcode;

	if (insn->flow == INSN_BRANCH)
		return 1 << 16 | (code->opcode & 0xf);
	if (insn->flow == INSN_JUMP)
		return 1 << 17;
	if (code->map != SCAN_MAP_ONE)
		return operation;
	switch (code->opcode) {
	case 0x80 ... 0x83: case 0xc0: case 0xc1: case 0xd0 ... 0xd3: case 0xf6: case 0xf7:
	case 0xfe: case 0xff:
		return (operation == 0x83 ? 0x81 : operation) | (uint64_t)(code->modrm >> 3 & 7) << 20;
	}
	return operation;
}

static void hash_insn(struct fingerprint *print, const uint8_t *bytes, const struct scan *insn)
{
	uint8_t copy[16];

	print->nr_insns++;
	print->nr_branches += insn->flow == INSN_BRANCH;
	print->shape = hash_mix(print->shape, operation_of(insn));
	memcpy(copy, bytes, insn->size);
	if (insn->flow == INSN_CALL || insn->flow == INSN_JUMP || insn->flow == INSN_BRANCH)
		memset(copy + insn->size - insn->encoding.imm_size, 0, insn->encoding.imm_size);
	else if (is_rip_relative(insn) && insn->size >= 4 + insn->encoding.imm_size)
		memset(copy + insn->size - insn->encoding.imm_size - 4, 0, 4);
	print->code = hash_fnv1a(print->code, copy, insn->size);
}

static int read_insn(struct print_file *file, struct fingerprint *print, const uint8_t *bytes,
		     const struct scan *insn, uint64_t addr)
{
	struct fingerprint_ref ref = { .kind = FINGERPRINT_NR_KINDS };

	if (is_nop(bytes, insn))
		return 0;
	hash_insn(print, bytes, insn);
	stack_depth_enter(&file->depth, addr);
	ref.frame = (uint32_t)file->depth.depth; /* none is none */
	find_call(file, bytes, insn, addr, &ref);
	if (ref.kind == FINGERPRINT_NR_KINDS)
		find_address(file, bytes, insn, addr, &ref);
	if (stack_depth_pass(&file->depth, bytes, insn))
		return -ENOMEM;
	if (ref.kind == FINGERPRINT_NR_KINDS ||
	    !file_view_offset(&file->object->view, addr, insn->size, &ref.end))
		return 0;
	ref.end += insn->size;
	return add_ref(file, print, ref);
}

/* A pass for the depth alone. */
static int pass_depth(struct print_file *file, const struct range *range)
{
	const uint8_t *code = file->object->view.bytes + range->offset;
	struct scan insn;
	int error = 0;

	for (uint32_t i = 0; i < range->size && !error; i += insn.size) {
		if (!scan_insn(code + i, range->size - i, range->addr + i, &insn)) {
			insn.size = 1;
			file->depth.depth = STACK_DEPTH_NONE;
			continue;
		}
		stack_depth_enter(&file->depth, range->addr + i);
		error = stack_depth_pass(&file->depth, code + i, &insn);
	}
	return error;
}

static int follow_depth(struct print_file *file, const struct range *range, bool is_first)
{
	int error = stack_depth_part(&file->depth, range->addr, range->size, is_first);

	for (int i = 0; i < MAX_PASSES && !error; i++) {
		error = pass_depth(file, range);
		if (!file->depth.has_news)
			i = MAX_PASSES;
		stack_depth_again(&file->depth);
	}
	return error;
}

static int read_part(struct print_file *file, struct fingerprint *print, uint32_t at)
{
	const struct range *range = &file->functions->ranges.entries[at];
	const uint8_t *code = file->object->view.bytes + range->offset;
	struct scan insn;
	int error = follow_depth(file, range, range->offset == print->offset);

	for (uint32_t i = 0; i < range->size && !error; i += insn.size) {
		if (!scan_insn(code + i, range->size - i, range->addr + i, &insn)) {
			insn.size = 1;
			file->depth.depth = STACK_DEPTH_NONE;
			continue;
		}
		error = read_insn(file, print, code + i, &insn, range->addr + i);
	}
	return error;
}

static int read_function(struct print_file *file, const struct function *function,
			 struct fingerprint *print)
{
	int error = 0;

	*print = (struct fingerprint){
		.offset = function->offset,
		.size = function->size,
		.name = function->name ? fingerprint_name(function->name) : 0,
		.first_ref = file->to->nr_refs,
	};
	stack_depth_function(&file->depth);
	for (uint32_t at = function->first_range; at != RANGES_NONE && !error;
	     at = file->functions->ranges.entries[at].next)
		error = read_part(file, print, at);
	return error;
}

/* Tables of functions: the pointers in the order in which they stand. */
static int read_data(struct print_file *file, struct fingerprint *print)
{
	int error = 0;

	*print = (struct fingerprint){ .first_ref = file->to->nr_refs };
	if (file->to->nr > 1)
		print->offset = print[-1].offset;
	for (uint32_t i = 0; i < file->nr_slots && !error; i++) {
		const struct import_slot *slot = &file->slots[i];
		uint32_t number = slot->name ? UINT32_MAX : number_at(file, slot->function);

		if (number != UINT32_MAX)
			error = add_ref(file, print, (struct fingerprint_ref){
				.kind = FINGERPRINT_CODE, .value = number, .end = slot->addr,
				.frame = FINGERPRINT_NO_FRAME });
	}
	return error;
}

static int number_functions(struct print_file *file)
{
	const struct functions *functions = file->functions;
	uint64_t before = 0;

	if (array_new(file->numbers, functions->nr) ||
	    array_new(file->to->functions, functions->nr + 1UL))
		return -ENOMEM;
	for (uint32_t i = 0; i < functions->nr; i++) {
		const struct function *function = &functions->entries[i];
		bool is_listed = !function->is_plt && function->offset > before;

		file->numbers[i] = is_listed ? file->to->nr++ : UINT32_MAX;
		before = is_listed ? function->offset : before;
	}
	return 0;
}

static int read_all(struct print_file *file)
{
	const struct functions *functions = file->functions;
	int error = number_functions(file) ?: read_imports(file);

	for (uint32_t i = 0; i < functions->nr && !error; i++)
		if (file->numbers[i] != UINT32_MAX)
			error = read_function(file, &functions->entries[i],
					      &file->to->functions[file->numbers[i]]);
	if (!error)
		error = read_data(file, &file->to->functions[file->to->nr++]);
	return error;
}

int fingerprints_read(const struct object *object, const struct functions *functions,
		      struct fingerprints *ret)
{
	struct print_file file = { .object = object, .functions = functions, .to = ret };
	int error;

	*ret = (struct fingerprints){ 0 };
	error = read_all(&file);
	free(file.numbers);
	free(file.slots);
	stack_depth_deinit(&file.depth);
	if (error)
		fingerprints_deinit(ret);
	return error;
}
