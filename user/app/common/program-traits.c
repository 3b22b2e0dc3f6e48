// SPDX-License-Identifier: GPL-2.0

#include "app/common/program-traits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "base/base-name.h"
#include "base/log.h"
#include "base/long-step.h"
#include "binary/code/runtimes.h"
#include "binary/helper/foreign-traits.h"
#include "binary/stack/snapshot.h"
#include "data/stack-copy.h"
#include "out/text.h"

enum {
	MAX_LIBRARIES = 256,
	MAX_NOTE = 256,
};

/* What is shown while it lasts. */
#define READING "reading what the program is"

/* Less of its code in known functions than this: then most of what it does is not seen. */
#define MUCH_KNOWN 0.5

struct program_traits {
	struct file_traits file;
	uint32_t loaded; /* runtimes in libraries that the process has loaded */
};

static int open_program(const struct selector *selector)
{
	char path[64];

	/* In a container our own root does not have it. */
	if (selector->fd >= 0)
		return fcntl(selector->fd, F_DUPFD_CLOEXEC, 0);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", selector->pid);
	return open(selector->pid ? path : selector->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* Libraries are looked at for the runtime alone; those that cannot be read count for nothing. */
static uint32_t find_loaded(uint32_t pid)
{
	uint32_t set = 0, nr = 0;
	struct slice slice = { 0 };
	uint64_t last = 0;

	if (snapshot_mappings(pid, &slice))
		return 0;
	for (uint32_t i = 0; i < slice.nr_mappings && nr < MAX_LIBRARIES; i++) {
		const struct mapping *mapping = &slice.mappings[i];
		struct file_traits traits;
		char path[96];
		int fd;

		if (!mapping->path || !mapping->inode || mapping->inode == last)
			continue;
		last = mapping->inode;
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
			 mapping->start, mapping->end);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		nr++;
		if (!foreign_traits_read(fd, mapping->path, false, &traits))
			set |= traits.runtimes;
		close(fd);
	}
	slice_clear(&slice);
	return set;
}

static void find_functions(struct findings *findings, const struct file_traits *traits)
{
	const char *from = traits->nr_go ? "Go's own table" : "its unwind table";
	char nr[TEXT_MAX], named[TEXT_MAX];

	if (!traits->nr_functions) {
		findings_add(findings, FINDING_BAD, "functions", "audit it; it cannot be guarded",
			     "none is known: it has no unwind table");
		return;
	}
	text_count(traits->nr_functions, nr);
	if (traits->nr_named)
		findings_add(findings, FINDING_OK, "functions", NULL, "%s, by %s; %s have names", nr,
			     from, text_count(traits->nr_named, named));
	else
		findings_add(findings, FINDING_OK, "functions", NULL,
			     "%s, by %s; they have no names, alerts have addresses", nr, from);
	if ((double)traits->known_bytes < MUCH_KNOWN * (double)traits->code_bytes)
		findings_add(findings, FINDING_NOTE, "functions", NULL,
			     "%.0f %% of its code is in no function that is known",
			     100 - 100 * (double)traits->known_bytes / (double)traits->code_bytes);
}

static bool is_in(uint32_t set, const char *name)
{
	for (uint32_t i = 0; i < RUNTIMES_NR; i++)
		if (set & 1u << i && !strcmp(runtimes[i].name, name))
			return true;
	return false;
}

/* A just-in-time compiler has the interface of what it stands for. */
static bool is_implied(uint32_t set, const struct language_runtime *runtime)
{
	return !strcmp(runtime->name, "Lua") && is_in(set, "LuaJIT");
}

static const char *meaning_of(const struct language_runtime *runtime)
{
	return runtime->kind == RUNTIME_COMPILER ?
		       "code that it makes at run time has no names, and no guards" :
		       "for what it interprets, alerts name the interpreter's functions";
}

static void find_runtimes(struct findings *findings, const struct program_traits *traits)
{
	const uint32_t set = traits->file.runtimes | traits->loaded;

	if (traits->file.nr_go)
		findings_add(findings, FINDING_BAD, "runtime",
			     "audit it, for its requests; it cannot be guarded",
			     "Go: goroutines have stacks of their own and move between threads, so units are no requests");
	for (uint32_t i = 0; i < RUNTIMES_NR; i++) {
		const struct language_runtime *runtime = &runtimes[i];

		if (!(set & 1u << i) || is_implied(set, runtime))
			continue;
		findings_add(findings, FINDING_NOTE, "runtime",
			     runtime->kind == RUNTIME_COMPILER ?
				     "'pg-collect check -p PID' measures how much of it runs" : NULL,
			     "%s%s: %s", runtime->name,
			     traits->file.runtimes & 1u << i ? "" : " in a library", meaning_of(runtime));
	}
}

static int read_traits(const struct selector *selector, struct program_traits *ret)
{
	int fd = open_program(selector), error = -errno;

	*ret = (struct program_traits){ 0 };
	if (fd < 0)
		return error;
	long_step_begin(READING);
	error = foreign_traits_read(fd, selector->path, true, &ret->file);
	close(fd);
	if (!error && selector->pid)
		ret->loaded = find_loaded(selector->pid) & ~ret->file.runtimes;
	long_step_end();
	return error;
}

int program_traits_check(struct findings *findings, const struct selector *selector)
{
	struct program_traits traits;
	int error = read_traits(selector, &traits);

	if (error == -EINTR)
		return CMD_FAILED;
	if (error == -ENOMEM)
		return cmd_no_memory();
	if (error) {
		findings_add(findings, FINDING_UNKNOWN, "functions", NULL, "%s %s", selector->path,
			     error == -ENOEXEC ? "is no program that can be read" :
						 "cannot be read in the time and memory that it may take");
		return 0;
	}
	find_functions(findings, &traits.file);
	if (traits.file.is_static)
		findings_add(findings, FINDING_NOTE, "linking", NULL,
			     "static: functions of the C library count as its own");
	find_runtimes(findings, &traits);
	return 0;
}

#define GO "is Go: goroutines move between threads, so units are no requests"

static void note(const char *path, const struct file_traits *traits)
{
	char text[MAX_NOTE] = "";

	if (traits->nr_go)
		log_warning("%s " GO "; the requests that are followed are", base_name(path));
	for (uint32_t i = 0; i < RUNTIMES_NR; i++)
		if (traits->runtimes & 1u << i && runtimes[i].kind != RUNTIME_EMBEDDED)
			text_append(text, sizeof(text), "%s%s (%s)", *text ? ", " : "",
				    runtimes[i].name, meaning_of(&runtimes[i]));
	if (*text)
		log_warning("%s has %s", base_name(path), text);
}

void program_traits_note_file(int fd, const char *path)
{
	struct file_traits traits;

	if (!foreign_traits_read(fd, path, false, &traits))
		note(path, &traits);
}

/* What cannot be read counts as nothing: whoever needs the file reports it. */
static struct file_traits traits_of(const struct selector *selector)
{
	struct file_traits traits = { 0 };
	int fd = open_program(selector);

	if (fd < 0)
		return traits;
	long_step_begin(READING);
	if (foreign_traits_read(fd, selector->path, false, &traits))
		traits = (struct file_traits){ 0 };
	long_step_end();
	close(fd);
	return traits;
}

void program_traits_note(const struct selector *selector)
{
	const struct file_traits traits = traits_of(selector);

	note(selector->path, &traits);
}

int program_traits_admit(const struct selector *selector)
{
	const struct file_traits traits = traits_of(selector);

	if (traits.nr_go) {
		log_error("%s " GO ", and it cannot be guarded; 'pg-collect audit' follows its requests",
			  base_name(selector->path));
		return CMD_FAILED;
	}
	note(selector->path, &traits);
	return 0;
}
