// SPDX-License-Identifier: GPL-2.0
/* Which files of a program have sites where there is no room for all. */

#include "app/record/program.h"
#include "tap.h"

enum { NR_FILES = 6 };

static char name[] = "a file";
static struct program_file files[NR_FILES];

/* The first files of these sizes; what was left out before stays so. */
static struct program program_of(const uint32_t *sizes, uint32_t nr, uint32_t nr_fitted)
{
	for (uint32_t i = nr_fitted; i < nr; i++)
		files[i] = (struct program_file){ .path = name, .nr_sites = sizes[i] };
	return (struct program){ .files = files, .nr_files = nr, .nr_fitted = nr_fitted };
}

static unsigned int left_out(const struct program *program)
{
	unsigned int set = 0;

	for (uint32_t i = 0; i < program->nr_files; i++)
		set |= (unsigned int)program->files[i].is_left_out << i;
	return set;
}

int main(void)
{
	static const uint32_t sizes[NR_FILES] = { 500, 10, 300, 20, 300, 40 };
	struct program program = program_of(sizes, 4, 0);

	plan(6);
	program_fit(&program, 830);
	ok(left_out(&program) == 0, "all files stay where there is room for all");

	program = program_of(sizes, 4, 0);
	program_fit(&program, 829);
	ok(left_out(&program) == 1U << 2, "else the largest library goes, not the program");

	program = program_of(sizes, 4, 0);
	program_fit(&program, 505);
	ok(left_out(&program) == (1U << 1 | 1U << 2 | 1U << 3), "then the next ones");

	program = program_of(sizes, 4, 0);
	program_fit(&program, 100);
	ok(left_out(&program) == (1U << 1 | 1U << 2 | 1U << 3), "the program itself always stays");

	program = program_of(sizes, 4, 0);
	program_fit(&program, 850);
	program = program_of(sizes, NR_FILES, program.nr_fitted);
	program_fit(&program, 880);
	ok(left_out(&program) == 1U << 4, "what has its sites keeps them when others come");

	program_fit(&program, 100);
	ok(left_out(&program) == 1U << 4, "also if there is less room");
	return tap_status();
}
