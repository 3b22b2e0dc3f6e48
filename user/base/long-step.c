// SPDX-License-Identifier: GPL-2.0

#include "base/long-step.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/log.h"

enum { PERIOD_S = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

/* Of the step at hand, under the lock. */
static const char *what_now;
static unsigned int depth;
static unsigned int step; /* its number */
static bool has_thread;

/* Wait for the end of this step, or print that it lasts; the lock is held. */
static void watch(unsigned int number)
{
	uint32_t seconds = 0;
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	while (what_now && step == number) {
		at.tv_sec += PERIOD_S;
		while (what_now && step == number && !pthread_cond_timedwait(&changed, &lock, &at))
			;
		seconds += PERIOD_S;
		if (what_now && step == number)
			log_progress("%s: %" PRIu32 " s", what_now, seconds);
	}
}

static void *run(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		if (what_now)
			watch(step);
		else
			pthread_cond_wait(&changed, &lock);
	}
	return NULL;
}

/* Signals are for the others.  Without it nothing is printed. */
static void start(void)
{
	pthread_condattr_t attr;
	sigset_t all, before;
	pthread_t thread;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, NULL, run, NULL))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	has_thread = true;
}

void long_step_begin(const char *what)
{
	pthread_mutex_lock(&lock);
	if (!has_thread)
		start();
	if (!depth++) {
		what_now = what;
		step++;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
}

void long_step_end(void)
{
	pthread_mutex_lock(&lock);
	if (!--depth) {
		what_now = NULL;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
}
