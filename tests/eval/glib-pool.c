// SPDX-License-Identifier: GPL-2.0
/*
 * A server that hands its work over by GLib's pools.
 *
 * usage: glib-pool pool|task PORT
 *
 * A client of 127.0.0.1 sends lines, one at a time, "WORD NUMBER".  The main loop reads each, a thread
 * computes for NUMBER us, and the main loop answers "GIVER WORKER\n", the ids of both threads.  The work
 * is pushed to a GThreadPool, whose thread has it answered by an idle source; or it is a GTask.
 */
#include <arpa/inet.h>
#include <err.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../vm/compute.h"

enum { LINE_BYTES = 64, NR_WORKERS = 2 };

struct job {
	int client;
	long us;
	int giver;
	int worker;
};

static GThreadPool *pool;

static noinline void answer(struct job *job)
{
	char line[LINE_BYTES];
	int length = snprintf(line, sizeof(line), "%d %d\n", job->giver, job->worker);

	if (write(job->client, line, (size_t)length) != length)
		warn("write");
	g_free(job);
}

static noinline void work(struct job *job)
{
	job->worker = gettid();
	compute(job->us);
}

static gboolean answer_idle(gpointer job)
{
	answer(job);
	return G_SOURCE_REMOVE;
}

static void work_pooled(gpointer job, gpointer unused)
{
	(void)unused;
	work(job);
	g_idle_add(answer_idle, job);
}

static void work_task(GTask *task, gpointer source, gpointer job, GCancellable *cancellable)
{
	(void)source, (void)cancellable;
	work(job);
	g_task_return_boolean(task, TRUE);
}

static void answer_task(GObject *source, GAsyncResult *result, gpointer job)
{
	(void)source, (void)result;
	answer(job);
}

static void give(struct job *job)
{
	GTask *task;

	if (pool) {
		g_thread_pool_push(pool, job, NULL);
		return;
	}
	task = g_task_new(NULL, NULL, answer_task, job);
	g_task_set_task_data(task, job, NULL);
	g_task_run_in_thread(task, work_task);
	g_object_unref(task);
}

static gboolean take_line(gint fd, GIOCondition condition, gpointer unused)
{
	char line[LINE_BYTES];
	ssize_t length = read(fd, line, sizeof(line) - 1);
	struct job *job;

	(void)condition, (void)unused;
	if (length <= 0) {
		close(fd);
		return G_SOURCE_REMOVE;
	}
	line[length] = 0;
	job = g_new0(struct job, 1);
	job->client = fd;
	job->giver = gettid();
	if (sscanf(line, "%*s %ld", &job->us) != 1)
		errx(1, "what is '%s'?", line);
	give(job);
	return G_SOURCE_CONTINUE;
}

static gboolean take_client(gint listener, GIOCondition condition, gpointer unused)
{
	int fd = accept(listener, NULL, NULL);

	(void)condition, (void)unused;
	if (fd >= 0)
		g_unix_fd_add(fd, G_IO_IN, take_line, NULL);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (argc != 3)
		errx(2, "usage: glib-pool pool|task PORT");
	at.sin_port = htons((uint16_t)atoi(argv[2]));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 64))
		err(1, "listen");
	if (!strcmp(argv[1], "pool"))
		pool = g_thread_pool_new(work_pooled, NULL, NR_WORKERS, FALSE, NULL);
	g_unix_fd_add(listener, G_IO_IN, take_client, NULL);
	g_main_loop_run(g_main_loop_new(NULL, FALSE));
}
