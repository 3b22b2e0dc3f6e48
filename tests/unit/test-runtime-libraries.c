// SPDX-License-Identifier: GPL-2.0
/*
 * Which files are the C runtime: of Debian's libraries, of other systems by
 * their names, and of small files that are damaged in many ways.
 */

#include <sys/mman.h>

#include "binary/file/runtime-libraries.h"
#include "program.h"
#include "tap.h"

static struct object *open_object(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct object *object = NULL;

	return fd >= 0 && !object_create(fd, path, &object) ? object : NULL;
}

/* Libraries, and whether they are of the runtime. */
static const struct {
	const char *path;
	bool wanted;
} libraries[] = {
	{ "/lib64/ld-linux-x86-64.so.2", true },
	{ "/lib/x86_64-linux-gnu/libc.so.6", true },
	{ "/lib/x86_64-linux-gnu/libm.so.6", true },
	{ "/lib/x86_64-linux-gnu/libresolv.so.2", true },
	{ "/lib/x86_64-linux-gnu/libelf.so.1", false },
	{ "/lib/x86_64-linux-gnu/libstdc++.so.6", false },
	{ "/lib/x86_64-linux-gnu/libgcc_s.so.1", false },
	/* with variables of threads, so that they need the dynamic linker itself */
	{ "/lib/x86_64-linux-gnu/libblkid.so.1", false },
	{ "/lib/x86_64-linux-gnu/libcom_err.so.2", false },
	{ "/lib/x86_64-linux-gnu/libcap-ng.so.0", false },
};

enum {
	NR_LIBRARIES = sizeof(libraries) / sizeof(libraries[0]),
};

static void test_debian(const char *self)
{
	struct object *program = open_object(self);
	struct runtime_candidate files[2] = { { .soname = "" } };

	runtime_libraries_read(program, &files[0]);
	ok(!strcmp(files[0].interpreter, "ld-linux-x86-64.so.2") &&
	   !files[0].has_private && !strcmp(files[0].soname, "runtime-libraries"),
	   "a program has its interpreter, and its file's name");
	for (int i = 0; i < NR_LIBRARIES; i++) {
		struct object *object = open_object(libraries[i].path);
		bool runtime[2];

		if (!object) {
			skip(1, libraries[i].path);
			continue;
		}
		runtime_libraries_read(object, &files[1]);
		runtime_libraries_find(files, 2, runtime);
		ok(!runtime[0] && runtime[1] == libraries[i].wanted, "%s is %sthe C runtime's",
		   files[1].soname, libraries[i].wanted ? "" : "not ");
		object_destroy(object);
	}
	object_destroy(program);
}

static void test_names(void)
{
	struct runtime_candidate files[] = {
		{ "server", "server", "ld-musl-x86_64.so.1", false },
		{ "libc.musl-x86_64.so.1", "ld-musl-x86_64.so.1", "", false },
		{ "libz.so.1", "libz.so.1.2.13", "", false },
		{ "/gone (deleted)", "", "", false },
	};
	bool runtime[4];

	runtime_libraries_find(files, 4, runtime);
	ok(!runtime[0] && runtime[1] && !runtime[2] && !runtime[3],
	   "the linker is known by its file's name");
	files[1] = (struct runtime_candidate){ "ld-musl-x86_64.so.1", "ld-1.2.so", "", false };
	runtime_libraries_find(files, 4, runtime);
	ok(!runtime[0] && runtime[1] && !runtime[2], "or by its own");
	files[0].interpreter[0] = '\0';
	files[1].has_private = true;
	runtime_libraries_find(files, 4, runtime);
	ok(!runtime[0] && !runtime[1] && !runtime[2], "a static program has no runtime");
	files[0] = (struct runtime_candidate){ "ld.so", "ld.so", "ld.so", true };
	runtime_libraries_find(files, 1, runtime);
	ok(!runtime[0], "the program itself is never its runtime");
	runtime_libraries_find(files, 0, runtime);
}

/* A small library; all of it is loaded at address 0. */
struct file {
	Elf64_Ehdr header;
	Elf64_Phdr programs[3];
	Elf64_Dyn dynamic[6];
	Elf64_Verneed need;
	Elf64_Vernaux versions[2];
	char interpreter[16];
	char strings[64];
};

#define STRINGS "\0libsmall.so.1\0libc.so.6\0GLIBC_2.34\0GLIBC_PRIVATE"

enum {
	AT_SONAME = 1,
	AT_LIBC = AT_SONAME + sizeof("libsmall.so.1"),
	AT_PUBLIC = AT_LIBC + sizeof("libc.so.6"),
	AT_PRIVATE = AT_PUBLIC + sizeof("GLIBC_2.34"),
};

static struct file whole(void)
{
	struct file file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct file, programs),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3,
		},
		.dynamic = {
			{ DT_STRTAB, { offsetof(struct file, strings) } },
			{ DT_STRSZ, { sizeof(file.strings) } },
			{ DT_SONAME, { AT_SONAME } },
			{ DT_VERNEED, { offsetof(struct file, need) } },
			{ DT_VERNEEDNUM, { 1 } },
			{ DT_NULL, { 0 } },
		},
		.need = { VER_NEED_CURRENT, 2, AT_LIBC,
			  offsetof(struct file, versions) - offsetof(struct file, need), 0 },
		.versions = {
			{ 0, 0, 2, AT_PUBLIC, sizeof(Elf64_Vernaux) },
			{ 0, 0, 3, AT_PRIVATE, 0 },
		},
		.interpreter = "/lib/ld.so",
		.strings = STRINGS,
	};

	file.programs[0] = (Elf64_Phdr){ PT_LOAD, PF_R | PF_X, 0, 0, 0, sizeof(file), sizeof(file),
					 4096 };
	file.programs[1] = (Elf64_Phdr){ PT_DYNAMIC, PF_R, offsetof(struct file, dynamic),
					 offsetof(struct file, dynamic), 0, sizeof(file.dynamic),
					 sizeof(file.dynamic), 8 };
	file.programs[2] = (Elf64_Phdr){ PT_INTERP, PF_R, offsetof(struct file, interpreter),
					 offsetof(struct file, interpreter), 0,
					 sizeof(file.interpreter), sizeof(file.interpreter), 1 };
	return file;
}

/* Read @file; the names end up in @ret_names, as they go with the object. */
static bool read_file(const struct file *file, bool *ret_private, char ret_names[2][RUNTIME_NAME_MAX])
{
	int fd = memfd_create("small", MFD_CLOEXEC);
	struct object *object;
	struct runtime_candidate needed;

	if (fd < 0 || write(fd, file, sizeof(*file)) != sizeof(*file))
		exit(1);
	if (object_create(fd, "/lib/file.so", &object))
		return false;
	runtime_libraries_read(object, &needed);
	*ret_private = needed.has_private;
	snprintf(ret_names[0], RUNTIME_NAME_MAX, "%s", needed.soname);
	snprintf(ret_names[1], RUNTIME_NAME_MAX, "%s", needed.interpreter[0] ? needed.interpreter : "none");
	object_destroy(object);
	return true;
}

static void check(const struct file *file, bool has_private, const char *soname,
		  const char *interpreter, const char *name)
{
	char names[2][RUNTIME_NAME_MAX] = { "", "" };
	bool is_private = false;

	if (!ok(read_file(file, &is_private, names) && is_private == has_private &&
		!strcmp(names[0], soname) && !strcmp(names[1], interpreter), "%s", name))
		diag("%d, %s, %s", is_private, names[0], names[1]);
}

static void test_dynamic(void)
{
	struct file file = whole();

	check(&file, true, "libsmall.so.1", "ld.so", "a small file");
	file.versions[1].vna_name = AT_PUBLIC;
	check(&file, false, "libsmall.so.1", "ld.so", "one without a private version");
	file = whole();
	file.dynamic[2].d_tag = DT_DEBUG;
	check(&file, true, "file.so", "ld.so", "without a name of its own");
	file = whole();
	file.dynamic[0].d_tag = DT_NULL;
	check(&file, false, "file.so", "ld.so", "without any entry");
	file = whole();
	file.dynamic[5] = (Elf64_Dyn){ DT_SONAME, { AT_LIBC } };
	check(&file, true, "libsmall.so.1", "ld.so", "entries without an end: the first one counts");
	file = whole();
	file.programs[1].p_type = PT_NULL;
	check(&file, false, "file.so", "ld.so", "without a dynamic section");
	file = whole();
	file.programs[1].p_filesz = sizeof(file);
	check(&file, false, "file.so", "ld.so", "a dynamic section beyond the end");
	file = whole();
	file.programs[1].p_vaddr = UINT64_MAX - 8;
	check(&file, false, "file.so", "ld.so", "one at the end of all addresses");
	file = whole();
	file.programs[1].p_filesz = UINT64_MAX;
	check(&file, false, "file.so", "ld.so", "one of more than all bytes");
	file = whole();
	file.programs[1].p_filesz = sizeof(Elf64_Dyn) - 1;
	check(&file, false, "file.so", "ld.so", "one of less than an entry");
}

static void test_strings(void)
{
	struct file file = whole();

	file.dynamic[0].d_un.d_ptr = sizeof(file) - 1;
	check(&file, false, "file.so", "ld.so", "strings beyond the end");
	file = whole();
	file.dynamic[1].d_un.d_val = UINT64_MAX;
	check(&file, false, "file.so", "ld.so", "strings of more than all bytes");
	file = whole();
	file.dynamic[2].d_un.d_val = sizeof(file.strings);
	check(&file, true, "file.so", "ld.so", "a name behind the strings");
	file = whole();
	file.dynamic[2].d_un.d_val = UINT64_MAX;
	check(&file, true, "file.so", "ld.so", "a name far away");
	file = whole();
	memset(file.strings + AT_PRIVATE, 'x', sizeof(file.strings) - AT_PRIVATE);
	file.dynamic[2].d_un.d_val = AT_PRIVATE;
	check(&file, false, "file.so", "ld.so", "a name that does not end");
	file = whole();
	memset(file.interpreter, 'x', sizeof(file.interpreter));
	check(&file, true, "libsmall.so.1", "none", "an interpreter that does not end");
	file = whole();
	file.programs[2].p_filesz = 0;
	check(&file, true, "libsmall.so.1", "none", "an interpreter of no bytes");
	file = whole();
	file.programs[2].p_vaddr = sizeof(file);
	check(&file, true, "libsmall.so.1", "none", "an interpreter that is not in the file");
}

static void test_versions(void)
{
	struct file file = whole();

	file.dynamic[3].d_un.d_ptr = sizeof(file) - 1;
	check(&file, false, "libsmall.so.1", "ld.so", "versions beyond the end");
	file = whole();
	file.need.vn_aux = UINT32_MAX;
	check(&file, false, "libsmall.so.1", "ld.so", "versions far away");
	file = whole();
	file.versions[0].vna_next = 0;
	file.need.vn_cnt = UINT16_MAX;
	check(&file, false, "libsmall.so.1", "ld.so", "a version that is its own next one");
	file = whole();
	file.need.vn_cnt = 0;
	file.need.vn_next = 1;
	check(&file, false, "libsmall.so.1", "ld.so", "a file of which no version is needed");
	file = whole();
	file.versions[1].vna_name = UINT32_MAX;
	check(&file, false, "libsmall.so.1", "ld.so", "a version without a name");
}

int main(int argc, char **argv)
{
	(void)argc;
	plan(1 + NR_LIBRARIES + 4 + 10 + 8 + 5);
	test_debian(argv[0]);
	test_names();
	test_dynamic();
	test_strings();
	test_versions();
	return tap_status();
}
