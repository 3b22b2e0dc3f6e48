// SPDX-License-Identifier: GPL-2.0

#include "base/long-step.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"

/* Nothing is silent for two seconds, even where a thread comes late. */
#define PERIOD_NS (3 * NSEC_PER_SEC / 2)
/* Steps that are shorter are not named, even after others like them. */
#define SHORT_NS (NSEC_PER_SEC / 5)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

/* Of the step at hand, under the lock. */
static const char *what_now;
static unsigned int depth;
static unsigned int step; /* its number */
static uint64_t first_ns; /* when the first one began */
static bool has_thread;

/* Until then, or the end of this step; the lock is held. */
static void wait_until(uint64_t until_ns, unsigned int number)
{
	const struct timespec at = {
		.tv_sec = (time_t)(until_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(until_ns % NSEC_PER_SEC),
	};

	while (what_now && step == number && !pthread_cond_timedwait(&changed, &lock, &at))
		;
}

/* Wait for the end of this step, or print that it lasts; the lock is held. */
static void watch(unsigned int number)
{
	uint64_t begin_ns = time_now_ns(), printed_ns = first_ns;

	while (what_now && step == number) {
		uint64_t last_ns = log_last_ns(), due_ns = begin_ns + SHORT_NS;

		if (last_ns < printed_ns)
			last_ns = printed_ns;
		if (due_ns < last_ns + PERIOD_NS)
			due_ns = last_ns + PERIOD_NS;
		if (time_now_ns() < due_ns) {
			wait_until(due_ns, number);
			continue;
		}
		/* Where no progress is wanted it is not printed. */
		printed_ns = time_now_ns();
		log_progress("%s: %" PRIu64 " s", what_now,
			     (printed_ns - begin_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC);
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
	first_ns = time_now_ns();
	has_thread = true;
}

void long_step_begin(const char *what)
{
	pthread_mutex_lock(&lock);
	/* Who prints nothing, as a service, has no thread for it that wakes up each time. */
	if (!has_thread && log_wants_progress())
		start();
	if (!depth++) {
		what_now = what;
		step++;
		if (has_thread)
			pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
}

void long_step_end(void)
{
	pthread_mutex_lock(&lock);
	if (!--depth) {
		what_now = NULL;
		if (has_thread)
			pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
}
