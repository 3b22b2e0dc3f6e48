// SPDX-License-Identifier: GPL-2.0
/*
 * Files that are made to take long, much memory, or to be another one when they are
 * read again.
 */

#include <lzma.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "binary/helper/foreign-code.h"
#include "binary/stack/unwind.h"
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
	NR_DOUBLINGS = 28,
};

/* CPU time of helpers that have ended. */
static double helpers_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

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

/* Map the file as a program would. */
static bool map_file(int fd, struct mapping *ret)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st))
		return false;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	*ret = (struct mapping){
		.start = (uint64_t)at,
		.end = (uint64_t)at + ((uint64_t)st.st_size + 4095) / 4096 * 4096,
		.inode = st.st_ino,
		.path = (char *)"/tmp/made",
	};
	return at != MAP_FAILED;
}

static bool describe(struct unwinder *unwinder, const struct mapping *mapping, uint32_t addr,
		     struct frame *ret)
{
	return !unwind_describe(unwinder, (uint32_t)getpid(), mapping, mapping->start + addr,
				false, ret) && ret->function;
}

/* Name the code at @addr of the file. */
static bool name_of(struct unwinder *unwinder, int fd, uint32_t addr, struct frame *ret)
{
	struct mapping mapping;
	bool is_named;

	if (!map_file(fd, &mapping))
		return false;
	is_named = describe(unwinder, &mapping, addr, ret);
	munmap((void *)mapping.start, mapping.end - mapping.start);
	return is_named;
}

/* One function of this name, and what @add puts into the file. */
static int make_named(const char *name, void (*add)(struct made_file *file), uint32_t *ret_addr)
{
	Elf64_Sym syms[2] = { { 0 }, { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				       .st_size = 4, .st_name = 1, .st_shndx = 1 } };
	struct made_file file;
	uint16_t strings;
	uint32_t at;

	made_begin(&file);
	*ret_addr = made_function(&file, "\x90\x90\x90\xc3", 4);
	made_unwind(&file, NULL, 3);
	if (add)
		add(&file);
	at = made_put(&file, NULL, 1);
	made_put(&file, name, strlen(name) + 1);
	strings = made_section(&file, ".strtab", SHT_STRTAB, SHF_ALLOC, at);
	made_align(&file);
	syms[1].st_value = *ret_addr;
	at = made_put(&file, syms, sizeof(syms));
	file.sections[made_section(&file, ".dynsym", SHT_DYNSYM, SHF_ALLOC, at)].sh_link = strings;
	file.sections[strings + 1].sh_entsize = sizeof(syms[0]);
	return made_end(&file);
}

/* Each pair of pairs doubles what the name becomes. */
static void make_symbol(char ret[512])
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *at = ret + sprintf(ret, "_Z1fSt4pairIiiE");

	for (int i = 0; i < NR_DOUBLINGS; i++)
		at += sprintf(at, "S_IS%c_S%c_E", digits[i], digits[i]);
}

/* Let @add or the name of a function be what is tried; then an honest file. */
static void test_file(const char *name, void (*add)(struct made_file *file), const char *what)
{
	uint32_t addr, honest_addr;
	int fd = make_named(name, add, &addr), honest = make_named("honest", NULL, &honest_addr);
	struct unwinder *unwinder = unwinder_create();
	double start = helpers_s(), first_s;
	struct frame frame = { 0 }, other;

	name_of(unwinder, fd, addr, &frame);
	first_s = helpers_s() - start;
	name_of(unwinder, fd, addr, &frame);
	name_of(unwinder, fd, addr + 1, &frame);
	ok(name_of(unwinder, honest, honest_addr, &other) && !strcmp(other.function, "honest"),
	   "%s: the next file is read", what);
	unwinder_destroy(unwinder);
	ok(frame.module && helpers_s() - start < 2.5, "%s: takes 2 s, once", what);
	diag("%.2f s, %.2f s", first_s, helpers_s() - start);
	close(fd);
	close(honest);
}

/* Zeros, compressed as the symbols of a stripped file are. */
static void add_debugdata(struct made_file *file)
{
	static uint8_t out[CHUNK], zeros[CHUNK];
	lzma_stream stream = LZMA_STREAM_INIT;
	uint32_t at = made_put(file, NULL, 0);
	uint64_t left = 2ull * BOMB_SIZE;

	if (lzma_easy_encoder(&stream, 0, LZMA_CHECK_NONE) != LZMA_OK)
		exit(1);
	for (lzma_ret ret = LZMA_OK; ret == LZMA_OK;) {
		if (!stream.avail_in && left) {
			stream.next_in = zeros;
			stream.avail_in = CHUNK;
			left -= CHUNK;
		}
		stream.next_out = out;
		stream.avail_out = CHUNK;
		ret = lzma_code(&stream, left ? LZMA_RUN : LZMA_FINISH);
		made_put(file, out, CHUNK - stream.avail_out);
	}
	lzma_end(&stream);
	made_section(file, ".gnu_debugdata", SHT_PROGBITS, 0, at);
}

/* An update in place, while the file is in use. */
static void test_cut(void)
{
	struct unwinder *unwinder = unwinder_create();
	uint32_t addr, honest_addr;
	int fd = make_named("short", NULL, &addr), honest = make_named("honest", NULL, &honest_addr);
	struct mapping mapping;
	struct frame frame = { 0 };
	bool found = map_file(fd, &mapping) && describe(unwinder, &mapping, addr, &frame);

	if (ftruncate(fd, 0))
		perror("ftruncate");
	for (uint32_t i = 1; i < 4; i++)
		describe(unwinder, &mapping, addr + i, &frame);
	ok(found && name_of(unwinder, honest, honest_addr, &frame),
	   "a file that is cut short harms nobody");
	unwinder_destroy(unwinder);
	close(fd);
	close(honest);
}

/* The code of the same file, for training. */
static void test_training(void)
{
	uint32_t addr;
	int fd = make_named("plain", add_debugdata, &addr);
	int honest = make_named("honest", NULL, &addr);
	struct foreign_code *code;
	double start = helpers_s();

	if (!foreign_code_open(fd, "test", &code))
		foreign_code_close(code);
	ok(helpers_s() - start < 21, "training gives up on it in 20 s");
	diag("%.2f s", helpers_s() - start);
	ok(!foreign_code_open(honest, "test", &code) && code->nr_functions == 1 &&
	   !strcmp(code->functions[0].described.name, "honest"), "and reads the next file");
	foreign_code_close(code);
	close(fd);
	close(honest);
}

static void test_helpers(void)
{
	struct rusage usage;
	char symbol[512];

	test_cut();
	make_symbol(symbol);
	test_file(symbol, NULL, "a name that becomes a gigabyte");
	test_file("plain", add_debugdata, "symbols that become 2 GB");
	test_training();
	getrusage(RUSAGE_CHILDREN, &usage);
	ok(usage.ru_maxrss < 640 << 10, "no helper had more than 512 MiB");
	diag("%ld MiB", usage.ru_maxrss >> 10);
}

int main(void)
{
	plan(5 + 8);
	test_shared_table();
	test_changes();
	test_failing_rule();
	test_compressed();
	test_names();
	test_helpers();
	return tap_status();
}
