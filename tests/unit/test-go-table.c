// SPDX-License-Identifier: GPL-2.0
/*
 * Go's table of functions: of a made file, as its two versions have it, and damaged; and what
 * objects and functions make of it.
 */

#include <sys/stat.h>

#include "binary/code/code-map.h"
#include "binary/file/go-table.h"
#include "binary/file/object.h"
#include "made-file.h"
#include "program.h"
#include "tap.h"

enum {
	NR = 3,
	SIZE = 32,
	NEW = 0xf1, /* the first byte of each version */
	OLD = 0xf0,
	HEAD = 72,
	ROWS = 8 * NR + 4, /* bytes of all rows, with the end */
	RECORD = 44,
};

/*
 * Of each function: sub rsp, 24; call the next one; add rsp, 24; ret; and behind it the jump to its
 * begin of one whose stack was too small.
 */
static const uint8_t code[SIZE] = {
	0x48, 0x83, 0xec, 24, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 24, 0xc3, 0xeb, 0xf0,
};

/* The distance is 0 for 4 bytes, 24 for 9, and 0 for the rest. */
static const uint8_t distances[] = { 0, 2, 4, 48, 9, 47, SIZE - 13, 0 };
static const char names[] = "main.one\0main.(*two).Do\0runtime.goexit";
static const uint32_t name_at[] = { 0, 9, 24 };

static void put64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put_record(struct made_file *file, uint8_t version, int nr)
{
	uint8_t record[RECORD] = { 0 };
	uint32_t value = name_at[nr];

	memcpy(record + 4, &value, sizeof(value));
	value = 1;
	memcpy(record + 16, &value, sizeof(value));
	record[version == OLD ? 37 : 41] = nr == NR - 1; /* has no caller */
	made_put(file, record, sizeof(record));
}

static int make(uint8_t version, uint64_t text)
{
	uint8_t head[HEAD] = { version, 0xff, 0xff, 0xff, 0, 0, 1, 8, NR };
	struct made_file file;
	uint32_t first, at;

	made_begin(&file);
	made_align(&file);
	first = made_put(&file, NULL, 0);
	for (int i = 0; i < NR; i++)
		made_put(&file, code, sizeof(code));
	put64(head + 24, text ? text : first);
	put64(head + 32, HEAD);
	put64(head + 56, HEAD + sizeof(names));
	put64(head + 64, HEAD + sizeof(names) + sizeof(distances));
	at = made_put(&file, head, sizeof(head));
	made_put(&file, names, sizeof(names));
	made_put(&file, distances, sizeof(distances));
	for (uint32_t i = 0; i <= NR; i++) {
		made_put32(&file, i * SIZE);
		if (i < NR)
			made_put32(&file, ROWS + i * RECORD);
	}
	for (int i = 0; i < NR; i++)
		put_record(&file, version, i);
	made_section(&file, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, at);
	return made_end(&file);
}

static void test_functions(uint8_t version)
{
	struct code_map *map = NULL;
	struct go_function function;
	struct go_frame frame;
	const struct rule *rule;

	if (!ok(!code_map_open(make(version, 0), "made", &map) && map->functions.nr == NR,
		"%x: all functions are found", version)) {
		skip(6, "it is not read");
		return;
	}
	ok(!strcmp(map->functions.entries[1].name, "main.(*two).Do"), "%x: with names", version);
	ok(!map->functions.entries[0].entry_is_target,
	   "%x: a function that is begun again can carry a probe", version);
	ok(go_table_function(&map->object->go, 2, &function) && function.size == SIZE,
	   "%x: the last one has an end", version);
	ok(go_table_frame(&map->object->go, map->functions.entries[1].addr + 9, &frame) &&
	   frame.distance == 24 && !frame.is_top, "%x: the frame is known", version);
	rule = object_rule(map->object, map->functions.entries[0].addr + 9);
	ok(rule && rule->cfa_reg == SLICE_REG_RSP && rule->cfa_offset == 32 &&
	   rule->kinds[SLICE_REG_RIP] == RULE_SAVED, "%x: and is a rule", version);
	rule = object_rule(map->object, map->functions.entries[2].addr);
	ok(rule && rule->kinds[SLICE_REG_RIP] == RULE_UNDEFINED, "%x: which ends where nobody called",
	   version);
	code_map_close(map);
}

/* Whatever one byte of the table is, nothing outside of the file is read (see the sanitizers). */
static void test_damaged(void)
{
	int made = make(NEW, 0), nr_wrong = 0;
	struct stat st;

	fstat(made, &st);
	for (off_t at = 64; at < st.st_size; at++) {
		int fd = memfd_create("damaged", MFD_CLOEXEC);
		struct code_map *map;
		uint8_t bytes[4096];
		ssize_t size = pread(made, bytes, sizeof(bytes), 0);

		bytes[at] ^= 0xff;
		nr_wrong += write(fd, bytes, (size_t)size) != size;
		if (code_map_open(fd, "damaged", &map))
			continue;
		for (uint32_t i = 0; i < map->functions.nr; i++)
			nr_wrong += map->functions.entries[i].offset >= (uint64_t)st.st_size;
		object_rule(map->object, 9 + sizeof(Elf64_Ehdr));
		code_map_close(map);
	}
	close(made);
	ok(st.st_size < 4096 && !nr_wrong, "a damaged table is read without harm");
}

int main(void)
{
	struct code_map *map;

	plan(2 * 7 + 2);
	test_functions(OLD);
	test_functions(NEW);
	ok(code_map_open(make(NEW, 1ull << 40), "made", &map) == -ENODATA,
	   "functions outside of the code are none");
	test_damaged();
	return tap_status();
}
