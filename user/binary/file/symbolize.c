// SPDX-License-Identifier: GPL-2.0

#include "binary/file/symbolize.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static bool is_function(const GElf_Sym *sym, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       sym->st_shndx != SHN_UNDEF && sym->st_value && name && name[0] &&
	       name[0] != '$' && name[0] != '.';
}

/* The name of an address with the highest rank is shown: the plain exported one. */
static unsigned int name_rank(const char *name)
{
	return name[0] != '_' ? 2 : name[1] != '_' ? 1 : 0;
}

static int compare(const void *left, const void *right)
{
	enum { ENOUGH = 256 }; /* names can be long, and equal for long */
	const struct symbol *a = left, *b = right;

	return order_of(a->start, b->start) ?: order_of(!!a->size, !!b->size) ?:
	       order_of(name_rank(a->name), name_rank(b->name)) ?:
	       -strncmp(a->name, b->name, ENOUGH);
}

static void add_go(struct symbols *symbols, const struct go_table *go)
{
	for (uint32_t row = 0; row < go->nr; row++) {
		struct go_function function;

		if (go_table_function(go, row, &function) && function.name && function.name[0])
			symbols->entries[symbols->nr++] = (struct symbol){ function.start, function.size,
									   function.name };
	}
}

int symbols_init(struct symbols *symbols, Dwfl_Module *file, const struct go_table *go)
{
	int nr = dwfl_module_getsymtab(file);

	memset(symbols, 0, sizeof(*symbols));
	if (nr < 0)
		nr = 0;
	symbols->entries = calloc((size_t)nr + go->nr + 1, sizeof(*symbols->entries));
	if (!symbols->entries)
		return -ENOMEM;
	add_go(symbols, go);
	for (int i = 1; i < nr; i++) {
		GElf_Addr addr;
		GElf_Sym sym;
		const char *name = dwfl_module_getsym_info(file, i, &sym, &addr, NULL, NULL, NULL);

		if (!name || !is_function(&sym, name))
			continue;
		symbols->entries[symbols->nr++] = (struct symbol){ addr, sym.st_size, name };
	}
	qsort(symbols->entries, symbols->nr, sizeof(*symbols->entries), compare);
	return 0;
}

void symbols_deinit(struct symbols *symbols)
{
	free(symbols->entries);
	memset(symbols, 0, sizeof(*symbols));
}

static bool covers(const struct symbol *symbol, uint64_t addr, uint64_t start, uint64_t end)
{
	if (symbol->size)
		return addr - symbol->start < symbol->size;
	return symbol->start == start && addr < end;
}

const struct symbol *symbols_find(const struct symbols *symbols, uint64_t addr,
				  uint64_t start, uint64_t end)
{
	enum { MAX_STEPS = 16 }; /* local labels inside a function that has a size */
	size_t low = array_bisect(i, symbols->nr, symbols->entries[i].start > addr);

	for (int step = 0; low > 0 && step < MAX_STEPS; step++) {
		const struct symbol *symbol = &symbols->entries[--low];

		if (covers(symbol, addr, start, end))
			return symbol;
	}
	return NULL;
}
