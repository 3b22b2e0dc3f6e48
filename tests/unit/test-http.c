// SPDX-License-Identifier: GPL-2.0
/* An endpoint by HTTP: what it answers, what it refuses, and who cannot hold it up. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/time.h"
#include "http/http-accept.h"
#include "http/http-endpoint.h"
#include "tap.h"

static struct http_endpoint *endpoint;
static struct http_address address;
static char answer[1 << 16];
static bool is_there = true;

static int make(void *arg, const char *accept, struct http_page *ret)
{
	(void)arg;
	if (!is_there)
		return -EAGAIN;
	ret->type = "text/x-test";
	ret->size = (size_t)asprintf(&ret->text, "accept: %s", accept);
	return 0;
}

static const struct http_source source = { .path = "/metrics", .make = make };

static int open_somewhere(void)
{
	char text[20];
	int error = -EADDRINUSE;

	for (int port = 20000 + getpid() % 20000; error == -EADDRINUSE; port++) {
		snprintf(text, sizeof(text), "%d", port);
		if (http_address_parse(text, &address))
			abort();
		error = http_endpoint_open(&address, &source, &endpoint);
	}
	return error;
}

static int connect_to(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&address.at, address.size))
		abort();
	return fd;
}

/* For so long, or until something is to be read from @fd. */
static void run_for(uint64_t ns, int fd)
{
	uint64_t end_ns = time_now_ns() + ns;
	struct pollfd fds[2] = {
		{ .fd = http_endpoint_fd(endpoint), .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};

	while (time_now_ns() < end_ns) {
		uint64_t wait_ns = http_endpoint_run(endpoint), left_ns = end_ns - time_now_ns();

		poll(fds, 2, (int)((wait_ns < left_ns ? wait_ns : left_ns) / NSEC_PER_MSEC) % 1000 + 1);
		if (fds[1].revents)
			return;
	}
}

/* What comes for a request, until the other side ends; it says that it wants to. */
static const char *ask(const char *request)
{
	int fd = connect_to();
	size_t len = 0;
	ssize_t got;

	if (write(fd, request, strlen(request)) < 0)
		abort();
	do {
		run_for(5 * NSEC_PER_SEC, fd);
		got = recv(fd, answer + len, sizeof(answer) - len - 1, MSG_DONTWAIT);
		len += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	answer[len] = '\0';
	close(fd);
	return answer;
}

static bool is_answer(const char *request, const char *status, const char *words)
{
	bool ret = !strncmp(ask(request), status, strlen(status)) && strstr(answer, words);

	if (!ret)
		diag("%s", answer);
	return ret;
}

#define END "Host: x\r\nConnection: close\r\n"

static void test_answers(void)
{
	ok(is_answer("GET /metrics HTTP/1.1\r\nAccept: a/b\r\n" END "\r\n", "HTTP/1.1 200 ",
		     "\r\n\r\naccept: a/b") && strstr(answer, "Content-Type: text/x-test\r\n"),
	   "the page is answered, by what is accepted");
	ok(is_answer("HEAD /metrics HTTP/1.1\r\n" END "\r\n", "HTTP/1.1 200 ", "Content-Length: 8\r\n") &&
	   !strstr(answer, "accept: "), "HEAD has no body");
	ok(is_answer("GET /other HTTP/1.1\r\n" END "\r\n", "HTTP/1.1 404 ", "nothing here"),
	   "other paths are not there");
	ok(is_answer("POST /metrics HTTP/1.1\r\n" END "Content-Length: 4\r\n\r\nbody", "HTTP/1.1 405 ",
		     "Allow: GET, HEAD\r\n"), "other methods are refused");
	ok(is_answer("\r\n\x01\xff nonsense\r\n\r\n", "HTTP/1.", " 400 "), "and what is no request");
	is_there = false;
	ok(is_answer("GET /metrics HTTP/1.1\r\n" END "\r\n", "HTTP/1.1 503 ", "not available"),
	   "what cannot be made is not available");
	is_there = true;
}

static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Who says nothing, and who goes on saying little. */
static void test_slow(void)
{
	enum { NR = 30 }; /* more than are served at once */
	int idle[NR], slow, nr_closed = 0, nr_lines = 0;
	uint64_t begun_ns = time_now_ns();

	slow = connect_to();
	run_for(100 * NSEC_PER_MSEC, -1);
	for (int i = 0; i < NR; i++)
		idle[i] = connect_to();
	while (!is_closed(slow) && time_now_ns() - begun_ns < 20 * NSEC_PER_SEC) {
		if (send(slow, "GET /metrics HTTP/1.1\r\n" + (nr_lines % 23 ? 21 : 0), nr_lines ? 1 : 23,
			 MSG_NOSIGNAL) < 0)
			break;
		nr_lines++;
		run_for(NSEC_PER_SEC, -1);
	}
	ok(time_now_ns() - begun_ns < 14 * NSEC_PER_SEC, "a slow one is ended after %.0f s",
	   (double)(time_now_ns() - begun_ns) / 1e9);
	for (int i = 0; i < NR; i++)
		nr_closed += is_closed(idle[i]);
	ok(nr_closed >= NR / 2, "so are %d of %d that say nothing", nr_closed, NR);
	for (int i = 0; i < NR; i++)
		close(idle[i]);
	close(slow);
	ok(is_answer("GET /metrics HTTP/1.1\r\n" END "\r\n", "HTTP/1.1 200 ", "accept: "),
	   "others are answered afterwards");
}

static bool is_address(const char *of, const char *host, uint16_t port)
{
	struct http_address ret;
	char got[INET6_ADDRSTRLEN] = "";
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&ret.at;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&ret.at;

	if (http_address_parse(of, &ret))
		return false;
	if (ret.at.ss_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, got, sizeof(got));
	else
		inet_ntop(AF_INET6, &v6->sin6_addr, got, sizeof(got));
	return !strcmp(got, host) &&
	       ntohs(ret.at.ss_family == AF_INET ? v4->sin_port : v6->sin6_port) == port;
}

static void test_addresses(void)
{
	static const char *const bad[] = {
		"", ":1", "0", "65536", "-1", " 1", "1 ", "1x", "x:1", "localhost:1", "1.2.3:1", "::1:1", "[::1]",
		"[]:1", "[::1:1", "::1]:1", "[1.2.3.4]:1", "1.2.3.4:", "1.2.3.4", "1.2.3.4:0x1",
		"[aaaa:aaaa:aaaa:aaaa:aaaa:aaaa:aaaa:aaaa:aaaa:aaaa:aaaa:aaaa]:1",
	};
	struct http_address ret;
	bool is_refused = true;

	ok(is_address("9090", "127.0.0.1", 9090), "a port is one of this machine alone");
	ok(is_address("192.0.2.1:65535", "192.0.2.1", 65535) && is_address("[::1]:80", "::1", 80) &&
	   is_address("0.0.0.0:1", "0.0.0.0", 1), "addresses are taken");
	ok(!http_address_parse("none", &ret) && !ret.size, "and none");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!http_address_parse(bad[i], &ret)) {
			diag("'%s' is taken", bad[i]);
			is_refused = false;
		}
	ok(is_refused, "others are refused");
}

static void test_accept(void)
{
	static const char open[] = "application/openmetrics-text", plain[] = "text/plain";

	ok(http_accept_prefers("application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
			       "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", open, plain) &&
	   http_accept_prefers("text/html, Application/OpenMetrics-Text ; q=0.3", open, plain),
	   "what is named is preferred");
	ok(!http_accept_prefers("", open, plain) && !http_accept_prefers("*/*", open, plain) &&
	   !http_accept_prefers("application/openmetrics-textual", open, plain) &&
	   !http_accept_prefers("application/openmetrics-text;q=0", open, plain) &&
	   !http_accept_prefers("application/openmetrics-text;q=0.2,text/plain;q=0.5", open, plain) &&
	   !http_accept_prefers(",;,q=;;=,", open, plain),
	   "what is not named, or less than the other, is not");
}

int main(void)
{
	struct http_endpoint *other;

	plan(18);
	test_addresses();
	test_accept();
	ok(!open_somewhere(), "an endpoint is opened");
	ok(http_endpoint_open(&address, &source, &other) == -EADDRINUSE && !other,
	   "not twice at one address");
	test_answers();
	test_slow();
	http_endpoint_close(endpoint);
	ok(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address.at, address.size) &&
	   errno == ECONNREFUSED, "closed, it is there no more");
	return tap_status();
}
