// SPDX-License-Identifier: GPL-2.0
/*
 * What a helper says about the code of a file is what reading it says: of programs of
 * Debian; and files that no helper can read are refused.
 */

#include <signal.h>

#include "binary/helper/foreign-code.h"
#include "made-file.h"
#include "program.h"
#include "tap.h"

enum {
	MAX_CALLS = 200,
};

/* Only of one that was asked for windows. */
static bool has_same_window(const struct code_map *code, const struct function *function,
			    const struct window_site *theirs)
{
	struct window_site ours;

	window_site_find(&code->functions, function, &ours);
	return ours.verdict == theirs->verdict && ours.offset == theirs->offset &&
	       ours.sp_delta == theirs->sp_delta;
}

static bool is_same(const struct code_map *code, const struct foreign_function *theirs)
{
	const struct function *function = code_map_function(code, theirs->described.offset);
	struct samples_function ours;
	bool ret;

	if (!function || code_map_describe(code, function, 0, &ours))
		return false;
	ret = ours.offset == theirs->described.offset && ours.size == theirs->described.size &&
	      ours.site == theirs->described.site && ours.cost == theirs->described.cost &&
	      ours.sp_delta == theirs->described.sp_delta &&
	      function->is_leaf == theirs->is_leaf &&
	      has_same_window(code, function, &theirs->window) &&
	      !strcmp(ours.name ? ours.name : "", theirs->described.name ? theirs->described.name : "");
	free(ours.name);
	return ret;
}

/* Each function that can carry a site, and the leaves that are too costly, is there or is not. */
static uint32_t count_sites(const struct code_map *code)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < code->functions.nr; i++) {
		const struct function *function = &code->functions.entries[i];
		struct samples_function described;

		if (function->is_plt || function->is_cold ||
		    code_map_describe(code, function, 0, &described))
			continue;
		nr += described.cost == SAMPLES_COST_CHEAP || !function->is_leaf;
		free(described.name);
	}
	return nr;
}

/* Ask of the first bytes of functions, as if each were behind a call. */
static bool has_same_calls(struct code_map *code, struct foreign_code *theirs)
{
	uint32_t nr_asked = 0, nr_same = 0;

	for (uint32_t i = 0; i < theirs->nr_functions && nr_asked < MAX_CALLS; i++) {
		const struct samples_function *described = &theirs->functions[i].described;
		uint64_t at = described->offset;

		for (; at < described->offset + described->size && nr_asked < MAX_CALLS; at++) {
			struct code_map_call call;
			struct foreign_call found;

			if (code_map_call_at(code, at, &call))
				continue;
			nr_asked++;
			nr_same += !foreign_code_call(theirs, at, true, &found) &&
				   found.is_indirect == call.is_indirect &&
				   found.is_in_loop == (call.nr_loops || call.may_hide_loops) &&
				   found.caller < theirs->nr_functions;
		}
	}
	return nr_asked && nr_same == nr_asked;
}

static void test_file(const char *path)
{
	struct code_map *code = open_code(path);
	struct foreign_code *theirs = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
	uint32_t nr = 0;

	if (!code) {
		skip(3, path);
		return;
	}
	error = foreign_code_open_with_windows(fd, path, &theirs);
	if (!ok(!error && theirs->nr_functions == count_sites(code) &&
		!strcmp(theirs->build_id, code->object->build_id), "%s: all functions", path))
		diag("%s", strerror(-error));
	while (!error && nr < theirs->nr_functions && is_same(code, &theirs->functions[nr]))
		nr++;
	ok(!error && nr == theirs->nr_functions, "%s: described as they are", path);
	ok(!error && has_same_calls(code, theirs), "%s: and their calls", path);
	if (!error)
		foreign_code_close(theirs);
	code_map_close(code);
	close(fd);
}

static void test_refused(const char *self)
{
	struct foreign_code *code;
	struct made_file file;
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	ok(foreign_code_open(fd, "passwd", &code) == -ENOEXEC, "a text is no program");
	close(fd);
	made_begin(&file);
	fd = made_end(&file);
	ok(foreign_code_open(fd, "made", &code) == -ENODATA, "one has no unwind table");
	close(fd);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	ok(!foreign_code_open(fd, self, &code) && code->runtime.interpreter[0] &&
	   !strcmp(code->runtime.file, "foreign-code"), "the interpreter is known");
	kill(code->helper.pid, SIGKILL);
	close(fd);
	ok(!foreign_code_call(code, 4096, true, &(struct foreign_call){ 0 }) && !code->helper.pid,
	   "a helper that is gone knows no calls");
	foreign_code_close(code);
}

int main(int argc, char **argv)
{
	(void)argc;
	plan(3 + 3 * NR_DEBIAN + 4);
	test_file(beside(argv[0], "victim-code"));
	for (int i = 0; i < NR_DEBIAN; i++)
		test_file(debian[i]);
	test_refused(argv[0]);
	return tap_status();
}
