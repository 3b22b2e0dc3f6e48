// SPDX-License-Identifier: GPL-2.0
/*
 * The functions found in stripped files against the symbols of the same files
 * unstripped, and against the exported names of programs of Debian.
 */

#include "program.h"
#include "tap.h"

/* Those of the C runtime, in assembly and without unwind tables. */
static bool is_of_runtime(const char *name)
{
	static const char *const names[] = {
		"_init", "_fini", "deregister_tm_clones", "register_tm_clones",
		"__do_global_dtors_aux", "frame_dummy",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static const char *cold_suffix(const char *name)
{
	const char *at = strstr(name, ".cold");

	return at && !strcmp(at, ".cold") ? at : NULL;
}

static bool is_found(const struct code_map *code, const struct program_symbol *symbol)
{
	const struct function *function = functions_at(&code->functions, symbol->addr);

	if (!function || function->size != symbol->size || function->is_plt) {
		diag("%s at %#lx: %s", symbol->name, (unsigned long)symbol->addr,
		     function ? "wrong size" : "not found");
		return false;
	}
	return functions_find(&code->functions, symbol->addr + symbol->size - 1) == function;
}

/* True if all of the cold part belongs to the function that it is a part of. */
static bool is_joined(const struct code_map *code, const struct program *truth,
		      const struct program_symbol *symbol)
{
	char *name = strndup(symbol->name, (size_t)(cold_suffix(symbol->name) - symbol->name));
	const struct program_symbol *parent = find_symbol(truth, name);
	const struct function *function = functions_find(&code->functions, symbol->addr);
	bool is_right = parent && function && function->addr == parent->addr &&
			functions_find(&code->functions, symbol->addr + symbol->size - 1) == function;

	if (!is_right)
		diag("%s belongs to %#lx", symbol->name,
		     (unsigned long)(function ? function->addr : 0));
	free(name);
	return is_right;
}

static void test_victim(const char *self, const char *name, size_t least_cold)
{
	struct program truth = read_program(beside(self, name), SHT_SYMTAB);
	size_t nr = 0, nr_cold = 0, nr_found = 0, nr_joined = 0, nr_invented = 0;
	char stripped[64];
	struct code_map *code;

	snprintf(stripped, sizeof(stripped), "%s.stripped", name);
	code = open_code(beside(self, stripped));
	if (!code) {
		ok(false, "%s can be read", stripped);
		return;
	}
	for (size_t i = 0; i < truth.nr; i++) {
		const struct program_symbol *symbol = &truth.symbols[i];

		if (is_of_runtime(symbol->name))
			continue;
		if (cold_suffix(symbol->name)) {
			nr_cold++;
			nr_joined += is_joined(code, &truth, symbol);
		} else {
			nr++;
			nr_found += is_found(code, symbol);
		}
	}
	for (uint32_t i = 0; i < code->functions.nr; i++) {
		const struct function *function = &code->functions.entries[i];

		if (function->is_plt || symbol_at(&truth, function->addr))
			continue;
		diag("nothing is at %#lx", (unsigned long)function->addr);
		nr_invented++;
	}
	ok(nr > 10 && nr_found == nr, "%s: all %zu functions are found", name, nr);
	ok(nr_cold >= least_cold && nr_joined == nr_cold, "%s: all %zu cold parts are joined", name,
	   nr_cold);
	ok(!nr_invented, "%s: no other functions are found", name);
	code_map_close(code);
	free_program(&truth);
}

static const struct function *named(const struct code_map *code, const struct program *truth,
				    const char *name)
{
	const struct program_symbol *symbol = find_symbol(truth, name);
	const struct function *function =
		symbol ? functions_at(&code->functions, symbol->addr) : NULL;

	if (function)
		return function;
	printf("Bail out! no function %s\n", name);
	exit(1);
}

static void test_hints(const char *self)
{
	struct program truth = read_program(beside(self, "victim-code"), SHT_SYMTAB);
	struct code_map *code = open_code(beside(self, "victim-code.stripped"));
	uint32_t nr_plt = 0, nr_at_entry = 0;

	ok(named(code, &truth, "is_leaf")->is_leaf && !named(code, &truth, "has_loop")->is_leaf &&
	   named(code, &truth, "tail_calls")->is_leaf, "leaves are those without a call");
	ok(named(code, &truth, "never_returns")->never_returns &&
	   named(code, &truth, "ends_with_call")->never_returns &&
	   !named(code, &truth, "has_cold_end")->never_returns &&
	   !named(code, &truth, "tail_calls")->never_returns, "what never returns is known");
	for (uint32_t i = 0; i < code->functions.nr; i++) {
		const struct function *function = &code->functions.entries[i];

		nr_plt += function->is_plt;
		nr_at_entry += function->entry_is_target;
	}
	ok(nr_at_entry == 1 && named(code, &truth, "has_entry_loop")->entry_is_target,
	   "the function that begins with its loop is the only one such");
	ok(nr_plt == 2 || nr_plt == 1, "linkage tables are known as such");
	ok(!functions_find(&code->functions, 0) && !functions_find(&code->functions, -1) &&
	   !functions_at(&code->functions, named(code, &truth, "is_leaf")->addr + 1),
	   "there is nothing where there is no function");
	code_map_close(code);
	free_program(&truth);
}

/* Names come from symbols: of the same functions, and only of them. */
static void test_names(const char *self)
{
	struct program truth = read_program(beside(self, "victim-code"), SHT_SYMTAB);
	struct code_map *code = open_code(beside(self, "victim-code"));
	bool all = true;

	for (uint32_t i = 0; i < code->functions.nr; i++) {
		const struct function *function = &code->functions.entries[i];
		const struct program_symbol *symbol = symbol_at(&truth, function->addr);

		if (!symbol != !function->name ||
		    (symbol && strcmp(symbol->name, function->name)))
			all = false;
	}
	ok(all, "functions have the names of their symbols");
	code_map_close(code);
	free_program(&truth);
}

/* Every exported function of a program of Debian is the start of one. */
static void test_debian(const char *path)
{
	struct program truth = read_program(path, SHT_DYNSYM);
	double start = cpu_s(), took;
	struct code_map *code = open_code(path);
	size_t missed = 0, sound = 0, orphans = 0;

	took = cpu_s() - start;
	if (!code) {
		skip(3, "no such program");
		free_program(&truth);
		return;
	}
	for (size_t i = 0; i < truth.nr; i++)
		missed += !functions_at(&code->functions, truth.symbols[i].addr);
	for (uint32_t i = 0; i < code->functions.nr; i++) {
		sound += code->functions.entries[i].is_sound;
		orphans += code->functions.entries[i].is_cold;
	}
	ok(!missed, "%s: all %zu exported functions are among %u", path, truth.nr,
	   code->functions.nr);
	/* some of libc's in assembly hold data */
	ok(sound * 1000 >= code->functions.nr * 999ull && orphans <= 1 &&
	   !code->functions.ranges.nr_refused, "%s: no function is doubtful", path);
	if (!ok(took < 10, "%s: takes little time", path))
		diag("%.3f s", took);
	diag("%.3f s", took);
	code_map_close(code);
	free_program(&truth);
}

int main(int argc, char **argv)
{
	(void)argc;
	plan(6 + 5 + 1 + 3 * NR_DEBIAN);
	test_victim(argv[0], "victim-code", 3);
	test_victim(argv[0], "victim-throw", 4);
	test_hints(argv[0]);
	test_names(argv[0]);
	for (int i = 0; i < NR_DEBIAN; i++)
		test_debian(debian[i]);
	return tap_status();
}
