// SPDX-License-Identifier: GPL-2.0

#include "turns.h"

#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { STACK = 32 * 1024 };

struct thread {
	pthread_t id;
	sem_t turn;
};

static struct thread *threads;
static uint32_t nr_threads;

/* Of the thread whose turn it is; NULL: to end. */
static void (*task)(void *argument);
static void *task_argument;
static sem_t is_done;

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		;
}

static void *run(void *argument)
{
	struct thread *self = argument;

	for (;;) {
		wait_for(&self->turn);
		if (!task)
			return NULL;
		task(task_argument);
		sem_post(&is_done);
	}
}

/* Without guard pages, of which there would be too many mappings. */
void turns_begin(uint32_t nr)
{
	pthread_attr_t attr;

	threads = calloc(nr, sizeof(*threads));
	nr_threads = nr;
	if (!threads || sem_init(&is_done, 0, 0) || pthread_attr_init(&attr) ||
	    pthread_attr_setstacksize(&attr, STACK) || pthread_attr_setguardsize(&attr, 0))
		errx(1, "threads");
	for (uint32_t i = 0; i < nr; i++)
		if (sem_init(&threads[i].turn, 0, 0) ||
		    pthread_create(&threads[i].id, &attr, run, &threads[i]))
			errx(1, "thread %" PRIu32, i);
	pthread_attr_destroy(&attr);
}

void turns_take(uint32_t thread, void (*what)(void *argument), void *argument)
{
	task = what;
	task_argument = argument;
	sem_post(&threads[thread].turn);
	wait_for(&is_done);
}

void turns_end(void)
{
	task = NULL;
	for (uint32_t i = 0; i < nr_threads; i++)
		sem_post(&threads[i].turn);
	for (uint32_t i = 0; i < nr_threads; i++)
		pthread_join(threads[i].id, NULL);
	free(threads);
}
