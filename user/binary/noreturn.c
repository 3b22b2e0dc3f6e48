// SPDX-License-Identifier: GPL-2.0

#include "noreturn.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* Of the C and C++ libraries; sorted. */
static const char *const names[] = {
	"_Exit", "_Unwind_Resume", "_Z10unexpectedv", "_ZSt10unexpectedv",
	"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE", "_ZSt9terminatev",
	"__assert", "__assert_fail", "__assert_perror_fail", "__chk_fail", "__cxa_bad_cast",
	"__cxa_bad_typeid", "__cxa_call_unexpected", "__cxa_deleted_virtual",
	"__cxa_pure_virtual", "__cxa_rethrow", "__cxa_throw", "__cxa_throw_bad_array_new_length",
	"__fortify_fail", "__libc_fatal", "__libc_start_main", "__longjmp_chk",
	"__stack_chk_fail", "_exit", "_longjmp", "abort", "err", "errx", "exit", "longjmp",
	"pthread_exit", "quick_exit", "siglongjmp", "thrd_exit", "verr", "verrx",
};

static int compare_names(const void *name, const void *element)
{
	return strcmp(name, *(const char *const *)element);
}

static bool is_noreturn(const char *name)
{
	static const char thrower[] = "__throw_";

	/* std::__throw_length_error() and its like */
	if (!strncmp(name, "_ZSt", 4) && strstr(name, thrower))
		return true;
	return bsearch(name, names, sizeof(names) / sizeof(names[0]), sizeof(names[0]),
		       compare_names);
}

/* What the dynamic section tells. */
struct dynamic {
	uint64_t symbols;
	uint64_t strings;
	uint64_t strings_size;
	uint64_t tables[2]; /* of relocations */
	uint64_t sizes[2];
};

static void read_tag(const Elf64_Dyn *dyn, struct dynamic *ret)
{
	switch (dyn->d_tag) {
	case DT_SYMTAB:
		ret->symbols = dyn->d_un.d_ptr;
		break;
	case DT_STRTAB:
		ret->strings = dyn->d_un.d_ptr;
		break;
	case DT_STRSZ:
		ret->strings_size = dyn->d_un.d_val;
		break;
	case DT_JMPREL:
		ret->tables[0] = dyn->d_un.d_ptr;
		break;
	case DT_PLTRELSZ:
		ret->sizes[0] = dyn->d_un.d_val;
		break;
	case DT_RELA:
		ret->tables[1] = dyn->d_un.d_ptr;
		break;
	case DT_RELASZ:
		ret->sizes[1] = dyn->d_un.d_val;
		break;
	}
}

static bool find_dynamic(const struct file_view *view, Elf *elf, struct dynamic *ret)
{
	size_t nr = 0;

	memset(ret, 0, sizeof(*ret));
	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		const uint8_t *bytes;
		GElf_Phdr phdr;
		Elf64_Dyn dyn;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_DYNAMIC)
			continue;
		bytes = file_view_at(view, phdr.p_vaddr, phdr.p_filesz);
		if (!bytes)
			return false;
		for (uint64_t at = 0; phdr.p_filesz - at >= sizeof(dyn); at += sizeof(dyn)) {
			memcpy(&dyn, bytes + at, sizeof(dyn));
			if (dyn.d_tag == DT_NULL)
				break;
			read_tag(&dyn, ret);
		}
		return true;
	}
	return false;
}

static const char *symbol_name(const struct file_view *view, const struct dynamic *dynamic,
			       uint64_t index)
{
	const uint8_t *at = file_view_at(view, dynamic->symbols + index * sizeof(Elf64_Sym),
					 sizeof(Elf64_Sym));
	const char *strings = (const char *)file_view_at(view, dynamic->strings,
							 dynamic->strings_size);
	Elf64_Sym sym;

	if (!at || !strings)
		return NULL;
	memcpy(&sym, at, sizeof(sym));
	if (sym.st_name >= dynamic->strings_size ||
	    !memchr(strings + sym.st_name, '\0', dynamic->strings_size - sym.st_name))
		return NULL;
	return strings + sym.st_name;
}

static int add_slot(struct noreturn *noreturn, uint64_t slot)
{
	enum { AT_ONCE = 64 };
	uint64_t *slots;

	if (noreturn->nr % AT_ONCE == 0) {
		slots = realloc(noreturn->slots, (noreturn->nr + AT_ONCE) * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		noreturn->slots = slots;
	}
	noreturn->slots[noreturn->nr++] = slot;
	return 0;
}

static int read_table(const struct file_view *view, const struct dynamic *dynamic, int table,
		      struct noreturn *ret)
{
	const uint8_t *bytes = file_view_at(view, dynamic->tables[table], dynamic->sizes[table]);
	Elf64_Rela rela;
	int err = 0;

	if (!bytes)
		return 0;
	for (uint64_t at = 0; dynamic->sizes[table] - at >= sizeof(rela) && !err;
	     at += sizeof(rela)) {
		uint64_t type;
		const char *name;

		memcpy(&rela, bytes + at, sizeof(rela));
		type = ELF64_R_TYPE(rela.r_info);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		name = symbol_name(view, dynamic, ELF64_R_SYM(rela.r_info));
		if (name && is_noreturn(name))
			err = add_slot(ret, rela.r_offset);
	}
	return err;
}

static int compare_slots(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

int noreturn_read(const struct file_view *view, Elf *elf, struct noreturn *ret)
{
	struct dynamic dynamic;
	int err = 0;

	memset(ret, 0, sizeof(*ret));
	if (!find_dynamic(view, elf, &dynamic))
		return 0;
	for (int table = 0; table < 2 && !err; table++)
		err = read_table(view, &dynamic, table, ret);
	if (err)
		noreturn_deinit(ret);
	else if (ret->nr)
		qsort(ret->slots, ret->nr, sizeof(*ret->slots), compare_slots);
	return err;
}

void noreturn_deinit(struct noreturn *noreturn)
{
	free(noreturn->slots);
	memset(noreturn, 0, sizeof(*noreturn));
}

static bool has_slot(const struct noreturn *noreturn, const struct insn *insn)
{
	return insn->is_rip_relative &&
	       bsearch(&insn->address, noreturn->slots, noreturn->nr, sizeof(insn->address),
		       compare_slots);
}

bool noreturn_is_call(const struct noreturn *noreturn, const struct file_view *view,
		      const struct insn_decoder *decoder, const struct insn *insn)
{
	enum { SIZE = 8 }; /* bytes; the smallest entry, and no such jump is longer */
	struct insn entry;
	uint64_t at;

	if (!noreturn->nr)
		return false;
	if (insn->flow == INSN_CALL_INDIRECT)
		return has_slot(noreturn, insn);
	if (insn->flow != INSN_CALL)
		return false;
	/* an entry of a linkage table: a jump, maybe behind endbr64 */
	at = insn->target;
	for (int i = 0; i < 2; i++, at += entry.size) {
		const uint8_t *bytes = file_view_at(view, at, SIZE);

		if (!bytes || !insn_decode(decoder, bytes, SIZE, at, &entry))
			return false;
		if (entry.id != X86_INS_ENDBR64)
			break;
	}
	return entry.flow == INSN_JUMP_INDIRECT && has_slot(noreturn, &entry);
}
