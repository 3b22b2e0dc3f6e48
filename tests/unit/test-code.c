// SPDX-License-Identifier: GPL-2.0
/*
 * What training asks of a file, and that damaged files are survived: none of
 * some thousand mutations may crash the analysis, take it long, or lead it out
 * of the file.
 */

#include <sys/mman.h>
#include <sys/stat.h>

#include "program.h"
#include "tap.h"

enum {
	NR_MUTATIONS = 3000,
	NR_CUTS = 300,
	SECONDS = 300, /* for all of it */
};

static uint8_t *image;
static size_t image_size;

static void read_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		printf("Bail out! no %s\n", path);
		exit(1);
	}
	image_size = (size_t)st.st_size;
	image = malloc(image_size);
	if (!image || read(fd, image, image_size) != st.st_size)
		exit(1);
	close(fd);
}

static int file_of(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		exit(1);
	return fd;
}

static int open_bytes(const uint8_t *bytes, size_t size, struct code_map **ret)
{
	*ret = NULL;
	return code_map_open(file_of(bytes, size), "test", ret);
}

static void test_describe(const char *self)
{
	struct program truth = read_program(beside(self, "victim-code"), SHT_SYMTAB);
	struct code_map *code = open_code(beside(self, "victim-code"));
	const struct program_symbol *symbol = find_symbol(&truth, "has_nested_loops");
	const struct function *function, *other;
	struct samples_function described;
	uint64_t offset = 0, addr = 0;

	ok(code_map_offset(code, symbol->addr, &offset) && code_map_addr(code, offset, &addr) &&
	   addr == symbol->addr && !code_map_offset(code, 0, &addr) &&
	   !code_map_addr(code, UINT64_MAX, &addr), "offsets and addresses are distinguished");
	function = code_map_function(code, offset + symbol->size - 1);
	ok(function && function->addr == symbol->addr && !code_map_function(code, 0) &&
	   !code_map_function(code, UINT64_MAX), "a function is found by an offset");
	ok(!code_map_describe(code, function, 3, &described) && described.object == 3 &&
	   described.offset == offset && described.size == symbol->size &&
	   described.site >= offset && described.site < offset + symbol->size &&
	   described.cost == SAMPLES_COST_CHEAP && !strcmp(described.name, "has_nested_loops"),
	   "and described");
	free(described.name);
	symbol = find_symbol(&truth, "has_entry_loop");
	other = functions_at(&code->functions, symbol->addr);
	ok(code_map_describe(code, other, 0, &described) == -ENOTSUP,
	   "but not if no probe counts its calls");
	code_map_close(code);
	free_program(&truth);
}

static void test_list(const char *self)
{
	const char *path = beside(self, "victim-code.stripped");
	struct code_map *first = NULL, *second = NULL, *other = NULL;
	struct code_maps codes = { NULL };

	ok(!code_maps_get(&codes, open(path, O_RDONLY | O_CLOEXEC), path, &first) &&
	   !code_maps_get(&codes, open(path, O_RDONLY | O_CLOEXEC), path, &second) &&
	   first == second,
	   "a file is opened once");
	ok(!code_maps_get(&codes, file_of(image, image_size), path, &other) && other != first,
	   "another file is another");
	code_maps_deinit(&codes);
	ok(!codes.first, "all are closed");
}

static Elf64_Phdr *find_header(uint8_t *bytes, uint32_t type)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)bytes;
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(bytes + ehdr->e_phoff);

	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdrs[i].p_type == type)
			return &phdrs[i];
	return NULL;
}

static void test_refusals(void)
{
	static const uint8_t script[] = "#!/bin/sh\nexit 0\n";
	uint8_t *copy = malloc(image_size);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)copy;
	uint32_t nr_with, nr_without;
	struct code_map *code;

	ok(open_bytes(script, sizeof(script) - 1, &code) == -ENOEXEC, "a script is refused");
	ok(open_bytes(image, image_size / 3, &code) == -ENOEXEC, "a part of a program is refused");
	if (open_bytes(image, image_size, &code))
		exit(1);
	nr_with = code->functions.nr;
	code_map_close(code);
	memcpy(copy, image, image_size);
	find_header(copy, PT_GNU_EH_FRAME)->p_type = PT_NULL;
	if (open_bytes(copy, image_size, &code))
		exit(1);
	nr_without = code->functions.nr;
	code_map_close(code);
	ok(nr_without == nr_with, "without the table its functions are found by the section");
	memcpy(copy, image, image_size);
	ehdr->e_shoff = 0;
	ehdr->e_shnum = ehdr->e_shstrndx = 0;
	if (open_bytes(copy, image_size, &code))
		exit(1);
	nr_without = code->functions.nr;
	code_map_close(code);
	ok(nr_without == nr_with, "without sections by the table");
	find_header(copy, PT_GNU_EH_FRAME)->p_type = PT_NULL;
	ok(open_bytes(copy, image_size, &code) == -ENODATA, "without both there are none");
	free(copy);
}

/* The FDE of the function at @addr, by plain iteration over .eh_frame. */
static size_t find_fde(const uint8_t *bytes, uint64_t addr)
{
	const Elf64_Phdr *phdr = find_header((uint8_t *)bytes, PT_GNU_EH_FRAME);
	uint32_t nr;

	memcpy(&nr, bytes + phdr->p_offset + 8, sizeof(nr));
	for (uint32_t i = 0; i < nr; i++) {
		int32_t row[2];

		memcpy(row, bytes + phdr->p_offset + 12 + 8 * i, sizeof(row));
		if (phdr->p_vaddr + (uint64_t)(int64_t)row[0] == addr)
			return phdr->p_offset + (size_t)(int64_t)row[1];
	}
	return 0;
}

/* The function that is @index-th by address, and lies about its size. */
static void test_liar(uint32_t size, const char *name)
{
	uint8_t *copy = malloc(image_size);
	uint64_t addrs[512], liar = 0;
	uint32_t nr = 0, kept = 0;
	struct code_map *code;
	size_t fde;

	memcpy(copy, image, image_size);
	if (open_bytes(image, image_size, &code))
		exit(1);
	for (uint32_t i = 0; i < code->functions.nr && nr < 512; i++)
		if (!code->functions.entries[i].is_plt)
			addrs[nr++] = code->functions.entries[i].addr;
	code_map_close(code);
	liar = addrs[nr / 2];
	fde = find_fde(copy, liar);
	memcpy(copy + fde + 12, &size, sizeof(size));
	if (!fde || open_bytes(copy, image_size, &code))
		exit(1);
	for (uint32_t i = 0; i < nr; i++)
		kept += functions_at(&code->functions, addrs[i]) != NULL;
	if (!ok(!functions_at(&code->functions, liar) && kept == nr - 1 &&
		code->functions.ranges.nr_refused == 1, "left out: a function that %s", name))
		diag("%u of %u are kept, %u refused", kept, nr, code->functions.ranges.nr_refused);
	code_map_close(code);
	free(copy);
}

/* Ask everything there is to ask, and check what can be checked. */
static bool ask_all(struct code_map *code)
{
	const struct functions *functions = &code->functions;
	size_t size = code->object->view.size;
	bool all = true;

	for (uint32_t i = 0; i < functions->nr; i++) {
		const struct function *function = &functions->entries[i];
		struct code_map_call call;
		struct probe_site site;

		probe_site_find(functions, function, &site);
		all = all && function->offset < size && function->size <= size - function->offset &&
		      site.offset - function->offset < function->size &&
		      functions_find(functions, function->addr) == function;
		for (uint32_t at = 0; at < function->size && at < 256; at++)
			if (code_map_call_at(code, function->offset + at, &call) == -ENOMEM)
				return false;
	}
	return all;
}

static uint64_t random_state = 88172645463325252;

static uint32_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 16) % limit);
}

struct part {
	size_t offset;
	size_t size;
};

/* Where .eh_frame_hdr, .eh_frame, the headers, the code and the dynamic section are. */
static uint32_t find_parts(struct part ret[6])
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *table = find_header(image, PT_GNU_EH_FRAME);
	const Elf64_Phdr *dynamic = find_header(image, PT_DYNAMIC);

	ret[0] = (struct part){ table->p_offset, table->p_filesz };
	ret[1] = (struct part){ table->p_offset + table->p_filesz, 4 * table->p_filesz };
	ret[2] = (struct part){ ehdr->e_phoff, (size_t)ehdr->e_phnum * sizeof(*table) };
	ret[3] = (struct part){ 0x1000, 0x1000 };
	ret[4] = (struct part){ dynamic->p_offset, dynamic->p_filesz };
	ret[5] = (struct part){ 0x300, 0x900 }; /* symbols, strings, relocations */
	return 6;
}

static void mutate(uint8_t *copy, const struct part *part)
{
	static const uint8_t special[] = { 0x00, 0xff, 0x7f, 0x80, 0x01, 0xfe };

	for (uint32_t left = 1 + random_below(4); left > 0; left--) {
		size_t at = part->offset + random_below(part->size);

		if (at >= image_size)
			continue;
		switch (random_below(3)) {
		case 0:
			copy[at] ^= (uint8_t)(1 << random_below(8));
			break;
		case 1:
			copy[at] = (uint8_t)random_below(256);
			break;
		case 2:
			copy[at] = special[random_below(sizeof(special))];
			break;
		}
	}
}

static void test_mutations(void)
{
	uint8_t *copy = malloc(image_size);
	uint32_t nr_read = 0, nr_wrong = 0, nr_parts;
	double longest = 0, start, took;
	struct part parts[6];

	nr_parts = find_parts(parts);
	for (uint32_t i = 0; i < NR_MUTATIONS; i++) {
		struct code_map *code;

		memcpy(copy, image, image_size);
		mutate(copy, &parts[i % nr_parts]);
		start = cpu_s();
		if (!open_bytes(copy, image_size, &code)) {
			nr_read++;
			nr_wrong += !ask_all(code);
			code_map_close(code);
		}
		took = cpu_s() - start;
		longest = took > longest ? took : longest;
	}
	ok(!nr_wrong, "of %d damaged programs, what is found lies in the file", NR_MUTATIONS);
	ok(nr_read > NR_MUTATIONS / 4 && nr_read < NR_MUTATIONS, "%u of them can be read at all",
	   nr_read);
	ok(longest < 5, "and none takes long");
	diag("%.3f s at most", longest);
	free(copy);
}

static void test_cuts(void)
{
	uint32_t nr_wrong = 0, nr_read = 0;

	for (uint32_t i = 0; i < NR_CUTS; i++) {
		struct code_map *code;

		if (open_bytes(image, random_below(image_size), &code))
			continue;
		nr_read++;
		nr_wrong += !ask_all(code);
		code_map_close(code);
	}
	ok(!nr_wrong, "so it is with %u programs that are cut, and the %u refused",
	   nr_read, NR_CUTS - nr_read);
}

/* Each of the segments is the same part of the file. */
static int open_repeated(int nr, struct code_map **ret)
{
	size_t start = (image_size + 15) / 16 * 16, size = start + sizeof(Elf64_Phdr) * (size_t)nr;
	uint8_t *copy = calloc(1, size);
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(copy + start);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)copy;
	int err;

	memcpy(copy, image, image_size);
	for (int i = 0; i < nr; i++)
		phdrs[i] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = 0x100000ull * (uint64_t)i,
			.p_filesz = image_size,
			.p_memsz = image_size,
			.p_align = 4096,
		};
	phdrs[1] = *find_header(image, PT_GNU_EH_FRAME);
	ehdr->e_phoff = start;
	ehdr->e_phnum = (uint16_t)nr;
	err = open_bytes(copy, size, ret);
	free(copy);
	return err;
}

static void test_repeated_segments(void)
{
	double start = cpu_s();
	struct code_map *code;
	int err;

	err = open_repeated(500, &code);
	ok(!err && ask_all(code), "a file with 500 segments can be read");
	code_map_close(err ? NULL : code);
	err = open_repeated(60000, &code);
	ok(err == -ENOEXEC, "one with 60000 is refused");
	code_map_close(err ? NULL : code);
	ok(cpu_s() - start < 20, "both take little time");
	diag("%.3f s", cpu_s() - start);
}

int main(int argc, char **argv)
{
	(void)argc;
	plan(4 + 3 + 5 + 4 + 3 + 1 + 3);
	alarm(SECONDS);
	read_image(beside(argv[0], "victim-code.stripped"));
	test_describe(argv[0]);
	test_list(argv[0]);
	test_refusals();
	test_liar(0x400, "overlaps the next ones");
	test_liar(0x7fffffff, "is larger than the file");
	test_liar(UINT32_MAX, "is as large as can be");
	test_liar(0, "has no size");
	test_mutations();
	test_cuts();
	test_repeated_segments();
	free(image);
	return tap_status();
}
