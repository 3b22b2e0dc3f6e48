// SPDX-License-Identifier: GPL-2.0

#include "app/serve/alert-hook.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"

extern char **environ;

enum { MAX_WORDS = 64 };

/* From SIGTERM to SIGKILL. */
#define PATIENCE_NS (2 * NSEC_PER_SEC)

/* A file without a name: whoever reads it slowly, or not at all, keeps nobody waiting. */
static int make_file(const char *json, size_t len)
{
	int fd = memfd_create("alert", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (len) {
		ssize_t nr = write(fd, json, len);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0) {
			close(fd);
			return -ENOSPC;
		}
		json += nr;
		len -= (size_t)nr;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* The words of @command, which it keeps; none has a blank. */
static void split(char *command, char *words[MAX_WORDS + 1])
{
	int nr = 0;

	for (char *word = strtok(command, " \t"); word && nr < MAX_WORDS; word = strtok(NULL, " \t"))
		words[nr++] = word;
	words[nr] = NULL;
}

/* Of a process group of its own, with the signals of a fresh process. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setpgroup(attributes, 0);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP |
							    POSIX_SPAWN_SETSIGMASK |
							    POSIX_SPAWN_SETSIGDEF);
}

/* Returns 0 or a positive errno. */
static int spawn(const struct service_hook *wanted, int file, pid_t *ret)
{
	char *command = strdup(wanted->command), *words[MAX_WORDS + 1];
	char *const shell[] = { "/bin/sh", "-c", command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error;

	if (!command)
		return ENOMEM;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	error = posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO) ?:
		set_attributes(&attributes);
	if (!error && wanted->is_shell) {
		error = posix_spawn(ret, shell[0], &actions, &attributes, shell, environ);
	} else if (!error) {
		split(command, words);
		error = posix_spawn(ret, words[0], &actions, &attributes, words, environ);
	}
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	free(command);
	return error;
}

static void begin(struct alert_hook *hook, int file, uint64_t now_ns)
{
	struct running_hook *running = &hook->running[hook->nr_running];
	int error = spawn(&hook->wanted, file, &running->pid);

	close(file);
	if (error) {
		/* Each time would be too often: it is counted. */
		if (!hook->failed++)
			log_error("on-alert: cannot run '%s': %s", hook->wanted.command,
				  strerror(error));
		return;
	}
	running->end_ns = now_ns + hook->wanted.timeout_ns;
	running->nr_signals = 0;
	hook->nr_running++;
	hook->begun++;
}

static bool has_room(const struct alert_hook *hook)
{
	return hook->nr_running < hook->wanted.most && hook->nr_running < ALERT_HOOK_MAX_RUNNING;
}

static void begin_waiting(struct alert_hook *hook, uint64_t now_ns)
{
	uint32_t nr = 0;

	while (nr < hook->nr_waiting && has_room(hook))
		begin(hook, hook->waiting[nr++], now_ns);
	hook->nr_waiting -= nr;
	memmove(hook->waiting, hook->waiting + nr, hook->nr_waiting * sizeof(*hook->waiting));
}

static void forget_waiting(struct alert_hook *hook)
{
	for (uint32_t i = 0; i < hook->nr_waiting; i++)
		close(hook->waiting[i]);
	hook->left_out += hook->nr_waiting;
	hook->nr_waiting = 0;
}

void alert_hook_change(struct alert_hook *hook, const struct service_hook *wanted)
{
	hook->wanted = *wanted;
	if (!wanted->command)
		forget_waiting(hook);
}

void alert_hook_add(struct alert_hook *hook, const char *json, size_t len)
{
	int file;

	if (!hook->wanted.command)
		return;
	file = hook->nr_waiting < ALERT_HOOK_MAX_WAITING ? make_file(json, len) : -ENOSPC;
	if (file < 0) {
		if (!hook->left_out++)
			log_warning("on-alert: more alerts come than '%s' can take; they are counted",
				    hook->wanted.command);
		return;
	}
	hook->waiting[hook->nr_waiting++] = file;
	begin_waiting(hook, time_now_ns());
}

static bool has_ended(struct alert_hook *hook, const struct running_hook *running)
{
	int status;

	if (waitpid(running->pid, &status, WNOHANG) != running->pid)
		return false;
	if (running->nr_signals || !status)
		return true;
	if (!hook->failed++)
		log_warning("on-alert: the command failed (%s %d); from now on that is counted",
			    WIFEXITED(status) ? "exit status" : "signal",
			    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return true;
}

static void end_late(struct alert_hook *hook, struct running_hook *running, uint64_t now_ns)
{
	char text[DURATION_TEXT_MAX];

	if (now_ns < running->end_ns)
		return;
	kill(-running->pid, running->nr_signals ? SIGKILL : SIGTERM);
	if (!running->nr_signals++ && !hook->ended++)
		log_warning("on-alert: the command was ended after %s; from now on that is counted",
			    duration_format(hook->wanted.timeout_ns, text));
	running->end_ns = now_ns + PATIENCE_NS;
}

void alert_hook_tick(struct alert_hook *hook, uint64_t now_ns)
{
	for (uint32_t i = 0; i < hook->nr_running;) {
		struct running_hook *running = &hook->running[i];

		if (!has_ended(hook, running)) {
			end_late(hook, running, now_ns);
			i++;
			continue;
		}
		/* What it has started goes with it, if it was too late. */
		if (running->nr_signals)
			kill(-running->pid, SIGKILL);
		*running = hook->running[--hook->nr_running];
	}
	begin_waiting(hook, now_ns);
}

uint64_t alert_hook_due(const struct alert_hook *hook)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t i = 0; i < hook->nr_running; i++)
		if (hook->running[i].end_ns < due_ns)
			due_ns = hook->running[i].end_ns;
	return due_ns;
}

void alert_hook_stop(struct alert_hook *hook)
{
	uint64_t end_ns = time_now_ns() + PATIENCE_NS;

	forget_waiting(hook);
	while (hook->nr_running && time_now_ns() < end_ns) {
		alert_hook_tick(hook, time_now_ns());
		poll(NULL, 0, 10);
	}
	for (uint32_t i = 0; i < hook->nr_running; i++) {
		kill(-hook->running[i].pid, SIGKILL);
		waitpid(hook->running[i].pid, NULL, 0);
	}
	hook->nr_running = 0;
}
