// SPDX-License-Identifier: GPL-2.0
/*
 * Files that are made to take long, much memory, or to be another one when they are
 * read again.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "made-file.h"
#include "program.h"
#include "tap.h"

enum {
	NR_TABLES = 12000,
	TABLE_ENTRIES = 32768,
	NR_BRANCHES = 8192,
	CHANGES_S = 5,
};

/* cmp $@last, %eax; ja 0; jmp *@table(,%rax,8); ret; nop */
static uint32_t put_switch(struct made_file *file, uint32_t last, uint32_t table)
{
	uint8_t code[16] = { 0x3d, 0, 0, 0, 0, 0x77, 0, 0xff, 0x24, 0xc5, 0, 0, 0, 0, 0xc3, 0x90 };

	memcpy(code + 1, &last, sizeof(last));
	memcpy(code + 10, &table, sizeof(table));
	return made_function(file, code, sizeof(code));
}

/* A table at the begin of a new file, each entry @target. */
static uint32_t put_table(struct made_file *file, uint64_t target, uint32_t nr)
{
	uint32_t table;

	made_begin(file);
	table = made_put(file, NULL, 0);
	for (uint32_t i = 0; i < nr; i++)
		made_put(file, &target, sizeof(target));
	return table;
}

/* Many functions jump by one long table, whose entries are in none of them. */
static void test_shared_table(void)
{
	uint64_t first = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + 8 * TABLE_ENTRIES;
	struct made_file file;
	struct code_map *code;
	uint32_t table = put_table(&file, first, TABLE_ENTRIES);
	double start;
	int err;

	for (uint32_t i = 0; i < NR_TABLES; i++)
		put_switch(&file, TABLE_ENTRIES - 1, table);
	made_unwind(&file, NULL, 3);
	start = cpu_s();
	err = code_map_open(made_end(&file), "test", &code);
	if (!ok(!err && code->functions.nr == NR_TABLES && cpu_s() - start < 2,
		"one long table of %d jumps takes less than 2 s", NR_TABLES))
		diag("%d, %u functions", err, err ? 0 : code->functions.nr);
	diag("%.2f s", cpu_s() - start);
	if (!err)
		code_map_close(code);
}

struct changer {
	_Atomic bool ends;
	uint64_t *entry;
};

/* Let the table end early or not, now and then. */
static void *change(void *arg)
{
	struct changer *changer = arg;
	uint64_t target = *changer->entry;
	volatile uint64_t *entry = changer->entry;

	while (!changer->ends) {
		*entry = target;
		for (volatile int i = 0; i < 20000; i++)
			;
		*entry = 0;
		for (volatile int i = 0; i < 20000; i++)
			;
	}
	return NULL;
}

/* In a process of its own: what is tried damages the memory of the reader. */
static void read_changing(int fd, uint32_t entry)
{
	struct changer changer = { false, NULL };
	double start = cpu_s();
	struct code_map *code;
	pthread_t thread;
	struct stat st;
	uint8_t *bytes;

	if (fstat(fd, &st))
		_exit(2);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	changer.entry = (uint64_t *)(bytes + entry);
	if (bytes == MAP_FAILED || pthread_create(&thread, NULL, change, &changer))
		_exit(2);
	while (cpu_s() - start < CHANGES_S)
		if (!code_map_open(dup(fd), "test", &code))
			code_map_close(code);
	changer.ends = true;
	pthread_join(thread, NULL);
	_exit(0);
}

static void test_changes(void)
{
	uint64_t target = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + 8 * TABLE_ENTRIES + 14;
	struct made_file file;
	uint32_t table = put_table(&file, target, TABLE_ENTRIES);
	int fd, status = 0;
	pid_t pid;

	/* a long table needs code, and branches have edges behind those of the table: jz 0 */
	put_switch(&file, TABLE_ENTRIES - 1, table);
	for (int i = 0; i < NR_BRANCHES; i++)
		made_put(&file, "\x74\x00", 2);
	made_put(&file, "\xc3", 1);
	file.functions[0].size += 2 * NR_BRANCHES + 1;
	made_unwind(&file, NULL, 3);
	fd = made_end(&file);
	pid = fork();
	if (!pid)
		read_changing(fd, table + 16);
	if (!ok(pid > 0 && waitpid(pid, &status, 0) == pid && !status,
		"a table that changes while it is read is read once"))
		diag("status %#x", (unsigned int)status);
	close(fd);
}

int main(void)
{
	plan(2);
	test_shared_table();
	test_changes();
	return tap_status();
}
