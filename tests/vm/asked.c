// SPDX-License-Identifier: GPL-2.0
/*
 * A program with a window, as it were: it connects to who shows it, and is spoken to first.
 *
 * usage: asked SHOWER STORE
 *
 * Both are sockets' paths.  By the first come lines, one at a time, "WORD NUMBER":
 *
 *	draw	computes for NUMBER us, and writes "drawn\n"
 *	ask	writes "?\n" first, and waits for an answer
 *	sync	draws, writes "?\n" and waits for an answer
 *	frame	writes that 20 ms later, by a timer
 *	blink	draws, and once more, "blink\n", NUMBER us later
 *	quiet	computes and writes nothing
 *	fetch	writes "fetch\n" to the store, which answers in parts up to "end\n", again and again,
 *		NUMBER times, and draws
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "compute.h"

enum { SHOWER, STORE, LINE_BYTES = 64, FRAME_MS = 20 };

static struct pollfd at[2];
static const char *due;
static int due_ms = -1;
static long fetches;

static int connected(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		err(1, "%s", path);
	return fd;
}

static void say(int to, const char *text)
{
	if (write(at[to].fd, text, strlen(text)) < 0)
		err(1, "write");
}

static void hear(int from, char *line)
{
	ssize_t len = read(at[from].fd, line, LINE_BYTES - 1);

	if (len <= 0)
		exit(0);
	line[len] = 0;
}

static void say_later(const char *text, int ms)
{
	due = text;
	due_ms = ms;
}

static void ask(void)
{
	char line[LINE_BYTES];

	say(SHOWER, "?\n");
	hear(SHOWER, line);
}

static void fetch(void)
{
	if (fetches > 0) {
		fetches--;
		say(STORE, "fetch\n");
	}
}

static noinline void show(const char *line)
{
	char word[LINE_BYTES];
	long number;

	if (sscanf(line, "%63s %ld", word, &number) != 2)
		errx(1, "what is '%s'?", line);
	if (!strcmp(word, "fetch")) {
		fetches = number;
		number = 0;
		fetch();
	}
	if (!strcmp(word, "ask"))
		ask();
	if (!strcmp(word, "blink"))
		say_later("blink\n", (int)(number / 1000));
	else
		compute(number);
	if (!strcmp(word, "frame"))
		say_later("drawn\n", FRAME_MS);
	else if (strcmp(word, "quiet"))
		say(SHOWER, "drawn\n");
	if (!strcmp(word, "sync"))
		ask();
}

static noinline void turn(void)
{
	int nr = poll(at, 2, due_ms);
	char line[LINE_BYTES];

	if (nr < 0)
		err(1, "poll");
	if (!nr) {
		due_ms = -1;
		say(SHOWER, due);
		return;
	}
	if (at[SHOWER].revents) {
		hear(SHOWER, line);
		show(line);
	}
	if (at[STORE].revents) {
		hear(STORE, line);
		if (strstr(line, "end"))
			fetch();
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: asked SHOWER STORE");
	for (int i = 0; i < 2; i++) {
		at[i].fd = connected(argv[i + 1]);
		at[i].events = POLLIN;
	}
	for (;;)
		turn();
}
