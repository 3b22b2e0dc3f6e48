// SPDX-License-Identifier: GPL-2.0

#include "binary/code/noreturn.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "binary/file/dynamic.h"

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

static bool symbol_name(const struct file_view *view, const struct dynamic *dynamic,
			uint64_t symbols, uint64_t index, char ret[DYNAMIC_STRING_MAX])
{
	const uint8_t *at = file_view_at(view, symbols + index * sizeof(Elf64_Sym),
					 sizeof(Elf64_Sym));
	Elf64_Sym sym;

	if (!at)
		return false;
	memcpy(&sym, at, sizeof(sym));
	return dynamic_string(dynamic, sym.st_name, ret);
}

/* A table of relocations, located by the dynamic entries @tag and @size_tag. */
static int read_table(const struct file_view *view, const struct dynamic *dynamic, int64_t tag,
		      int64_t size_tag, struct noreturn *ret)
{
	uint64_t symbols = dynamic_value(dynamic, DT_SYMTAB);
	uint64_t size = dynamic_value(dynamic, size_tag);
	const uint8_t *bytes = file_view_at(view, dynamic_value(dynamic, tag), size);
	Elf64_Rela rela;
	int err = 0;

	if (!bytes)
		return 0;
	for (uint64_t at = 0; size - at >= sizeof(rela) && !err; at += sizeof(rela)) {
		char name[DYNAMIC_STRING_MAX];
		uint64_t type;

		memcpy(&rela, bytes + at, sizeof(rela));
		type = ELF64_R_TYPE(rela.r_info);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		if (!symbol_name(view, dynamic, symbols, ELF64_R_SYM(rela.r_info), name) ||
		    !is_noreturn(name))
			continue;
		err = array_grow(ret->slots, ret->nr, ret->max);
		if (!err)
			ret->slots[ret->nr++] = rela.r_offset;
	}
	return err;
}

int noreturn_read(const struct file_view *view, Elf *elf, struct noreturn *ret)
{
	struct dynamic dynamic;
	int err;

	memset(ret, 0, sizeof(*ret));
	dynamic_init(&dynamic, view, elf);
	err = read_table(view, &dynamic, DT_JMPREL, DT_PLTRELSZ, ret);
	if (!err)
		err = read_table(view, &dynamic, DT_RELA, DT_RELASZ, ret);
	if (err)
		noreturn_deinit(ret);
	else if (ret->nr)
		qsort(ret->slots, ret->nr, sizeof(*ret->slots), order_u64);
	return err;
}

void noreturn_deinit(struct noreturn *noreturn)
{
	free(noreturn->slots);
	memset(noreturn, 0, sizeof(*noreturn));
}

static bool has_slot(const struct noreturn *noreturn, const struct scan *insn)
{
	return insn->encoding.is_rip_relative &&
	       bsearch(&insn->address, noreturn->slots, noreturn->nr, sizeof(insn->address),
		       order_u64);
}

bool noreturn_is_call(const struct noreturn *noreturn, const struct file_view *view,
		      const struct scan *insn)
{
	enum { SIZE = 8 }; /* bytes; the smallest entry, and no such jump is longer */
	struct scan entry;
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

		if (!bytes || !scan_insn(bytes, SIZE, at, &entry))
			return false;
		if (!scan_is_endbr64(&entry))
			break;
	}
	return entry.flow == INSN_JUMP_INDIRECT && has_slot(noreturn, &entry);
}
