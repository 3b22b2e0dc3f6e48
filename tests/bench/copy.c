// SPDX-License-Identifier: GPL-2.0

#include "copy.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void copy_file(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat is;

	if (from < 0 || to < 0 || fstat(from, &is))
		err(1, "%s", path);
	for (off_t at = 0; at < is.st_size;)
		if (sendfile(to, from, &at, (size_t)(is.st_size - at)) <= 0)
			err(1, "%s", path);
	close(from);
	close(to);
}

/* Its standard output is a pipe, by which it signals that it is ready. */
static pid_t run_file(char *path, const char *word)
{
	char *const words[] = { path, (char *)word, NULL };
	posix_spawn_file_actions_t actions;
	char byte;
	int fds[2];
	pid_t ret;

	if (pipe2(fds, O_CLOEXEC))
		err(1, "pipe");
	if (posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO) ||
	    posix_spawn(&ret, path, &actions, NULL, words, environ))
		errx(1, "%s cannot be run", path);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		errx(1, "%s did not become ready", path);
	close(fds[0]);
	return ret;
}

/* The file is removed as soon as it runs. */
pid_t copy_begin(const char *word)
{
	char directory[] = "/tmp/copy-XXXXXX", path[64];
	pid_t ret;

	if (!mkdtemp(directory))
		err(1, "%s", directory);
	snprintf(path, sizeof(path), "%s/copy", directory);
	copy_file(path);
	ret = run_file(path, word);
	if (unlink(path) || rmdir(directory))
		err(1, "%s", directory);
	return ret;
}

void copy_wait(void)
{
	sigset_t end;
	int signal;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &end, NULL) || prctl(PR_SET_PDEATHSIG, SIGTERM) ||
	    write(STDOUT_FILENO, "x", 1) != 1)
		err(1, "a copy");
	while (sigwait(&end, &signal))
		;
}

void copy_end(pid_t copy)
{
	int status;

	if (kill(copy, SIGTERM) || waitpid(copy, &status, 0) != copy || status)
		errx(1, "a copy did not end well");
}
