// SPDX-License-Identifier: GPL-2.0
/*
 * Files that are made to take long, much memory, or to be another one when they are
 * read again.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "made-file.h"
#include "program.h"
#include "tap.h"

enum {
	NR_TABLES = 12000,
	TABLE_ENTRIES = 32768,
	NR_BRANCHES = 8192,
	CHANGES_S = 5,
	PROGRAM_SIZE = 1 << 20,
	NR_QUESTIONS = 5000,
	CHUNK = 1 << 16,
	BOMB_SIZE = 1 << 30,
	NR_NAMES = 300000,
};

/* The most this process has had in memory. */
static long memory_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

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

static struct object *open_made(struct made_file *file)
{
	struct object *object = NULL;

	return object_create(made_end(file), "test", &object) ? NULL : object;
}

/* Rules that end in an unknown instruction, after a million that do nothing. */
static void test_failing_rule(void)
{
	uint8_t *program = calloc(1, PROGRAM_SIZE);
	struct object *object;
	struct made_file file;
	bool is_missing = true;
	uint32_t addr;
	double start;

	made_begin(&file);
	addr = made_function(&file, "\x90\x90\x90\xc3", 4);
	program[PROGRAM_SIZE - 1] = 0x3f;
	made_unwind(&file, program, PROGRAM_SIZE);
	free(program);
	object = open_made(&file);
	start = cpu_s();
	for (int i = 0; object && i < NR_QUESTIONS; i++)
		is_missing = is_missing && !object_rule(object, addr + 2);
	ok(object && is_missing && cpu_s() - start < 2, "a rule that fails is read once");
	diag("%.2f s", cpu_s() - start);
	object_destroy(object);
}

/* A compressed section: it says that it becomes @size bytes, which are zeros. */
static void put_compressed(struct made_file *file, const char *name, uint64_t size)
{
	const Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 1 };
	uint32_t at = made_put(file, &header, sizeof(header));
	uint8_t out[CHUNK], zeros[CHUNK] = { 0 };
	z_stream stream = { .next_out = out, .avail_out = CHUNK };
	uint64_t left = size;

	deflateInit(&stream, 6);
	for (int ret = Z_OK; ret != Z_STREAM_END;) {
		if (!stream.avail_in) {
			stream.next_in = zeros;
			stream.avail_in = left < CHUNK ? (unsigned int)left : CHUNK;
			left -= stream.avail_in;
		}
		ret = deflate(&stream, left || stream.avail_in ? Z_NO_FLUSH : Z_FINISH);
		made_put(file, out, CHUNK - stream.avail_out);
		stream.next_out = out;
		stream.avail_out = CHUNK;
	}
	deflateEnd(&stream);
	made_section(file, name, SHT_PROGBITS, SHF_COMPRESSED, at);
}

static void test_compressed(void)
{
	struct object *object;
	struct made_file file;
	double start;
	uint32_t addr;

	made_begin(&file);
	addr = made_function(&file, "\xc3", 1);
	put_compressed(&file, ".debug_info", BOMB_SIZE);
	put_compressed(&file, ".debug_frame", BOMB_SIZE);
	object = open_made(&file);
	start = cpu_s();
	ok(object && !object_rule(object, addr) && cpu_s() - start < 1 && memory_kib() < 400 << 10,
	   "sections that become a gigabyte are left compressed");
	diag("%.2f s, %ld MiB", cpu_s() - start, memory_kib() >> 10);
	object_destroy(object);
}

/* All names are one long name, from another byte on. */
static void test_names(void)
{
	struct object *object;
	struct made_file file;
	Elf64_Sym sym = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_size = 4 };
	uint32_t addr, strings, at;
	const char *name = NULL;
	uint64_t found = 0;
	uint16_t number;
	double start;
	int err;

	made_begin(&file);
	addr = made_function(&file, "\x90\x90\x90\xc3", 4);
	strings = made_put(&file, NULL, 1);
	at = made_put(&file, NULL, NR_NAMES);
	memset(file.bytes + at, 'a', NR_NAMES);
	made_put(&file, NULL, 1);
	number = made_section(&file, ".strtab", SHT_STRTAB, 0, strings);
	made_align(&file);
	at = made_put(&file, NULL, sizeof(sym));
	sym.st_value = addr;
	sym.st_shndx = number;
	for (sym.st_name = 1; sym.st_name <= NR_NAMES; sym.st_name++)
		made_put(&file, &sym, sizeof(sym));
	number = made_section(&file, ".symtab", SHT_SYMTAB, 0, at);
	file.sections[number].sh_link = number - 1u;
	file.sections[number].sh_entsize = sizeof(sym);
	object = open_made(&file);
	start = cpu_s();
	err = object ? object_function(object, addr + 1, &found, &name) : -1;
	ok(!err && found == addr && name && cpu_s() - start < 2, "names that overlap take less than 2 s");
	diag("%.2f s", cpu_s() - start);
	object_destroy(object);
}

int main(void)
{
	plan(5);
	test_shared_table();
	test_changes();
	test_failing_rule();
	test_compressed();
	test_names();
	return tap_status();
}
