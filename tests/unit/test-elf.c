// SPDX-License-Identifier: GPL-2.0
/*
 * What elf_identify() refuses, and that each refusal says why; C++ names.
 */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/demangle.h"
#include "binary/file/elf.h"
#include "tap.h"

enum {
	MAX_IMAGE = 64 * 1024 * 1024,
};

static uint8_t *image;
static size_t image_size;

static void read_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_size > MAX_IMAGE) {
		printf("Bail out! cannot read %s\n", path);
		exit(1);
	}
	image_size = (size_t)st.st_size;
	image = malloc(image_size);
	if (!image || read(fd, image, image_size) != st.st_size)
		exit(1);
	close(fd);
}

static int identify(const void *bytes, size_t size, struct elf_identity *ret, const char **why)
{
	int fd = memfd_create("test", MFD_CLOEXEC), err;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		exit(1);
	err = elf_identify(fd, ret, why);
	close(fd);
	return err;
}

static void is_refused(const void *bytes, size_t size, const char *wanted, const char *name)
{
	struct elf_identity identity;
	const char *why = NULL;
	int err = identify(bytes, size, &identity, &why);

	if (!ok(err == -ENOEXEC && why && strstr(why, wanted), "refused: %s", name))
		diag("%s: %s", strerror(-err), why ? why : "no reason");
}

/* The program with its ELF header changed. */
static void is_header_refused(size_t offset, uint16_t value, size_t size, const char *wanted,
			      const char *name)
{
	uint8_t *copy = malloc(image_size);

	memcpy(copy, image, image_size);
	memcpy(copy + offset, &value, size);
	is_refused(copy, image_size, wanted, name);
	free(copy);
}

/* How much of the program is loaded; what follows is for debuggers. */
static size_t loaded_size(void)
{
	const Elf64_Ehdr *ehdr = (const void *)image;
	const Elf64_Phdr *phdrs = (const void *)(image + ehdr->e_phoff);
	size_t size = 0;

	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset + phdrs[i].p_filesz > size)
			size = phdrs[i].p_offset + phdrs[i].p_filesz;
	return size;
}

static void test_refusals(void)
{
	struct elf_identity identity;
	const char *why;
	int fd;

	is_refused("", 0, "no ELF header", "an empty file");
	is_refused("#!/bin/sh\n", 10, "script", "a script");
	is_refused("hello, world\n", 13, "no ELF header", "a text");
	is_refused("\177ELF", 4, "truncated", "four bytes of a program");
	is_refused(image, 40, "truncated", "a part of the ELF header");
	is_refused(image, sizeof(Elf64_Ehdr), "truncated", "the ELF header alone");
	is_refused(image, loaded_size() - 1, "truncated", "a program without its last byte");
	is_header_refused(offsetof(Elf64_Ehdr, e_machine), EM_AARCH64, 2, "arm64", "arm64");
	is_header_refused(offsetof(Elf64_Ehdr, e_machine), EM_386, 2, "32-bit", "i386");
	is_header_refused(offsetof(Elf64_Ehdr, e_machine), 0x1234, 2, "another architecture",
			  "an unheard-of machine");
	is_header_refused(offsetof(Elf64_Ehdr, e_type), ET_REL, 2, "object file", "an object file");
	is_header_refused(offsetof(Elf64_Ehdr, e_type), ET_CORE, 2, "core dump", "a core dump");
	is_header_refused(EI_DATA, ELFDATA2MSB, 1, "big-endian", "a big-endian program");

	fd = open("/", O_RDONLY | O_CLOEXEC);
	ok(elf_identify(fd, &identity, &why) == -ENOEXEC && strstr(why, "directory"),
	   "refused: a directory");
	close(fd);
	ok(elf_identify(-1, &identity, &why) == -EBADF && !why, "a bad descriptor is an error");
}

static void test_identity(void)
{
	struct elf_identity identity;
	const char *why;

	ok(!identify(image, image_size, &identity, &why) && !why, "a program is taken");
	ok(strlen(identity.build_id) == 40 &&
	   strspn(identity.build_id, "0123456789abcdef") == 40,
	   "its build-id is 20 bytes in lower-case hex: %s", identity.build_id);
	ok(identity.entry != 0, "and it has an entry");
}

/* Headers with random bytes are refused or taken, but nothing is read beyond. */
static void test_damage(void)
{
	enum { ROUNDS = 3000, HEADERS = 1024 };
	uint8_t *copy = malloc(image_size);
	int taken = 0, refused = 0;

	srandom(1);
	for (int i = 0; i < ROUNDS; i++) {
		struct elf_identity identity;
		const char *why;
		int err;

		memcpy(copy, image, image_size);
		for (int nr = 0; nr < 4; nr++)
			copy[4 + random() % HEADERS] = (uint8_t)random();
		err = identify(copy, image_size < 65536 ? image_size : 65536, &identity, &why);
		taken += !err;
		refused += err == -ENOEXEC && why;
	}
	free(copy);
	ok(taken + refused == ROUNDS, "damaged headers: each taken or refused with a reason");
}

static void is_demangled(const char *name, const char *wanted)
{
	char *text = demangle(name);

	if (!ok(wanted ? text && !strcmp(text, wanted) : !text, "%s is %s", name,
		wanted ? wanted : "no C++ name"))
		diag("%s", text ? text : "(nothing)");
	free(text);
}

static void test_names(void)
{
	is_demangled("main", NULL);
	is_demangled("_Znonsense", NULL);
	is_demangled("_Z11mysql_parseP3THDPcjP12Parser_state", "mysql_parse");
	is_demangled("_ZNK12Type_handler14Item_send_longEP4ItemP8ProtocolP8st_value",
		     "Type_handler::Item_send_long");
	is_demangled("_ZNKSt8functionIFvvEEclEv", "std::function<void ()>::operator()");
	is_demangled("_ZL6invokeP13InstanceKlassb.constprop.0", "invoke");
}

int main(void)
{
	plan(25);
	read_image("/proc/self/exe");
	test_refusals();
	test_identity();
	test_damage();
	test_names();
	free(image);
	return tap_status();
}
