// SPDX-License-Identifier: GPL-2.0

#include "app/common/selector.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/scope-options.h"
#include "app/common/scope-processes.h"
#include "base/log.h"
#include "binary/file/elf.h"

#define AT(member) offsetof(struct selector, member)

const struct option_spec selector_options[] = {
	{ 'e', NULL, "EXE", option_string, AT(exe),
	  .help = "every process that runs the file EXE (searched in PATH if it has no slash)",
	  .is_once = true },
	{ 0, "-- CMD [ARG...]", NULL, NULL, 0, .help = "a program to start, and what it starts" },
	{ 0 },
};

bool selector_is_given(const struct selector *selector)
{
	return selector->exe || !scope_is_any(&selector->scope);
}

int selector_take_command(struct selector *selector, int argc, char **argv)
{
	if (optind < argc)
		selector->command = argv + optind;
	if (selector_is_given(selector) && selector->command)
		return cmd_usage(argv[0], "-- CMD goes with no other choice of processes");
	if (selector->canary && (selector->command || selector->scope.nr_pids))
		return cmd_usage(argv[0], "--canary chooses among several processes: not with -p or -- CMD");
	if (!selector_is_given(selector) && !selector->command)
		return cmd_usage(argv[0], "say which processes: -p PID, -e EXE, --unit NAME, --container ID or -- CMD");
	return 0;
}

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static int search_dirs(const char *dirs, const char *name, char path[PATH_MAX])
{
	const char *end;

	for (;; dirs = end + 1) {
		end = strchrnul(dirs, ':');
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - dirs), dirs,
			     end == dirs ? "./" : "/", name) < PATH_MAX &&
		    is_executable(path))
			return 0;
		if (!*end)
			return -ENOENT;
	}
}

/*
 * As the shell finds a command; then where servers are, which the PATH of a
 * user who became root may lack.
 */
static int search_path(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");

	if (dirs && *dirs && !search_dirs(dirs, name, path))
		return 0;
	return search_dirs("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", name,
			   path);
}

static int find_file(const char *name, char path[PATH_MAX])
{
	if (!*name) {
		log_error("an empty file name");
		return CMD_FAILED;
	}
	if (!strchr(name, '/')) {
		if (!search_path(name, path))
			return 0;
		log_error("no program '%s' in PATH; give its file with the path", name);
		return CMD_FAILED;
	}
	if (snprintf(path, PATH_MAX, "%s", name) < PATH_MAX)
		return 0;
	log_error("the file name is too long");
	return CMD_FAILED;
}

static int open_failed(const char *path, int error)
{
	log_error("cannot open %s: %s", path, strerror(error));
	return error == EACCES || error == EPERM ? CMD_IMPOSSIBLE : CMD_FAILED;
}

/* Identify the program's file.  @name is what the operator said.  Returns an exit code. */
static int check_elf(struct selector *selector, int fd, const char *name)
{
	struct elf_identity identity;
	const char *why;
	int error;

	error = elf_identify(fd, &identity, &why);
	if (!error) {
		memcpy(selector->build_id, identity.build_id, sizeof(selector->build_id));
		return 0;
	}
	if (why)
		log_error("%s is %s", name, why);
	else
		log_error("cannot read %s: %s", name, strerror(-error));
	return CMD_FAILED;
}

static int resolve_exe(struct selector *selector)
{
	int ret = find_file(selector->exe, selector->path);

	if (ret)
		return ret;
	selector->fd = open(selector->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (selector->fd < 0)
		return open_failed(selector->path, errno);
	return check_elf(selector, selector->fd, selector->path);
}

/* A thread that is not its process's first has a directory in /proc, too. */
static int check_leader(uint32_t pid)
{
	char line[256], path[64];
	uint32_t leader = pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	file = fopen(path, "re");
	if (!file) {
		log_error("there is no process %" PRIu32, pid);
		return CMD_FAILED;
	}
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %" SCNu32, &leader) == 1)
			break;
	fclose(file);
	if (leader == pid)
		return 0;
	log_error("%" PRIu32 " is a thread of process %" PRIu32 "; use -p %" PRIu32, pid, leader,
		  leader);
	return CMD_FAILED;
}

static int resolve_pid(struct selector *selector)
{
	char path[64], name[PATH_MAX + 64];
	ssize_t len;
	int fd, ret;

	ret = check_leader(selector->pid);
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", selector->pid);
	len = readlink(path, selector->path, sizeof(selector->path) - 1);
	if (len < 0 && errno == ENOENT) {
		log_error("process %" PRIu32
			  " runs no program: it is a kernel thread or has just ended",
			  selector->pid);
		return CMD_FAILED;
	}
	if (len < 0) {
		ret = errno == EACCES || errno == EPERM ? CMD_IMPOSSIBLE : CMD_FAILED;
		log_error("cannot look at process %" PRIu32 ": %s; run this as root", selector->pid,
			  strerror(errno));
		return ret;
	}
	selector->path[len] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return open_failed(path, errno);
	snprintf(name, sizeof(name), "process %" PRIu32 "'s %s", selector->pid, selector->path);
	ret = check_elf(selector, fd, name);
	close(fd);
	return ret;
}

/*
 * A command may be a script: the programs it starts are watched.  What is an
 * ELF file has to be one of ours.
 */
static int resolve_command(struct selector *selector)
{
	char magic[4] = { 0 };
	ssize_t len;
	int fd, ret;

	ret = find_file(selector->command[0], selector->path);
	if (ret)
		return ret;
	fd = open(selector->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno != EACCES)
		return open_failed(selector->path, errno);
	if (access(selector->path, X_OK)) {
		log_error("cannot run %s: %s", selector->path, strerror(errno));
		close(fd);
		return CMD_FAILED;
	}
	if (fd < 0)
		return 0;
	len = pread(fd, magic, sizeof(magic), 0);
	ret = 0;
	if (len != sizeof(magic) || memcmp(magic, "\177ELF", sizeof(magic)) == 0)
		ret = check_elf(selector, fd, selector->path);
	close(fd);
	return ret;
}

static int no_process(const struct selector *selector)
{
	if (selector->exe)
		log_error("none of these processes runs %s", selector->exe);
	else
		log_error("there is no such process");
	return CMD_FAILED;
}

/* What the processes in the scope run.  A file that none of them runs yet may be meant, too. */
static int resolve_scope(struct selector *selector, const struct scope_processes *processes)
{
	const struct armed_scope *scope = &selector->scope;
	int fd = scope_processes_open(processes, selector->exe, selector->path);

	if (fd == -ENOENT && selector->exe && !scope->nr_pids && !scope->container)
		return resolve_exe(selector);
	if (fd == -ENOENT)
		return no_process(selector);
	if (fd < 0)
		return fd == -EACCES ? CMD_IMPOSSIBLE : CMD_FAILED;
	selector->fd = fd;
	return check_elf(selector, fd, selector->path);
}

/* Only some of the processes, if that is wanted. */
static int choose(struct selector *selector, const struct scope_processes *processes)
{
	int error;

	if (!selector->canary)
		return 0;
	error = scope_processes_choose(processes, selector->fd, selector->canary, &selector->scope);
	if (error == -ENOMEM)
		return cmd_no_memory();
	if (error) {
		log_error("fewer than %" PRIu32 " of these processes run %s", selector->canary,
			  selector->path);
		return CMD_FAILED;
	}
	for (uint32_t i = 0; i < selector->canary; i++)
		log_progress("process %" PRIu32 " was chosen", selector->scope.pids[i]);
	return 0;
}

static int resolve_processes(struct selector *selector)
{
	struct scope_processes processes;
	int ret = scope_processes_get(&selector->scope, &processes);

	ret = ret ? cmd_no_memory() : resolve_scope(selector, &processes) ?:
	      choose(selector, &processes);
	scope_processes_free(&processes);
	return ret;
}

/* Is it a process, and nothing else said of it? */
static bool is_process(const struct selector *selector)
{
	struct armed_scope others = selector->scope;

	others.nr_pids = 0;
	return selector->scope.nr_pids && !selector->exe && !selector->canary && scope_is_any(&others);
}

int selector_resolve(struct selector *selector)
{
	int ret;

	selector->fd = -1;
	if (selector->command)
		return resolve_command(selector);
	if (is_process(selector)) {
		selector->pid = selector->scope.pids[0];
		return resolve_pid(selector);
	}
	ret = selector->scope.nr_pids ? check_leader(selector->scope.pids[0]) : 0;
	if (ret)
		return ret;
	return scope_find(&selector->scope) ?: resolve_processes(selector);
}

void selector_deinit(struct selector *selector)
{
	if (selector->fd >= 0)
		close(selector->fd);
	selector->fd = -1;
	scope_deinit(&selector->scope);
}
