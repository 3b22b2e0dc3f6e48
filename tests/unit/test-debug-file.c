// SPDX-License-Identifier: GPL-2.0
/*
 * Names of a stripped program's functions, from debug files in the places where
 * they are expected; and none from the file of another program.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/open-in-root.h"
#include "binary/file/debug-file.h"
#include "binary/file/object.h"
#include "tap.h"

/* In this directory for files: the program, stripped, and its debug file. */
static char *directory;

static __attribute__((format(printf, 1, 2))) void command(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (system(text)) {
		printf("Bail out! %s\n", text);
		exit(1);
	}
}

static uint64_t address_of(const char *program, const char *name)
{
	char text[1024];
	uint64_t ret = 0;
	FILE *file;

	snprintf(text, sizeof(text), "nm %s | awk '$3 == \"%s\" { print \"0x\" $1 }'", program,
		 name);
	file = popen(text, "r");
	if (!file || fscanf(file, "%li", (long *)&ret) != 1)
		ret = 0;
	if (file)
		pclose(file);
	return ret;
}

/* What the stripped program, opened again, calls the function at @address. */
static bool has_name(uint64_t address, const char *wanted)
{
	struct object *object;
	char path[1024];
	const char *name;
	uint64_t start;
	bool ret;
	int fd;

	snprintf(path, sizeof(path), "%s/program", directory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || object_create(fd, path, &object))
		return false;
	ret = !object_function(object, address, &start, &name) &&
	      (wanted ? name && !strcmp(name, wanted) : !name);
	object_destroy(object);
	return ret;
}

static bool is_mapped(const char *library)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	bool ret = false;
	char line[1024];

	while (maps && fgets(line, sizeof(line), maps))
		ret |= !!strstr(line, library);
	if (maps)
		fclose(maps);
	return ret;
}

/* Where the program's file is looked for first, if a process has it in another root. */
static void in_root(void)
{
	struct debug_file_wanted wanted = { .id = "no such id", .id_size = 20, .link = "names.debug" };
	char program[1024], path[1100];
	int first, second;

	snprintf(program, sizeof(program), "%s/program", directory);
	ok(path_in_root((uint32_t)getpid(), program, path, sizeof(path)) == program,
	   "our own root is no other one");
	snprintf(path, sizeof(path), "/proc/%d/root%s", getpid(), program);
	first = debug_file_open(path, &wanted, 1);
	second = debug_file_open(path, &wanted, 5);
	ok(first >= 0 && second >= 0, "a debug file is looked for in a process's root, and in ours");
	close(first);
	close(second);
	ok(debug_file_open(path, &wanted, 0) == -ENOENT && debug_file_open(path, &wanted, 9) == -ERANGE &&
	   debug_file_open(program, &wanted, 5) == -ERANGE, "and then nowhere");
	snprintf(path, sizeof(path), "/proc/%d/root%s", -1, program);
	ok(debug_file_open(path, &wanted, 1) == -ENOENT, "not in the root of a process that is gone");
}

int main(int argc, char **argv)
{
	static const char name[] = "has_no_loop";
	char build[512], program[600], template[] = "/tmp/test-debug-file-XXXXXX";
	uint64_t address;

	(void)argc;
	snprintf(build, sizeof(build), "%.*s", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
	unsetenv("DEBUGINFOD_URLS");
	directory = mkdtemp(template);
	if (!directory)
		return 1;
	command("cd %s && objcopy --only-keep-debug victim-code %s/names.debug", build, directory);
	command("cd %s && objcopy --strip-all --add-gnu-debuglink=%s/names.debug victim-code "
		"%s/program", build, directory, directory);
	snprintf(program, sizeof(program), "%s/victim-code", build);
	address = address_of(program, name);
	plan(11);
	ok(address && has_name(address, name), "the file beside the program names a function");
	in_root();
	command("cd %s && mkdir .debug && mv names.debug .debug/", directory);
	ok(has_name(address, name), "so does that in .debug beside it");
	command("mv %s/.debug/names.debug %s/kept", directory, directory);
	ok(has_name(address, NULL), "without one there is no name");
	command("objcopy --only-keep-debug %s/victim-throw %s/names.debug", build, directory);
	ok(has_name(address, NULL), "nor with that of another program");
	command("cd %s && objcopy --remove-section=.note.gnu.build-id kept names.debug", directory);
	ok(has_name(address, NULL), "nor with one without a build id");
	command("cd %s && rm names.debug && mkfifo names.debug", directory);
	ok(has_name(address, NULL), "a pipe of its name is not read");
	ok(!is_mapped("libdebuginfod"), "the client of debug servers was not loaded");
	command("rm -r %s", directory);
	return tap_status();
}
