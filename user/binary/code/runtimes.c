// SPDX-License-Identifier: GPL-2.0
/*
 * What a program is called says nothing: these functions are what a runtime's library is used by.
 * A program exports them that has the runtime in it, as programs that load extensions do, and
 * imports them that has it from a library.
 */

#include "binary/code/runtimes.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

const struct language_runtime runtimes[RUNTIMES_NR] = {
	{ "CPython", RUNTIME_INTERPRETER,
	  { "Py_BytesMain", "Py_RunMain", "Py_InitializeEx" }, { "_PyEval_EvalFrameDefault" } },
	{ "Perl", RUNTIME_INTERPRETER, { "perl_parse" }, { "Perl_runops_standard", "Perl_runops_debug" } },
	{ "PHP", RUNTIME_INTERPRETER, { "php_module_startup" }, { "execute_ex" } },
	{ "Ruby", RUNTIME_INTERPRETER, { "ruby_run_node", "ruby_setup" }, { "rb_vm_exec" } },
	{ "Lua", RUNTIME_EMBEDDED,
	  { "lua_newstate", "luaL_newstate" }, { "lua_callk", "lua_pcallk", "lua_call", "lua_pcall" } },
	{ "Tcl", RUNTIME_EMBEDDED, { "Tcl_CreateInterp" }, { "TclNRRunCallbacks" } },
	{ "LuaJIT", RUNTIME_COMPILER, { "luaJIT_setmode" }, { NULL } },
	{ "V8", RUNTIME_COMPILER,
	  { "_ZN2v87Isolate3NewERKNS0_12CreateParamsE", "_ZN4node5StartEiPPc" }, { NULL } },
	{ "a Java VM", RUNTIME_COMPILER, { "JNI_CreateJavaVM", "JLI_Launch" }, { NULL } },
	{ ".NET", RUNTIME_COMPILER, { "coreclr_initialize", "DotNetRuntimeInfo" }, { NULL } },
	{ "Mono", RUNTIME_COMPILER, { "mono_jit_init", "mono_main" }, { NULL } },
	{ "Erlang", RUNTIME_COMPILER, { "enif_schedule_nif" }, { NULL } },
};

static bool has_name(const char *const names[4], const char *name)
{
	for (size_t i = 0; i < 4 && names[i]; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

const char *runtimes_interpreter(const char *function)
{
	for (uint32_t i = 0; i < RUNTIMES_NR; i++)
		if (has_name(runtimes[i].running, function))
			return runtimes[i].name;
	return NULL;
}

static uint32_t find(const char *name)
{
	for (uint32_t i = 0; i < RUNTIMES_NR; i++)
		if (has_name(runtimes[i].symbols, name))
			return 1u << i;
	return 0;
}

static uint32_t find_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	const size_t nr = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	Elf_Data *data = elf_getdata(scn, NULL);
	uint32_t set = 0;

	for (size_t i = 0; data && i < nr; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name)
			set |= find(name);
	}
	return set;
}

uint32_t runtimes_find(Elf *elf)
{
	uint32_t set = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			set |= find_in(elf, scn, &header);
	return set;
}
