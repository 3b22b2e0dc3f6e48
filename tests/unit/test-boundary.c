// SPDX-License-Identifier: GPL-2.0
/*
 * Which waits boundary_find() takes for an event loop's own, on stacks made up
 * after those of real servers.  Each case says what a thread did, in its order,
 * and then of every place whether the module would see a boundary there.
 */

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "tap.h"
#include "train/loops/boundary.h"

enum {
	MAX_PLACES = 200,
	MAX_WAITS = 20000,
	MAX_FRAMES = 32,
	MAX_THREADS = 32,
	US = 1000,
};

static struct boundary_place places[MAX_PLACES];
static struct boundary_frame frames[MAX_PLACES][MAX_FRAMES];
static char specs[MAX_PLACES][256];
static uint32_t nr_places;
static struct boundary_wait waits[MAX_WAITS];
static size_t nr_waits;
static uint64_t clocks[MAX_THREADS];
static struct empty_poll_thread threads[MAX_THREADS];
static struct boundary_context *contexts;
static uint32_t nr_contexts;
static bool is_forked; /* all threads are main threads, of processes that fork */

static uint64_t hash(const char *text, size_t size)
{
	uint64_t value = 5381;

	while (size--)
		value = value * 33 + (unsigned char)*text++;
	return value;
}

/*
 * Make the stack that @spec describes, from the thread's start inwards: "fn:2 g h"
 * is h called by g called from place 2 in fn.
 */
static void make_stack(struct boundary_place *place, struct boundary_frame *ret, const char *spec)
{
	uint64_t slot = 0x7f0000000000 + 0x100000ull * (is_forked ? 1 : place->tid);
	struct boundary_frame outwards[MAX_FRAMES];
	uint32_t nr = 0;

	while (*spec) {
		size_t word = strcspn(spec, " "), name = strcspn(spec, ": ");
		unsigned long site = spec[name] == ':' ? strtoul(spec + name + 1, NULL, 10) : 1;
		uint64_t id = hash(spec, name);

		outwards[nr].function = 0x550000000000 + (id & 0xfffffff) * 0x1000;
		if (!strncmp(spec, "libc_", 5)) /* the start code is in one place */
			outwards[nr].function = 0x7e0000000000 + (id & 0xff) * 0x100;
		outwards[nr].pc = outwards[nr].function + 16 * site + 5;
		slot -= 0x20 + 0x10 * (id % 9);
		outwards[nr++].slot = slot;
		spec += word + strspn(spec + word, " ");
	}
	for (uint32_t i = 0; i < nr; i++)
		ret[i] = outwards[nr - 1 - i];
	place->sp = ret[0].slot;
	ret[0].slot = 0;
	place->nr_frames = nr;
	place->frames = ret;
}

static uint64_t lock; /* that is waited for in new places */

static uint32_t find_place(uint32_t tid, uint32_t syscall, const char *spec)
{
	for (uint32_t i = 0; i < nr_places; i++)
		if (places[i].tid == tid && places[i].syscall == syscall && !strcmp(specs[i], spec))
			return i;
	places[nr_places] = (struct boundary_place){
		.tid = tid,
		.pid = 1,
		.syscall = syscall,
		.lock = syscall == SYS_futex ? lock : 0,
	};
	make_stack(&places[nr_places], frames[nr_places], spec);
	snprintf(specs[nr_places], sizeof(specs[0]), "%s", spec);
	return nr_places++;
}

static void add_wait(uint32_t tid, uint32_t syscall, const char *spec, uint64_t work_us,
		     uint64_t blocked_us, bool is_empty)
{
	struct boundary_wait *wait = &waits[nr_waits++];

	clocks[tid] += work_us * US;
	*wait = (struct boundary_wait){
		.place = find_place(tid, syscall, spec),
		.enter_ns = clocks[tid],
		.blocked_ns = blocked_us * US,
		.is_empty = is_empty,
	};
	empty_poll_follow(&threads[tid], wait);
	clocks[tid] += blocked_us * US + 500;
}

/* The thread works for @work_us and then waits, asleep for @blocked_us. */
static void wait_in(uint32_t tid, uint32_t syscall, const char *spec, uint64_t work_us,
		    uint64_t blocked_us)
{
	add_wait(tid, syscall, spec, work_us, blocked_us, false);
}

/* The same, for nothing. */
static void wait_in_vain(uint32_t tid, uint32_t syscall, const char *spec, uint64_t work_us,
			 uint64_t blocked_us)
{
	add_wait(tid, syscall, spec, work_us, blocked_us, true);
}

/* The same for a lock at @address. */
static void wait_for(uint64_t address, uint32_t tid, const char *spec, uint64_t blocked_us,
		     bool is_empty)
{
	lock = address;
	add_wait(tid, SYS_futex, spec, 10, blocked_us, is_empty);
	lock = 0;
}

static void begin(const char *name)
{
	diag("%s", name);
	nr_places = 0;
	nr_waits = 0;
	for (int i = 0; i < MAX_THREADS; i++) {
		clocks[i] = 1000000;
		empty_poll_begin(&threads[i], (uint32_t)i);
	}
}

static void find(void)
{
	free(contexts);
	if (boundary_find(places, nr_places, waits, nr_waits, &contexts, &nr_contexts)) {
		printf("Bail out! no memory\n");
		exit(1);
	}
}

/* What the module compares: the call, and one word of the stack. */
static uint32_t loop_at(uint32_t tid, uint32_t syscall, const char *spec)
{
	const struct boundary_place *place = &places[find_place(tid, syscall, spec)];

	for (uint32_t i = 0; i < nr_contexts; i++)
		for (uint32_t k = 1; k < place->nr_frames; k++)
			if (contexts[i].syscall == syscall &&
			    contexts[i].return_address == place->frames[k].pc &&
			    contexts[i].distance == place->frames[k].slot - place->sp)
				return contexts[i].loop_id;
	return 0;
}

static void is_boundary(uint32_t tid, uint32_t syscall, const char *spec)
{
	if (!ok(loop_at(tid, syscall, spec), "boundary: %s", spec))
		for (uint32_t i = 0; i < nr_contexts; i++)
			diag("context %s frame %u", specs[contexts[i].place], contexts[i].frame);
}

static void is_inside(uint32_t tid, uint32_t syscall, const char *spec)
{
	if (!ok(!loop_at(tid, syscall, spec), "in mid-unit: %s", spec))
		for (uint32_t i = 0; i < nr_contexts; i++)
			diag("context %s frame %u", specs[contexts[i].place], contexts[i].frame);
}

#define REDIS_MAIN "_start libc_start libc_call_main main aeMain "
#define REDIS_EPOLL REDIS_MAIN "aeProcessEvents:1 epoll_wait"
#define REDIS_READ REDIS_MAIN "aeProcessEvents:2 readQuery connRead read"
#define REDIS_BIO "clone start_thread bioJobs cond_wait futex_wait"

static void test_redis(bool loaded)
{
	begin(loaded ? "an epoll loop that never sleeps" : "an epoll loop");
	wait_in(1, SYS_epoll_wait, REDIS_EPOLL, 0, 1000);
	for (uint32_t bio = 2; bio < 5; bio++)
		wait_in(bio, SYS_futex, REDIS_BIO, 0, 1000);
	for (int i = 0; i < 200; i++) {
		wait_in(1, SYS_epoll_wait, REDIS_EPOLL, 15, loaded || i % 3 ? 0 : 30);
		for (int client = 0; client < 1 + i % 4; client++)
			wait_in(1, SYS_read, REDIS_READ, client ? 12 : 1, 0);
	}
	find();
	is_boundary(1, SYS_epoll_wait, REDIS_EPOLL);
	is_inside(1, SYS_read, REDIS_READ);
	is_boundary(3, SYS_futex, REDIS_BIO);
	ok(loop_at(2, SYS_futex, REDIS_BIO) == loop_at(4, SYS_futex, REDIS_BIO) &&
	   loop_at(2, SYS_futex, REDIS_BIO) != loop_at(1, SYS_epoll_wait, REDIS_EPOLL),
	   "threads that run the same loop share its number, others have another");
}

#define NGINX "_start libc_start libc_call_main main master spawn worker_cycle "
#define NGINX_EPOLL NGINX "process_events:1 epoll_process:1 epoll_wait"
#define NGINX_RECV NGINX "process_events:1 epoll_process:2 wait_request unix_recv recv"
#define NGINX_READ NGINX "process_events:1 epoll_process:2 wait_request handler copy pread64"
#define NGINX_ACCEPT NGINX "process_events:2 process_posted event_accept accept4"
#define NGINX_MASTER "_start libc_start libc_call_main main master:3 sigsuspend"

static void test_nginx(void)
{
	is_forked = true;
	begin("workers that their master forked, all idle");
	wait_in(1, SYS_rt_sigsuspend, NGINX_MASTER, 0, 1000);
	wait_in(2, SYS_epoll_wait, NGINX_EPOLL, 0, 1000);
	wait_in(3, SYS_epoll_wait, NGINX_EPOLL, 0, 1000);
	find();
	is_boundary(1, SYS_rt_sigsuspend, NGINX_MASTER);
	is_boundary(3, SYS_epoll_wait, NGINX_EPOLL);

	begin("handlers called by the function that calls epoll_wait, and by another");
	wait_in(1, SYS_rt_sigsuspend, NGINX_MASTER, 0, 1000);
	for (uint32_t worker = 2; worker < 4; worker++) {
		wait_in(worker, SYS_epoll_wait, NGINX_EPOLL, 0, 1000);
		for (int i = 0; i < 50; i++) {
			wait_in(worker, SYS_epoll_wait, NGINX_EPOLL, 20, i % 2 ? 100 : 0);
			wait_in(worker, SYS_accept4, NGINX_ACCEPT, 2, 0);
			wait_in(worker, SYS_epoll_wait, NGINX_EPOLL, 20, 50);
			wait_in(worker, SYS_recvfrom, NGINX_RECV, 2, 0);
			wait_in(worker, SYS_pread64, NGINX_READ, 30, i % 10 ? 0 : 3000);
		}
	}
	find();
	is_boundary(2, SYS_epoll_wait, NGINX_EPOLL);
	is_inside(2, SYS_recvfrom, NGINX_RECV);
	is_inside(2, SYS_pread64, NGINX_READ);
	is_inside(3, SYS_accept4, NGINX_ACCEPT);
	is_boundary(1, SYS_rt_sigsuspend, NGINX_MASTER);
	is_forked = false;
}

#define EVENT "clone start_thread worker event_base_loop"
#define EVENT_EPOLL EVENT ":1 epoll_dispatch epoll_wait"
#define EVENT_READ EVENT ":2 process_active event_handler drive_machine tcp_read read"
#define EVENT_LOCK EVENT ":2 process_active event_handler drive_machine mutex_lock lll_lock_wait"

static void test_memcached(void)
{
	begin("a library's loop, with a contended lock in some units");
	for (uint32_t worker = 1; worker < 5; worker++)
		wait_in(worker, SYS_epoll_wait, EVENT_EPOLL, 0, 1000);
	for (int i = 0; i < 300; i++) {
		uint32_t worker = 1 + i % 2;

		wait_in(worker, SYS_epoll_wait, EVENT_EPOLL, 10, i % 2 ? 40 : 0);
		wait_in(worker, SYS_read, EVENT_READ, 2, 0);
		if (i % 4 == 0)
			wait_in(worker, SYS_futex, EVENT_LOCK, 3, 200);
		wait_in(worker, SYS_read, EVENT_READ, 8, 0);
	}
	find();
	is_boundary(1, SYS_epoll_wait, EVENT_EPOLL);
	is_boundary(4, SYS_epoll_wait, EVENT_EPOLL);
	is_inside(1, SYS_read, EVENT_READ);
	is_inside(1, SYS_futex, EVENT_LOCK);
	ok(loop_at(1, SYS_epoll_wait, EVENT_EPOLL) == loop_at(4, SYS_epoll_wait, EVENT_EPOLL),
	   "an idle worker belongs to the loop of the busy ones");
}

#define APACHE "clone start_thread dummy_worker worker_thread"
#define APACHE_POP APACHE ":1 queue_pop:2 cond_wait futex_wait"
#define APACHE_POP_LOCK APACHE ":1 queue_pop:1 mutex_lock lll_lock_wait"
#define APACHE_SOCKET APACHE ":2 process_socket run_connection process_http read_request " \
	"get_brigade core_filter bucket_read "
#define APACHE_READ APACHE_SOCKET "socket_recv:1 read"
#define APACHE_POLL APACHE_SOCKET "socket_recv:2 wait_for_io poll"
#define APACHE_LISTENER "clone start_thread dummy_worker listener_thread pollset_poll epoll_wait"
#define APACHE_MAIN "_start libc_start libc_call_main main run_mpm child_main read"

/* @backlog: the queue is never empty, and the wait for it hardly ever happens. */
static void test_apache(bool backlog, bool slow_clients)
{
	begin(backlog ? "a pool whose queue is seldom empty" :
	      slow_clients ? "a pool whose units all sleep" : "a pool with a queue");
	wait_in(9, SYS_read, APACHE_MAIN, 0, 1000);
	wait_in(8, SYS_epoll_wait, APACHE_LISTENER, 0, 1000);
	for (uint32_t worker = 1; worker < 5; worker++) {
		wait_in(worker, SYS_futex, APACHE_POP, 0, 1000);
		for (int i = 0; i < 54; i++) {
			if (i % 9 == 0)
				wait_in(worker, SYS_futex, APACHE_POP_LOCK, 60, 20);
			if (!backlog || i % 18 == 0)
				wait_in(worker, SYS_futex, APACHE_POP, i % 9 ? 60 : 1, 500);
			wait_in(worker, SYS_read, APACHE_READ, 40, 0);
			if (slow_clients) {
				wait_in(worker, SYS_poll, APACHE_POLL, 2, 900);
				wait_in(worker, SYS_read, APACHE_READ, 2, 0);
			}
			wait_in(worker, SYS_read, APACHE_READ, 90, 0);
		}
	}
	find();
	is_boundary(1, SYS_futex, APACHE_POP);
	is_inside(2, SYS_read, APACHE_READ);
	is_inside(2, SYS_poll, APACHE_POLL);
	is_boundary(8, SYS_epoll_wait, APACHE_LISTENER);
	is_boundary(9, SYS_read, APACHE_MAIN);
}

#define DB "clone start_thread spawn handle_connection do_handle_one do_command"
#define DB_READ DB ":1 net_read read_packet real_read vio_read"
#define DB_RECV DB_READ ":1 recv"
#define DB_POLL DB_READ ":2 vio_io_wait poll"
#define DB_WORK DB ":2 dispatch parse execute update row_search lock_wait suspend "
#define DB_LOCK DB_WORK "cond_wait futex_wait"
#define DB_DISK DB_WORK "buf_read pread64"
#define DB_TIMER "clone start_thread spawn timer_handler:1 cond_timedwait futex_wait"
#define DB_ACCEPT "_start libc_start libc_call_main main handle_sockets:1 poll"

static void serve_query(uint32_t thread, bool is_waiting, uint64_t lock_us)
{
	if (is_waiting) {
		wait_in(thread, SYS_recvfrom, DB_RECV, 20, 0);
		wait_in(thread, SYS_poll, DB_POLL, 1, 300);
		wait_in(thread, SYS_recvfrom, DB_RECV, 1, 0);
	} else {
		wait_in(thread, SYS_recvfrom, DB_RECV, 20, 0);
	}
	wait_in(thread, SYS_recvfrom, DB_RECV, 1, 0);
	if (lock_us)
		wait_in(thread, SYS_futex, DB_LOCK, 40, lock_us);
	clocks[thread] += 100 * US;
}

static void check_db(void)
{
	find();
	is_boundary(1, SYS_recvfrom, DB_RECV);
	is_boundary(1, SYS_poll, DB_POLL);
	is_inside(1, SYS_futex, DB_LOCK);
	is_boundary(7, SYS_futex, DB_TIMER);
	is_boundary(9, SYS_poll, DB_ACCEPT);
}

static void start_db(const char *name)
{
	begin(name);
	wait_in(9, SYS_poll, DB_ACCEPT, 0, 1000);
	wait_in(7, SYS_futex, DB_TIMER, 0, 1000);
}

static void test_mariadb(void)
{
	start_db("a thread for each connection, one row lock");
	for (uint32_t thread = 1; thread < 4; thread++)
		wait_in(thread, SYS_poll, DB_POLL, 0, 1000);
	for (int i = 0; i < 90; i++)
		serve_query(1 + i % 3, i % 4, i == 50 ? 1000000 : 0);
	check_db();

	start_db("a thread for each connection, under full load, a lock in each query");
	for (uint32_t thread = 1; thread < 4; thread++)
		wait_in(thread, SYS_poll, DB_POLL, 0, 1000);
	for (int i = 0; i < 200; i++)
		serve_query(1 + i % 3, i % 15 == 0, 500);
	check_db();

	start_db("a thread for each connection, no lock seen yet");
	for (uint32_t thread = 1; thread < 4; thread++)
		wait_in(thread, SYS_poll, DB_POLL, 0, 1000);
	for (int i = 0; i < 60; i++)
		serve_query(1 + i % 3, i % 3 == 0, 0);
	check_db();

	start_db("attached while one connection sits in a row lock, others idle");
	wait_in(1, SYS_poll, DB_POLL, 0, 1000);
	wait_in(2, SYS_futex, DB_LOCK, 0, 1000);
	find();
	is_boundary(1, SYS_poll, DB_POLL);
	is_inside(2, SYS_futex, DB_LOCK);
}

#define DB_CACHE "clone start_thread spawn handle_connection do_handle_one:2 cond_timedwait futex_wait"

/* Threads go back to a cache when their connection is closed. */
static void test_thread_cache(void)
{
	for (int queries = 8; queries <= 40; queries *= 5) {
		char name[80];

		snprintf(name, sizeof(name), "short connections of %d queries", queries);
		start_db(name);
		for (int connection = 0; connection < 12; connection++) {
			wait_in(1, SYS_futex, DB_CACHE, 50, 300000);
			for (int i = 0; i < queries; i++)
				serve_query(1, 1, connection == 7 && i == 1 ? 1000000 : 0);
		}
		check_db();
		is_boundary(1, SYS_futex, DB_CACHE);
	}
	start_db("the cache is only seen late");
	for (int i = 0; i < 60; i++)
		serve_query(1, 1, i == 50 ? 1000000 : 0);
	wait_in(1, SYS_futex, DB_CACHE, 50, 3000000);
	serve_query(1, 1, 0);
	check_db();
	is_boundary(1, SYS_futex, DB_CACHE);
}

#define DB_LOGIN "clone start_thread spawn handle_connection do_handle_one:3 prepare login auth"
#define DB_LOGIN_RECV DB_LOGIN " net_read read_packet real_read vio_read:1 recv"
#define DB_LOGIN_POLL DB_LOGIN " net_read read_packet real_read vio_read:2 vio_io_wait poll"

/* What a thread reports: its first waits, and some after each place that it did not meet lately. */
static struct reporter {
	uint32_t left;
	uint32_t lately[4];
	uint32_t oldest;
} reporters[MAX_THREADS];

static void report(uint32_t tid, uint32_t syscall, const char *spec, uint64_t work_us,
		   uint64_t blocked_us)
{
	struct reporter *reporter = &reporters[tid];
	uint32_t place = find_place(tid, syscall, spec) + 1, i = 0;

	while (i < 4 && reporter->lately[i] != place)
		i++;
	if (i == 4) {
		reporter->lately[reporter->oldest++ % 4] = place;
		if (reporter->left < 16)
			reporter->left = 16;
	}
	if (reporter->left) {
		reporter->left--;
		wait_in(tid, syscall, spec, work_us, blocked_us);
	} else {
		clocks[tid] += (work_us + blocked_us) * US;
	}
}

/* A connection is closed before its thread reports the next one's waits: few of many. */
static void test_reported(void)
{
	start_db("connections of 60 queries, of which few are reported");
	memset(reporters, 0, sizeof(reporters));
	reporters[1].left = 64;
	for (int connection = 0; connection < 40; connection++) {
		report(1, SYS_futex, DB_CACHE, 50, 20000);
		report(1, SYS_futex, DB_CACHE, 50, 20000);
		report(1, SYS_recvfrom, DB_LOGIN_RECV, 100, 0);
		report(1, SYS_poll, DB_LOGIN_POLL, 10, 160);
		report(1, SYS_recvfrom, DB_LOGIN_RECV, 10, 0);
		for (int i = 0; i < 60; i++) {
			report(1, SYS_recvfrom, DB_RECV, 40, 0);
			report(1, SYS_poll, DB_POLL, 10, 30);
			report(1, SYS_recvfrom, DB_RECV, 10, 0);
			report(1, SYS_recvfrom, DB_RECV, 10, 0);
		}
	}
	find();
	is_boundary(1, SYS_poll, DB_POLL);
	is_boundary(1, SYS_recvfrom, DB_RECV);
	is_boundary(1, SYS_futex, DB_CACHE);
}

#define POOL "clone start_thread pool_main"
#define POOL_POP POOL ":1 cond_wait futex_wait"
#define POOL_LOCK POOL ":2 do_job mutex_lock lll_lock_wait"

static void test_pool_lock(void)
{
	begin("a worker that waits for a mutex in each unit");
	for (int i = 0; i < 20; i++) {
		wait_in(1, SYS_futex, POOL_POP, 30, 100);
		wait_in(1, SYS_futex, POOL_LOCK, 30, 300);
	}
	wait_in(2, SYS_futex, POOL_LOCK, 0, 1000);
	find();
	is_boundary(1, SYS_futex, POOL_POP);
	is_inside(1, SYS_futex, POOL_LOCK);
	is_inside(2, SYS_futex, POOL_LOCK);

	begin("all of the loop's body in one function");
	for (int i = 0; i < 20; i++) {
		wait_in(1, SYS_futex, POOL ":1 step:1 cond_wait futex_wait", 30, 100);
		wait_in(1, SYS_futex, POOL ":1 step:2 do_job mutex_lock lll_lock_wait", 30, 300);
		if (i % 8 == 0)
			wait_in(1, SYS_nanosleep, POOL ":3 housekeeping usleep nanosleep", 5, 50);
	}
	find();
	is_boundary(1, SYS_futex, POOL ":1 step:1 cond_wait futex_wait");
	is_inside(1, SYS_futex, POOL ":1 step:2 do_job mutex_lock lll_lock_wait");
	is_inside(1, SYS_nanosleep, POOL ":3 housekeeping usleep nanosleep");
}

#define TASKS "clone start_thread thread_proxy"
#define TASKS_BEGIN TASKS ":1 mutex_slowpath syscall"
#define TASKS_POP TASKS ":2 pop_intern"
#define TASKS_WAIT TASKS_POP ":1 cond_wait_until:1 syscall"
#define TASKS_AGAIN TASKS_POP ":1 cond_wait_until:2 mutex_slowpath syscall"
#define TASKS_UNUSED TASKS ":3 timeout_pop pop_intern:1 cond_wait_until:1 syscall"
#define TASKS_WORK TASKS ":4 job query cond_wait syscall"

/*
 * Threads wait for a task, and if none comes, among those that are not used.
 * Each takes a mutex when it begins, in the loop's own function.
 */
static void test_unused(void)
{
	begin("threads that begin with a lock, and wait for long elsewhere than for a task");
	for (uint32_t thread = 1; thread < 14; thread++) {
		wait_in(thread, SYS_futex, TASKS_BEGIN, 0, 500);
		for (int i = 0; i < 2; i++) {
			wait_in(thread, SYS_futex, TASKS_WORK, 400, 2000);
			wait_in(thread, SYS_futex, TASKS_WAIT, 300, 90000);
		}
		wait_in_vain(thread, SYS_futex, TASKS_WAIT, 300, 500000);
		if (thread % 2)
			wait_in(thread, SYS_futex, TASKS_AGAIN, 3, 10);
		wait_in(thread, SYS_futex, TASKS_UNUSED, 3, 400000);
		wait_in(thread, SYS_futex, TASKS_BEGIN, 3, 10);
	}
	/* One that has only just begun. */
	wait_in(20, SYS_futex, TASKS_BEGIN, 0, 500);
	wait_in(20, SYS_read, TASKS ":4 job read", 100, 0);
	wait_in(20, SYS_read, TASKS ":4 job read", 100, 0);
	wait_in(20, SYS_futex, TASKS_WORK, 400, 2000);
	wait_in(20, SYS_futex, TASKS_WORK, 400, 2000);
	find();
	is_boundary(1, SYS_futex, TASKS_WAIT);
	is_boundary(1, SYS_futex, TASKS_UNUSED);
	is_inside(1, SYS_futex, TASKS_BEGIN);
	is_inside(1, SYS_futex, TASKS_AGAIN);
	is_inside(1, SYS_futex, TASKS_WORK);
	ok(loop_at(1, SYS_futex, TASKS_WAIT) == loop_at(1, SYS_futex, TASKS_UNUSED),
	   "both are of one loop");
}

#define GROUP_GET "clone start_thread spawn worker_main:1 get_event"
#define GROUP_LISTEN GROUP_GET ":1 io_wait epoll_wait"
#define GROUP_PEEK GROUP_GET ":2 io_wait epoll_wait"
#define GROUP_IDLE GROUP_GET ":3 cond_timedwait:2 futex_wait"
#define GROUP_AGAIN GROUP_GET ":3 cond_timedwait:1 mutex_lock lll_lock_wait"
#define GROUP_LOCK GROUP_GET ":4 mutex_lock lll_lock_wait"
#define GROUP_RECV "clone start_thread spawn worker_main:2 callback do_command net_read recv"
#define GROUP_ROW "clone start_thread spawn worker_main:2 callback do_command execute suspend futex"

/* One of them listens for all, the others poll once and then sleep. */
static void test_listener(void)
{
	begin("threads of which one listens for all");
	wait_in(2, SYS_futex, GROUP_IDLE, 0, 1000000);
	for (int i = 0; i < 60; i++) {
		uint32_t thread = 1 + i % 3;

		wait_in(thread, SYS_epoll_wait, GROUP_LISTEN, 20, i % 4 ? 40 : 0);
		if (i % 9 == 0)
			wait_in(thread, SYS_futex, GROUP_LOCK, 2, 15);
		wait_in(thread, SYS_recvfrom, GROUP_RECV, 2, 0);
		if (i % 7 == 0)
			wait_in(thread, SYS_futex, GROUP_ROW, 40, 900);
		if (i % 5)
			continue;
		wait_in_vain(thread, SYS_epoll_wait, GROUP_PEEK, 60, 0);
		wait_in(thread, SYS_futex, GROUP_IDLE, 2, 3000);
		if (i % 10)
			wait_in(thread, SYS_futex, GROUP_AGAIN, 1, 10);
		wait_in(thread, SYS_recvfrom, GROUP_RECV, 4, 0);
	}
	find();
	is_boundary(1, SYS_epoll_wait, GROUP_LISTEN);
	is_boundary(1, SYS_futex, GROUP_IDLE);
	is_inside(1, SYS_futex, GROUP_AGAIN);
	is_inside(1, SYS_futex, GROUP_LOCK);
	is_inside(1, SYS_recvfrom, GROUP_RECV);
	is_inside(1, SYS_futex, GROUP_ROW);
}

/* What comes after an empty poll is work, too, where a timer is due. */
static void test_tick(void)
{
	begin("a loop that ticks, and then waits for a lock or an answer");
	for (int i = 0; i < 60; i++) {
		if (i % 2)
			wait_in_vain(1, SYS_epoll_wait, EVENT_EPOLL, 10, 100000);
		else
			wait_in(1, SYS_epoll_wait, EVENT_EPOLL, 10, 30000);
		wait_in(1, SYS_futex, EVENT ":3 mutex_lock lll_lock_wait", 1, 700);
		if (i % 2)
			wait_in(1, SYS_futex, EVENT ":4 ask cond_wait", 300, 200);
	}
	find();
	is_boundary(1, SYS_epoll_wait, EVENT_EPOLL);
	is_inside(1, SYS_futex, EVENT ":3 mutex_lock lll_lock_wait");
	is_inside(1, SYS_futex, EVENT ":4 ask cond_wait");

	begin("a queue that is waited for with a limit, and an answer in each unit");
	for (int i = 0; i < 60; i++) {
		if (i % 3 == 0)
			wait_in_vain(1, SYS_futex, POOL_POP, 10, 5000);
		wait_in(1, SYS_futex, POOL_POP, 10, 2000);
		wait_in(1, SYS_futex, POOL ":2 cond_wait futex_wait", 30, 4000);
	}
	find();
	is_boundary(1, SYS_futex, POOL_POP);
	is_inside(1, SYS_futex, POOL ":2 cond_wait futex_wait");
}

#define TIMER "clone start_thread lru_thread usleep nanosleep clock_nanosleep"
#define SELECT "_start libc_start libc_call_main main serve"

static void test_plain(void)
{
	begin("a single place");
	for (int i = 0; i < 5; i++)
		wait_in(1, SYS_clock_nanosleep, TIMER, 10, 1000);
	wait_in(2, SYS_accept, "_start libc_start libc_call_main main accept", 0, 1000);
	find();
	is_boundary(1, SYS_clock_nanosleep, TIMER);
	is_boundary(2, SYS_accept, "_start libc_start libc_call_main main accept");
	is_inside(1, SYS_clock_nanosleep, "clone start_thread lru_thread job usleep nanosleep "
		  "clock_nanosleep");

	begin("a pselect loop that reads and serves in one function");
	for (int i = 0; i < 30; i++) {
		wait_in(1, SYS_pselect6, SELECT ":1 pselect", 50, 200);
		wait_in(1, SYS_read, SELECT ":2 read", 1, 0);
		if (i % 3 == 0)
			wait_in(1, SYS_read, SELECT ":2 read", 50, 0);
	}
	find();
	is_boundary(1, SYS_pselect6, SELECT ":1 pselect");
	is_inside(1, SYS_read, SELECT ":2 read");

	begin("a process per connection that accepts, polls, reads and asks a database");
	for (int i = 0; i < 30; i++) {
		wait_in(1, SYS_accept, SELECT ":1 fcgi_accept:1 accept", 50, 400);
		wait_in(1, SYS_poll, SELECT ":1 fcgi_accept:2 poll", 2, 0);
		wait_in(1, SYS_read, SELECT ":1 fcgi_accept:3 fcgi_read safe_read read", 2, 0);
		wait_in(1, SYS_poll, SELECT ":2 run script call query net_read wait poll", 90, 300);
	}
	find();
	is_boundary(1, SYS_accept, SELECT ":1 fcgi_accept:1 accept");
	is_inside(1, SYS_poll, SELECT ":2 run script call query net_read wait poll");
}

#define ROLE "clone start_thread role_main"

static void test_roles(void)
{
	begin("one function that holds the loops of two roles");
	for (int i = 0; i < 10; i++) {
		wait_in(1, SYS_futex, ROLE ":1 cond_wait futex_wait", 30, 100);
		wait_in(2, SYS_clock_nanosleep, ROLE ":2 sleep clock_nanosleep", 30, 1000);
	}
	find();
	is_boundary(1, SYS_futex, ROLE ":1 cond_wait futex_wait");
	is_boundary(2, SYS_clock_nanosleep, ROLE ":2 sleep clock_nanosleep");
	ok(loop_at(1, SYS_futex, ROLE ":1 cond_wait futex_wait") !=
	   loop_at(2, SYS_clock_nanosleep, ROLE ":2 sleep clock_nanosleep"),
	   "the roles are loops of their own");
}

/* What is known stays so, though only waits in mid-unit are reported from then on. */
static void test_hidden(void)
{
	begin("the loop's own waits are no longer reported: a pool with two locks");
	wait_in(1, SYS_futex, POOL_POP, 0, 1000);
	find();
	is_boundary(1, SYS_futex, POOL_POP);
	places[find_place(1, SYS_futex, POOL_POP)].is_own = true;
	for (int i = 0; i < 60; i++) {
		wait_in(1, SYS_futex, POOL_LOCK, 30, 300);
		wait_in(1, SYS_futex, POOL ":3 step mutex_lock lll_lock_wait", 30, 300);
	}
	find();
	is_boundary(1, SYS_futex, POOL_POP);
	is_inside(1, SYS_futex, POOL_LOCK);

	begin("the loop's own waits are no longer reported: handlers below the same call");
	wait_in(2, SYS_epoll_wait, NGINX_EPOLL, 0, 1000);
	places[find_place(2, SYS_epoll_wait, NGINX_EPOLL)].is_own = true;
	for (int i = 0; i < 60; i++) {
		wait_in(2, SYS_accept4, NGINX_ACCEPT, 2, 0);
		wait_in(2, SYS_recvfrom, NGINX_RECV, 2, 0);
		wait_in(2, SYS_pread64, NGINX_READ, 30, i % 2 ? 0 : 3000);
	}
	find();
	is_boundary(2, SYS_epoll_wait, NGINX_EPOLL);
	is_inside(2, SYS_recvfrom, NGINX_RECV);
	is_inside(2, SYS_pread64, NGINX_READ);
	is_inside(2, SYS_accept4, NGINX_ACCEPT);

	begin("the loop's own waits are no longer reported: poll known, reads not yet");
	wait_in(1, SYS_poll, DB_POLL, 0, 1000);
	places[find_place(1, SYS_poll, DB_POLL)].is_own = true;
	for (int i = 0; i < 40; i++) {
		wait_in(1, SYS_recvfrom, DB_RECV, 400, 0);
		wait_in(1, SYS_recvfrom, DB_RECV, 1, 0);
		if (i % 2)
			wait_in(1, SYS_futex, DB_LOCK, 40, 500);
	}
	find();
	is_boundary(1, SYS_poll, DB_POLL);
	is_boundary(1, SYS_recvfrom, DB_RECV);
	is_inside(1, SYS_futex, DB_LOCK);

	start_db("the loop's own waits are no longer reported: short connections");
	for (int i = 0; i < 6; i++)
		serve_query(1, 1, 0);
	find();
	places[find_place(1, SYS_poll, DB_POLL)].is_own = true;
	places[find_place(1, SYS_recvfrom, DB_RECV)].is_own = true;
	for (int connection = 0; connection < 12; connection++)
		wait_in(1, SYS_futex, DB_CACHE, 500000, 300000);
	find();
	is_boundary(1, SYS_poll, DB_POLL);
	is_boundary(1, SYS_recvfrom, DB_RECV);
	is_boundary(1, SYS_futex, DB_CACHE);

	begin("a worker that waits for slow clients, seen first in such a wait");
	wait_in(1, SYS_poll, APACHE_POLL, 0, 1000);
	places[find_place(1, SYS_poll, APACHE_POLL)].is_own = true;
	for (int i = 0; i < 12; i++)
		wait_in(1, SYS_futex, APACHE_POP, 500, 300);
	find();
	is_boundary(1, SYS_futex, APACHE_POP);
	is_inside(1, SYS_poll, APACHE_POLL);

	begin("a lock taken for the loop's wait is given up when the wait is seen");
	wait_in(1, SYS_futex, POOL_LOCK, 0, 1000);
	places[find_place(1, SYS_futex, POOL_LOCK)].is_own = true;
	for (int i = 0; i < 10; i++)
		wait_in(1, SYS_futex, POOL_POP, 30, 300);
	find();
	is_boundary(1, SYS_futex, POOL_POP);
	is_inside(1, SYS_futex, POOL_LOCK);
}

#define PREFORK "_start libc_start libc_call_main main run_mpm make_child child_main"
#define PREFORK_POLL PREFORK ":1 pollset_poll poll"
#define PREFORK_ACCEPT PREFORK ":2 unixd_accept socket_accept accept4"
#define PREFORK_READ PREFORK ":3 process_connection process_http read_request recv read"

#define PREFORK_CLOSE PREFORK ":4 lingering_close socket_recv"

/* A process for each connection, which waits for its client to close. */
static void test_lingering(uint64_t idle_us)
{
	begin(idle_us ? "a process for each connection that waits for the close" :
			"the same, under full load at first");
	for (int i = 0; i < 40; i++) {
		wait_in(1, SYS_accept4, PREFORK_ACCEPT, 5, i % 3 ? idle_us : 200);
		wait_in(1, SYS_read, PREFORK_READ, 20, i % 4 ? 0 : 50);
		wait_in(1, SYS_read, PREFORK_CLOSE ":1 read", 300, 0);
		wait_in(1, SYS_poll, PREFORK_CLOSE ":2 wait_for_io poll", 2, 250);
		wait_in(1, SYS_read, PREFORK_CLOSE ":1 read", 2, 0);
	}
	find();
	is_boundary(1, SYS_accept4, PREFORK_ACCEPT);
	is_inside(1, SYS_read, PREFORK_READ);
}

/* Processes that poll one socket: who comes too late sleeps in accept. */
static void test_herd(bool is_blocking)
{
	begin(is_blocking ? "processes that poll and accept from one socket" :
			    "the same, where accept does not block");
	for (int i = 0; i < 40; i++) {
		wait_in(1, SYS_poll, PREFORK_POLL, 20, 300);
		wait_in(1, SYS_accept4, PREFORK_ACCEPT, 2, is_blocking && i % 3 == 2 ? 400 : 0);
		wait_in(1, SYS_read, PREFORK_READ, 20, 50);
	}
	find();
	is_boundary(1, SYS_poll, PREFORK_POLL);
	if (is_blocking)
		is_boundary(1, SYS_accept4, PREFORK_ACCEPT);
	else
		is_inside(1, SYS_accept4, PREFORK_ACCEPT);
	is_inside(1, SYS_read, PREFORK_READ);
	if (!is_blocking)
		return;

	/* Poll is known and reported no more. */
	places[find_place(1, SYS_poll, PREFORK_POLL)].is_own = true;
	for (int i = 0; i < 40; i++)
		wait_in(1, SYS_accept4, PREFORK_ACCEPT, 500, 400);
	find();
	is_boundary(1, SYS_poll, PREFORK_POLL);
	is_boundary(1, SYS_accept4, PREFORK_ACCEPT);
}

#define RUNTIME "clone start_thread thread_run"
#define TAKE " take_lock cond_timedwait futex_wait"
#define RUNTIME_BEGIN RUNTIME ":1 acquire_thread" TAKE
#define RUNTIME_SWITCH RUNTIME ":2 call eval:1 handle_pending" TAKE
#define RUNTIME_RECV RUNTIME ":2 call eval:2 sock_recv:1 recv"
#define RUNTIME_RECEIVED RUNTIME ":2 call eval:2 sock_recv:2 restore_thread" TAKE
#define RUNTIME_SENT RUNTIME ":2 call eval:3 sock_send:2 restore_thread" TAKE
#define RUNTIME_MAIN "_start libc_start libc_call_main main eval:1 "
#define RUNTIME_POLL RUNTIME_MAIN "poll_poll:1 poll"
#define RUNTIME_POLLED RUNTIME_MAIN "poll_poll:2 restore_thread" TAKE
#define RUNTIME_QUEUE RUNTIME ":2 call eval:4 queue_get sem_wait futex_wait"

/* The two words of a condition, in turn. */
static void take_lock(uint32_t tid, const char *spec, int turn)
{
	wait_for(0x955560 + (uint64_t)(turn % 2) * 4, tid, spec, turn % 3 ? 300 : 5000, turn % 3 == 0);
}

/* Connections of so many requests, in a thread each. */
static void test_runtime_lock(int requests)
{
	begin(requests > 1 ? "a thread for each connection, and a lock that each of them takes" :
			     "a thread for each request, and a lock that each of them takes");
	wait_in(1, SYS_poll, RUNTIME_POLL, 0, 1000);
	for (uint32_t thread = 2; thread < 20; thread++) {
		wait_in(1, SYS_poll, RUNTIME_POLL, 20, 4000);
		take_lock(1, RUNTIME_POLLED, (int)thread);
		take_lock(thread, RUNTIME_BEGIN, 1);
		for (int i = 0; i < requests; i++) {
			wait_in(thread, SYS_recvfrom, RUNTIME_RECV, 5, i % 2 ? 0 : 100);
			take_lock(thread, RUNTIME_RECEIVED, i);
			take_lock(thread, RUNTIME_SWITCH, i + 1);
			take_lock(thread, RUNTIME_SENT, i + 2);
		}
	}
	find();
	is_boundary(1, SYS_poll, RUNTIME_POLL);
	is_boundary(2, SYS_recvfrom, RUNTIME_RECV);
	is_inside(1, SYS_futex, RUNTIME_POLLED);
	is_inside(2, SYS_futex, RUNTIME_BEGIN);
	is_inside(2, SYS_futex, RUNTIME_SWITCH);
	is_inside(2, SYS_futex, RUNTIME_RECEIVED);
	is_inside(2, SYS_futex, RUNTIME_SENT);
}

/* What is waited for is a queue, however many threads take from it. */
static void test_runtime_queue(void)
{
	begin("a pool of threads that wait for one queue, and a lock that each of them takes");
	for (int i = 0; i < 40; i++) {
		for (uint32_t thread = 2; thread < 8; thread++) {
			wait_for(0x7f1000, thread, RUNTIME_QUEUE, 700, false);
			take_lock(thread, RUNTIME_RECEIVED, i);
			take_lock(thread, RUNTIME_SENT, i + 1);
			take_lock(thread, i ? RUNTIME_SWITCH : RUNTIME_BEGIN, i);
		}
	}
	find();
	is_boundary(2, SYS_futex, RUNTIME_QUEUE);
	is_inside(2, SYS_futex, RUNTIME_SWITCH);
	is_inside(2, SYS_futex, RUNTIME_BEGIN);

	begin("threads that each wait at an address of their own");
	for (uint32_t thread = 2; thread < 8; thread++) {
		for (int i = 0; i < 20; i++) {
			wait_for(0x800000 + thread * 64, thread, POOL ":1 take park futex_wait", 900, false);
			wait_for(0x800000 + thread * 64, thread, POOL ":2 a lock park futex_wait", 30, false);
			wait_for(0x800000 + thread * 64, thread, POOL ":2 b lock park futex_wait", 30, false);
			wait_for(0x800000 + thread * 64, thread, POOL ":2 c lock park futex_wait", 30, false);
		}
	}
	find();
	is_boundary(2, SYS_futex, POOL ":1 take park futex_wait");
	is_inside(2, SYS_futex, POOL ":2 b lock park futex_wait");
}

static void test_odd(void)
{
	begin("nothing, and stacks without callers");
	find();
	ok(nr_contexts == 0, "no places: no contexts");
	wait_in(1, SYS_futex, "alone", 0, 10);
	find();
	ok(nr_contexts == 0, "a stack of one frame makes no context");
	wait_in(1, SYS_epoll_wait, REDIS_EPOLL, 0, 10);
	wait_in(1, SYS_futex, "elsewhere cond_wait futex_wait", 0, 10);
	wait_in(1, SYS_epoll_wait, REDIS_EPOLL, 0, 10);
	find();
	is_boundary(1, SYS_epoll_wait, REDIS_EPOLL);
}

int main(void)
{
	plan(157);
	test_redis(false);
	test_redis(true);
	test_nginx();
	test_memcached();
	test_apache(false, false);
	test_apache(true, false);
	test_apache(false, true);
	test_mariadb();
	test_thread_cache();
	test_reported();
	test_pool_lock();
	test_unused();
	test_listener();
	test_tick();
	test_plain();
	test_roles();
	test_hidden();
	test_lingering(400);
	test_lingering(0);
	test_herd(true);
	test_herd(false);
	test_runtime_lock(1);
	test_runtime_lock(6);
	test_runtime_queue();
	test_odd();
	free(contexts);
	return tap_status();
}
