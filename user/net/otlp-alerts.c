// SPDX-License-Identifier: GPL-2.0
/*
 * A request has a batch.  By the protocol an answer 429, 502, 503 or 504, or none, means that it is
 * to be sent again, not before Retry-After; any other one but 200 that it must not be.
 */

#include "net/otlp-alerts.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/library.h"
#include "base/machine.h"
#include "base/pending.h"
#include "net/otlp-request.h"

static struct library curl_library = { .soname = LIBRARY_CURL };

#define CURL_CALL(name) LIBRARY_CALL(&curl_library, name)

enum {
	CONNECT_S = 5,
	REQUEST_S = 15,
	MAX_ANSWER = 64 << 10,
};

struct otlp_alerts {
	struct transport transport;
	struct otlp_source source;
	CURL *curl;
	struct curl_slist *headers;
	char *answer; /* has MAX_ANSWER bytes */
	size_t len;
	char error[CURL_ERROR_SIZE];
};

static size_t on_answer(char *bytes, size_t size, size_t nr, void *arg)
{
	struct otlp_alerts *alerts = arg;
	size_t len = size * nr, room = MAX_ANSWER - alerts->len;

	memcpy(alerts->answer + alerts->len, bytes, len < room ? len : room);
	alerts->len += len < room ? len : room;
	return len;
}

/* Return: not 0 if we are to end, which ends the request. */
static int on_progress(void *arg, curl_off_t all, curl_off_t now, curl_off_t all_up, curl_off_t up)
{
	(void)arg;
	(void)all;
	(void)now;
	(void)all_up;
	(void)up;
	return pending_end();
}

static bool is_retried(long status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/* What it says of itself, as far as it is text. */
static void describe(const struct otlp_alerts *alerts, long status, char why[TRANSPORT_WHY_MAX])
{
	int len = snprintf(why, TRANSPORT_WHY_MAX, "HTTP status %ld", status);
	size_t i;

	for (i = 0; i < alerts->len && alerts->answer[i] >= ' ' && alerts->answer[i] <= '~'; i++)
		;
	if (i)
		snprintf(why + len, TRANSPORT_WHY_MAX - (size_t)len, ": %.*s", (int)(i < 200 ? i : 200),
			 alerts->answer);
}

static void judge(struct otlp_alerts *alerts, const struct spool_batch *batch, uint32_t nr,
		  struct passing *ret)
{
	curl_off_t retry_s = 0;
	long status = 0;

	CURL_CALL(curl_easy_getinfo)(alerts->curl, CURLINFO_RESPONSE_CODE, &status);
	if (is_retried(status)) {
		CURL_CALL(curl_easy_getinfo)(alerts->curl, CURLINFO_RETRY_AFTER, &retry_s);
		ret->wait_ns = (uint64_t)(retry_s > 0 && retry_s < 86400 ? retry_s : 0) * NSEC_PER_SEC;
		describe(alerts, status, ret->why);
		return;
	}
	ret->nr_done = batch->nr;
	ret->nr_left_out = batch->nr - nr;
	ret->nr_refused = nr;
	if (status == 200)
		ret->nr_refused = least(otlp_rejected(alerts->answer, alerts->len, ret->why,
						      sizeof(ret->why)), nr);
	else
		describe(alerts, status, ret->why);
}

static void pass(struct transport *transport, const struct spool_batch *batch, struct passing *ret)
{
	struct otlp_alerts *alerts = (struct otlp_alerts *)transport;
	uint32_t nr;
	char *text = otlp_request(batch, &alerts->source, &nr);
	CURLcode code;

	if (!text) {
		snprintf(ret->why, sizeof(ret->why), "out of memory");
		return;
	}
	if (!nr) {
		ret->nr_done = ret->nr_left_out = batch->nr;
		free(text);
		return;
	}
	alerts->len = 0;
	alerts->error[0] = '\0';
	CURL_CALL(curl_easy_setopt)(alerts->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
	CURL_CALL(curl_easy_setopt)(alerts->curl, CURLOPT_POSTFIELDS, text);
	code = CURL_CALL(curl_easy_perform)(alerts->curl);
	if (code == CURLE_OK)
		judge(alerts, batch, nr, ret);
	else if (code == CURLE_ABORTED_BY_CALLBACK)
		ret->is_interrupted = true; /* on_progress() */
	else
		snprintf(ret->why, sizeof(ret->why), "%s",
			 alerts->error[0] ? alerts->error : CURL_CALL(curl_easy_strerror)(code));
	free(text);
}

static void close_alerts(struct transport *transport)
{
	struct otlp_alerts *alerts = (struct otlp_alerts *)transport;

	CURL_CALL(curl_easy_cleanup)(alerts->curl);
	CURL_CALL(curl_slist_free_all)(alerts->headers);
	free(alerts->answer);
	free(alerts);
}

static int add_header(struct otlp_alerts *alerts, const char *line)
{
	struct curl_slist *headers = CURL_CALL(curl_slist_append)(alerts->headers, line);

	if (headers)
		alerts->headers = headers;
	return headers ? 0 : -ENOMEM;
}

/* Lines of it are headers; what is secret in them is in no configuration that all can read. */
static int read_headers(struct otlp_alerts *alerts, const char *path, char why[TRANSPORT_WHY_MAX])
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	int error = 0;

	if (!file) {
		snprintf(why, TRANSPORT_WHY_MAX, "cannot open %.400s: %s", path, strerror(errno));
		return -EIO;
	}
	while (!error && getline(&line, &size, file) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] && line[0] != '#')
			error = add_header(alerts, line);
	}
	free(line);
	fclose(file);
	return error;
}

static void set_options(struct otlp_alerts *alerts, const struct otlp_settings *settings,
			const char *url)
{
	CURL *curl = alerts->curl;

	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_URL, url);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_POST, 1L);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_HTTPHEADER, alerts->headers);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_TIMEOUT, (long)REQUEST_S);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_NOSIGNAL, 1L);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_NOPROGRESS, 0L);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_WRITEFUNCTION, on_answer);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_WRITEDATA, alerts);
	CURL_CALL(curl_easy_setopt)(curl, CURLOPT_ERRORBUFFER, alerts->error);
	if (settings->ca)
		CURL_CALL(curl_easy_setopt)(curl, CURLOPT_CAINFO, settings->ca);
}

static int prepare(struct otlp_alerts *alerts, const struct otlp_settings *settings,
		   char why[TRANSPORT_WHY_MAX])
{
	char url[2048];
	size_t len = (size_t)snprintf(url, sizeof(url) - 16, "%s", settings->url);
	int error;

	if (len >= sizeof(url) - 16) {
		snprintf(why, TRANSPORT_WHY_MAX, "the URL is too long");
		return -EINVAL;
	}
	while (len && url[len - 1] == '/')
		len--;
	strcpy(url + len, "/v1/logs");
	alerts->curl = CURL_CALL(curl_easy_init)();
	alerts->answer = malloc(MAX_ANSWER);
	/* No "Expect: 100-continue": it costs a round trip. */
	error = !alerts->curl || !alerts->answer ? -ENOMEM :
		add_header(alerts, "Content-Type: application/json") ?: add_header(alerts, "Expect:");
	if (!error && settings->headers)
		error = read_headers(alerts, settings->headers, why);
	if (!error)
		set_options(alerts, settings, url);
	return error;
}

struct transport *otlp_alerts_new(const struct otlp_settings *settings, const char *machine,
				  const char *version, char why[TRANSPORT_WHY_MAX])
{
	struct otlp_alerts *alerts;
	const char *host;

	snprintf(why, TRANSPORT_WHY_MAX, "libcurl cannot be loaded");
	if (library_load(&curl_library))
		return NULL;
	alerts = calloc(1, sizeof(*alerts));
	if (!alerts)
		return NULL;
	alerts->transport = (struct transport){ .pass = pass, .close = close_alerts };
	host = machine_here()->host;
	alerts->source = (struct otlp_source){
		.machine = machine, .host = *host ? host : "localhost", .version = version,
	};
	if (!prepare(alerts, settings, why))
		return &alerts->transport;
	close_alerts(&alerts->transport);
	return NULL;
}
