// SPDX-License-Identifier: GPL-2.0
/* The command for alerts: what it gets, how many there are at once, and for how long. */

#include "app/serve/alert-hook.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "tap.h"

#define LONG_NS (60 * NSEC_PER_SEC)

static char directory[] = "/tmp/test-hook-XXXXXX";
static struct alert_hook hook;
static unsigned int nr_said;

static void count(enum log_level level, const char *line)
{
	(void)level;
	diag("%s", line);
	nr_said++;
}

static void begin(const char *command, bool is_shell, uint64_t timeout_ns, uint32_t most)
{
	hook = (struct alert_hook){
		.wanted = { (char *)command, is_shell, timeout_ns, most },
	};
	nr_said = 0;
}

static void add(const char *json)
{
	alert_hook_add(&hook, json, strlen(json));
}

/* Until none runs, for at most a minute. */
static void wait_all(void)
{
	uint64_t end_ns = time_now_ns() + LONG_NS;

	while (hook.nr_running && time_now_ns() < end_ns) {
		poll(NULL, 0, 5);
		alert_hook_tick(&hook, time_now_ns());
	}
}

static bool has_text(const char *name, const char *expected)
{
	char path[128], text[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	unlink(path);
	return !strcmp(text, expected);
}

static void input(void)
{
	char command[256];

	snprintf(command, sizeof(command), "/bin/cp  /dev/stdin\t%s/a", directory);
	begin(command, false, LONG_NS, 4);
	add("{\"kind\":\"late\"}");
	wait_all();
	ok(has_text("a", "{\"kind\":\"late\"}") &&
		   hook.begun == 1 && !hook.failed, "it gets the JSON, and its words");
	snprintf(command, sizeof(command), "x=$(cat); echo \"<$x>\" > %s/a", directory);
	begin(command, true, LONG_NS, 4);
	add("$HOME");
	wait_all();
	ok(has_text("a", "<$HOME>\n"), "a line for the shell");
	snprintf(command, sizeof(command), "/bin/cp /dev/stdin %s/a;id", directory);
	begin(command, false, LONG_NS, 4);
	add("x");
	wait_all();
	ok(has_text("a;id", "x"), "without the shell nothing is one's end");
}

static void failures(void)
{
	begin("/nowhere/command", false, LONG_NS, 4);
	for (int i = 0; i < 10; i++)
		add("x");
	ok(hook.failed == 10 && nr_said == 1 && !hook.nr_running && !hook.nr_waiting,
	   "one that is not there is reported once, and counted");
	begin("/bin/false", false, LONG_NS, 4);
	for (int i = 0; i < 10; i++)
		add("x");
	wait_all();
	ok(hook.failed == 10 && hook.begun == 10 && nr_said == 1, "so is one that fails");
	begin(NULL, false, LONG_NS, 4);
	add("x");
	ok(!hook.begun && !hook.nr_waiting, "without a command nothing is done");
}

static void bounds(void)
{
	uint32_t most = 0;

	begin("sleep 0.05", true, LONG_NS, 3);
	for (int i = 0; i < 20; i++)
		add("x");
	while (hook.nr_running) {
		most = hook.nr_running > most ? hook.nr_running : most;
		poll(NULL, 0, 5);
		alert_hook_tick(&hook, time_now_ns());
	}
	ok(most == 3 && hook.begun == 20 && !hook.left_out, "three at once, the others wait");

	begin("/bin/sleep 1000", false, LONG_NS, 2);
	for (int i = 0; i < 2 + ALERT_HOOK_MAX_WAITING + 5; i++)
		add("x");
	ok(hook.nr_running == 2 && hook.nr_waiting == ALERT_HOOK_MAX_WAITING && hook.left_out == 5 &&
		   nr_said == 1, "what has no room to wait is counted");
	alert_hook_change(&hook, &(struct service_hook){ .most = 1, .timeout_ns = 1 });
	ok(hook.nr_running == 2 && !hook.nr_waiting && hook.left_out == 5 + ALERT_HOOK_MAX_WAITING,
	   "with another configuration those that run go on");
	alert_hook_stop(&hook);
	ok(!hook.nr_running, "until the end");
}

/* The process whose number is in this file; 0: none. */
static int number_in(const char *name)
{
	char path[128];
	int ret = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%d", &ret) != 1)
		ret = 0;
	if (file)
		fclose(file);
	unlink(path);
	return ret;
}

static void hanging(void)
{
	uint64_t begin_ns = time_now_ns();
	char command[256];
	int child;

	/* It ignores SIGTERM, and so does what it has started. */
	snprintf(command, sizeof(command),
		 "trap '' TERM; sleep 1000 & echo $! > %s/pid; while :; do sleep 1; done", directory);
	begin(command, true, NSEC_PER_SEC, 1);
	add("x");
	ok(alert_hook_due(&hook) <= time_now_ns() + NSEC_PER_SEC, "it is known when it has to end");
	wait_all();
	child = number_in("pid");
	for (int i = 0; i < 1000 && !kill(child, 0); i++)
		poll(NULL, 0, 10);
	ok(hook.ended == 1 && !hook.failed && nr_said == 1 &&
		   time_now_ns() - begin_ns < 30 * NSEC_PER_SEC, "one that hangs is ended");
	ok(child && kill(child, 0), "with what it has started");
	ok(alert_hook_due(&hook) == UINT64_MAX, "then nothing is due");
}

int main(void)
{
	plan(14);
	log_set_writer(count, true);
	if (!mkdtemp(directory))
		return 1;
	input();
	failures();
	bounds();
	hanging();
	rmdir(directory);
	return tap_status();
}
