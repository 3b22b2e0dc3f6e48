/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Made-up servers, each with an event loop of another kind in the function L,
 * which M has called.
 */
#ifndef _PGUARD_SERVERS_H
#define _PGUARD_SERVERS_H

#include <errno.h>
#include <sys/syscall.h>

#include "simulated.h"

enum {
	PID = 100,
	SLEEP_NS = 1000,
};

#define BASE UINT64_C(0x555500000000)

/* What was handled: the units that are to be found, as letters. */
static char handled[1 << 16];

static inline void note(char unit)
{
	size_t length = strlen(handled);

	handled[length] = unit;
	handled[length + 1] = '\0';
}

/* The thread's last unit has no end. */
static inline void cut_last(void)
{
	handled[strlen(handled) - 1] = '\0';
}

/* A thread in the loop's function L, which M has called. */
static inline void begin(struct thread *t, struct sim *sim, uint32_t tid)
{
	*handled = '\0';
	thread_start(t, sim, PID, tid, 1, BASE);
	call_from(t, 'M', BASE + SIM_LIBRARY + 8);
	call(t, 'L', 0);
}

/* Wait for one event, handle it. */
static inline void plain_iteration(struct thread *t, bool is_long)
{
	call(t, 'W', 1 | LOOP);
	wait_call(t, 1, SYS_read, 'W', 5, 1, SLEEP_NS);
	ret(t);
	call(t, 'A', 2 | LOOP);
	leaf(t, 'B', 0);
	if (is_long)
		leaf(t, 'C', 1);
	ret(t);
	note(is_long ? 'c' : 'b');
}

static inline void run_plain(struct sim *sim)
{
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 100; i++)
		plain_iteration(&t, i >= 50);
	thread_end(&t);
	cut_last();
	sim_finish(sim);
}

/*
 * As redis: L calls P, which waits in W, and then calls a handler for each
 * event, indirectly and in a loop.  F writes out all replies; T runs timers.
 */
static inline void handle(struct thread *t, int what)
{
	call(t, 'H', 3 | INDIRECT | LOOP);
	call(t, 'R', 0);
	system_call(t, SYS_read, 10, 30);
	ret(t);
	call(t, what, 1 | INDIRECT);
	leaves(t, "abcdef", 0);
	ret(t);
	ret(t);
	note((char)what);
}

static inline void iterate(struct thread *t, const char *events, bool with_timer)
{
	call(t, 'P', 0 | LOOP);
	call(t, 'W', 1);
	wait_call(t, 1, SYS_epoll_wait, 'P', 3, 1, SLEEP_NS);
	ret(t);
	if (!*events)
		note('T');
	for (; *events; events++)
		handle(t, *events);
	if (with_timer) {
		call(t, 'T', 4);
		leaf(t, 'U', 0 | INDIRECT | LOOP);
		ret(t);
	}
	ret(t);
	leaf(t, 'F', 5 | LOOP);
}

static inline void run_dispatch(struct sim *sim)
{
	static const char *const mixes[] = { "G", "GS", "SG", "SGS", "SSGS", "" };
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 120; i++)
		iterate(&t, mixes[i % 6], i % 6 == 5 || i % 7 == 3);
	call(&t, 'P', 0 | LOOP);
	call(&t, 'W', 1);
	syscall_enter(&t, SYS_epoll_wait);
	thread_end(&t);
	sim_finish(sim);
}

/* As libevent: L itself dispatches. */
static inline void run_flat(struct sim *sim)
{
	static const char *const mixes[] = { "G", "GS", "SG", "SGS", "SSGS" };
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 200; i++) {
		call(&t, 'W', 1 | INDIRECT | LOOP);
		wait_call(&t, 1, SYS_epoll_wait, 'W', 3, 1, SLEEP_NS);
		ret(&t);
		for (const char *event = mixes[i % 5]; *event; event++)
			handle(&t, *event);
	}
	thread_end(&t);
	cut_last();
	sim_finish(sim);
}

/* Events that begin with no system call: the handlers' entries distinguish them. */
static inline void handle_silently(struct thread *t, int what)
{
	call(t, what, 3 | INDIRECT | LOOP);
	leaves(t, "abcdefgh", 0);
	ret(t);
	note((char)what);
}

static inline void run_silent(struct sim *sim)
{
	static const char *const mixes[] = { "G", "GS", "SG", "SGS", "SSGS" };
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 100; i++) {
		call(&t, 'P', 0 | LOOP);
		call(&t, 'W', 1);
		wait_call(&t, 1, SYS_epoll_wait, 'P', 3, 1, SLEEP_NS);
		ret(&t);
		for (const char *event = mixes[i % 5]; *event; event++)
			handle_silently(&t, *event);
		ret(&t);
		leaf(&t, 'F', 5 | LOOP);
	}
	call(&t, 'P', 0 | LOOP);
	call(&t, 'W', 1);
	syscall_enter(&t, SYS_epoll_wait);
	sim_finish(sim);
}

/*
 * A worker takes jobs from a queue by Q, which waits in W only if there is
 * none.  A job begins with a read (if @reads) in R.
 */
static inline void run_worker(struct sim *sim, bool reads)
{
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 100; i++) {
		call(&t, 'Q', 1 | LOOP);
		leaf(&t, 'm', 0);
		if (i % 2 == 0) {
			call(&t, 'W', 1);
			wait_call(&t, 1, SYS_futex, 'Q', 0, 0, SLEEP_NS);
			ret(&t);
		}
		leaf(&t, 'u', 2);
		ret(&t);
		call(&t, 'J', 2 | LOOP);
		call(&t, 'R', 0);
		if (reads)
			system_call(&t, SYS_read, 9, 100);
		ret(&t);
		leaves(&t, i % 3 ? "abcdefg" : "abcdefh", 1);
		ret(&t);
		note(i % 3 ? 'g' : 'h');
	}
	call(&t, 'Q', 1 | LOOP);
	leaf(&t, 'm', 0);
	call(&t, 'W', 1);
	wait_known(&t, 1, SYS_futex, 'Q');
	syscall_enter(&t, SYS_futex);
	sim_finish(sim);
}

/*
 * As a worker of a web server: what it takes from the queue is a connection,
 * J, with one to three requests, each handled by P; or one to be closed by Z,
 * which is hardly work.
 */
static inline void serve(struct thread *t, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		call(t, 'P', 1 | LOOP);
		for (uint32_t j = 0; j < 20; j++)
			leaves(t, i % 2 ? "abcdefh" : "abcdefg", 1);
		/* What the read returns says if the next one is there already. */
		system_call(t, SYS_read, 9, i + 1 < nr ? 50 : -EAGAIN);
		ret(t);
		note(i % 2 ? 'h' : 'g');
	}
}

static inline void run_requests(struct sim *sim)
{
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 120; i++) {
		call(&t, 'Q', 1 | LOOP);
		leaf(&t, 'm', 0);
		if (i % 3 == 0) {
			call(&t, 'W', 1);
			wait_call(&t, 1, SYS_futex, 'Q', 0, 0, SLEEP_NS);
			ret(&t);
		}
		ret(&t);
		call(&t, 'J', 2 | LOOP);
		if (i % 4 == 3)
			leaves(&t, "Zzzzzzzz", 0);
		else
			serve(&t, 1 + i % 3);
		ret(&t);
	}
	call(&t, 'Q', 1 | LOOP);
	call(&t, 'W', 1);
	wait_known(&t, 1, SYS_futex, 'Q');
	syscall_enter(&t, SYS_futex);
	sim_finish(sim);
}

/*
 * A thread of one connection: D reads a request by N, a header and what
 * follows it, and handles it in C.  It polls only if nothing is there yet.
 */
static inline void receive(struct thread *t, int64_t value)
{
	call(t, 'V', 0);
	wait_call(t, 1, SYS_recvfrom, 'D', 9, value, 0);
	ret(t);
}

static inline void read_request(struct thread *t, bool is_late)
{
	call(t, 'N', 0);
	if (is_late) {
		receive(t, -EAGAIN);
		call(t, 'K', 1);
		wait_call(t, 1, SYS_poll, 'D', 9, 1, SLEEP_NS);
		ret(t);
	}
	receive(t, 4);
	receive(t, 20);
	ret(t);
}

static inline void run_connection(struct sim *sim)
{
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 100; i++) {
		call(&t, 'D', 1 | LOOP);
		read_request(&t, i % 3 == 0);
		call(&t, 'C', 1);
		leaves(&t, i % 2 ? "abcdefgh" : "abcdefgs", 0);
		ret(&t);
		ret(&t);
		note(i % 2 ? 'g' : 's');
	}
	call(&t, 'D', 1 | LOOP);
	call(&t, 'N', 0);
	receive(&t, -EAGAIN);
	call(&t, 'K', 1);
	syscall_enter(&t, SYS_poll);
	sim_finish(sim);
}

/*
 * A process for each connection: A accepts, P handles the request, and C waits
 * for the client to close.
 */
static inline void run_process(struct sim *sim)
{
	struct thread t;

	sim_image(sim, 1, BASE);
	begin(&t, sim, 7);
	for (uint32_t i = 0; i < 100; i++) {
		call(&t, 'A', 1 | LOOP);
		wait_call(&t, 1, SYS_accept4, 'A', 3, 8, SLEEP_NS);
		ret(&t);
		call(&t, 'P', 2 | LOOP);
		leaves(&t, i % 2 ? "abcdefgh" : "abcdefgs", 0);
		ret(&t);
		call(&t, 'C', 3 | LOOP);
		leaf(&t, 'R', 0);
		wait_call(&t, 1, SYS_poll, 'C', 8, 1, SLEEP_NS);
		leaf(&t, 'z', 1);
		ret(&t);
		note(i % 2 ? 'g' : 's');
		note('z');
	}
	call(&t, 'A', 1 | LOOP);
	wait_known(&t, 1, SYS_accept4, 'A');
	syscall_enter(&t, SYS_accept4);
	sim_finish(sim);
}

#endif /* _PGUARD_SERVERS_H */
