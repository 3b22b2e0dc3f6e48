// SPDX-License-Identifier: GPL-2.0

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "servers.h"
/* Its parts are used to make damaged files with a right digest. */
#include "store/trace-file.c" /* NOLINT */
#include "tap.h"
#include "train/samples/extract-timing.h"
#include "units.h"

enum {
	CHECKS = 34,
	FLIPS = 3000,
	HANGS_AFTER_S = 300,
};

static char directory[] = "/tmp/pguard-trace-XXXXXX";
static char path[64];
static char why[TRACE_FILE_WHY_MAX];

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % end;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

#define IS_SAME_ROWS(a, b, rows)           \
	((a)->nr_##rows == (b)->nr_##rows && \
	 (!(a)->nr_##rows || !memcmp((a)->rows, (b)->rows, (a)->nr_##rows * sizeof(*(a)->rows))))

static bool is_same_trace(const struct trace *a, const struct trace *b)
{
	bool same = a->stage == b->stage && a->lost == b->lost && a->is_inline == b->is_inline &&
		    a->nr_objects == b->nr_objects && a->nr_functions == b->nr_functions;

	for (uint32_t i = 0; same && i < a->nr_objects; i++)
		same = is_same_text(a->objects[i].path, b->objects[i].path) &&
		       is_same_text(a->objects[i].build_id, b->objects[i].build_id);
	for (uint32_t i = 0; same && i < a->nr_functions; i++) {
		const struct samples_function *f = &a->functions[i], *g = &b->functions[i];

		same = f->object == g->object && f->offset == g->offset && f->size == g->size &&
		       f->site == g->site && f->sp_delta == g->sp_delta && f->cost == g->cost &&
		       is_same_text(f->name, g->name);
	}
	return same && IS_SAME_ROWS(a, b, mappings) && IS_SAME_ROWS(a, b, contexts) &&
	       IS_SAME_ROWS(a, b, calls) && IS_SAME_ROWS(a, b, loops) &&
	       IS_SAME_ROWS(a, b, events);
}

static uint8_t *read_bytes(size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	uint8_t *bytes;

	if (!file || fseek(file, 0, SEEK_END))
		abort();
	*ret_size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*ret_size + 1);
	if (!bytes || fread(bytes, 1, *ret_size, file) != *ret_size)
		abort();
	fclose(file);
	return bytes;
}

static void write_bytes(const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		abort();
}

/* Set the digest that the file's content has; false if it makes no sense. */
static bool fix_digest(uint8_t *bytes, size_t size)
{
	struct trace_stream stream = { .is_reading = true };
	struct trace trace = { 0 };
	bool makes_sense;

	write_bytes(bytes, size);
	if (open_file(path, &stream))
		abort();
	take_header(&stream);
	take_trace(&stream, &trace);
	makes_sense = !stream.error && stream.left == sizeof(stream.digest);
	if (makes_sense)
		memcpy(bytes + size - sizeof(stream.digest), &stream.digest, sizeof(stream.digest));
	fclose(stream.file);
	trace_deinit(&trace);
	write_bytes(bytes, size);
	return makes_sense;
}

static int load(void)
{
	struct trace trace;
	int error = trace_file_load(path, &trace, why);

	trace_deinit(&trace);
	return error;
}

static void round_trip(struct sim *sim)
{
	struct trace trace;
	struct stat st;

	sim->trace.lost = 12345678901;
	sim->trace.is_inline = true;
	free(sim->trace.functions[3].name);
	sim->trace.functions[3].name = NULL;
	sim->trace.functions[4].cost = SAMPLES_COST_STEPPED;
	sim->trace.functions[4].sp_delta = 24;
	ok(!trace_file_save(path, &sim->trace, why), "saved");
	ok(!trace_file_load(path, &trace, why), "loaded");
	ok(is_same_trace(&trace, &sim->trace), "what was saved is what is loaded");
	trace_deinit(&trace);
	ok(!trace_file_save(path, &sim->trace, why) && !load(), "saved over an older one");
	ok(!stat(path, &st) && S_ISREG(st.st_mode), "a regular file");
}

static void truncations(const uint8_t *bytes, size_t size)
{
	uint32_t tried = 0, refused = 0;

	for (size_t length = 0; length < size; length += length < 2000 ? 1 : 211) {
		write_bytes(bytes, length);
		tried++;
		refused += load() == -EBADMSG;
	}
	is_number(refused, tried, "cut off anywhere: damaged");
	write_bytes(bytes, size);
	truncate(path, (off_t)size + 1);
	is_number((uint64_t)-load(), EBADMSG, "a byte too many: damaged");
}

/* Learn from what was loaded, whatever it is. */
static bool survives(const struct samples *profile)
{
	struct samples samples;
	struct trace trace;
	int error;

	if (trace_file_load(path, &trace, why))
		return false;
	error = extract_samples(&trace, &samples, NULL);
	if (!error)
		samples_deinit(&samples);
	if (error && error != -EBADMSG)
		abort();
	error = extract_timing(&trace, profile, &samples);
	if (!error)
		samples_deinit(&samples);
	if (error && error != -EBADMSG)
		abort();
	trace_deinit(&trace);
	return true;
}

static void flips(const uint8_t *bytes, size_t size, size_t head, const struct samples *profile)
{
	uint32_t unnoticed = 0, loaded = 0;
	uint8_t *damaged = malloc(size);

	for (uint32_t i = 0; i < FLIPS; i++) {
		/* Tables are small compared with the events. */
		size_t end = i % 2 ? head : size;

		memcpy(damaged, bytes, size);
		for (uint64_t j = random_below(3) + 1; j; j--)
			damaged[random_below(end)] ^= (uint8_t)(1 + random_below(255));
		if (!memcmp(damaged, bytes, size))
			continue;
		write_bytes(damaged, size);
		unnoticed += !load();
		if (fix_digest(damaged, size))
			loaded += survives(profile);
	}
	is_number(unnoticed, 0, "changed bytes are noticed");
	ok(loaded > FLIPS / 10, "with a right digest, nonsense is survived");
	diag("%u of %u loaded", loaded, FLIPS);
	free(damaged);
}

static void huge_counts(const uint8_t *bytes, size_t size, size_t head)
{
	static const uint32_t huge[] = { UINT32_MAX, 1u << 31, 1u << 24, 1u << 16 };
	uint32_t tried = 0, refused = 0;
	uint8_t *damaged = malloc(size);

	for (uint32_t i = 0; i < 4; i++) {
		/* Each word of the tables may be a count. */
		for (size_t at = 12; at + 4 <= head; at++) {
			memcpy(damaged, bytes, size);
			memcpy(damaged + at, &huge[i], 4);
			if (!memcmp(damaged, bytes, size))
				continue;
			write_bytes(damaged, size);
			tried++;
			refused += load() == -EBADMSG;
		}
	}
	is_number(refused, tried, "counts and lengths without bounds: damaged");
	free(damaged);
}

static void versions(const uint8_t *bytes, size_t size)
{
	uint8_t *other = malloc(size);
	uint32_t version = VERSION + 1;

	memcpy(other, bytes, size);
	memcpy(other + 8, &version, 4);
	write_bytes(other, size);
	is_number((uint64_t)-load(), EPROTONOSUPPORT, "a file from the future");
	ok(strstr(why, "newer") != NULL, "is reported as such");
	version = 0;
	memcpy(other + 8, &version, 4);
	write_bytes(other, size);
	is_number((uint64_t)-load(), EBADMSG, "version 0: damaged");
	free(other);
}

/* As the first version wrote it. */
static void save_old(const struct trace *trace)
{
	struct trace_stream stream = { .file = fopen(path, "w"), .version = 1 };
	struct trace copy = *trace;
	uint32_t version = 1;
	char magic[] = MAGIC;

	if (!stream.file)
		abort();
	transfer(&stream, magic, sizeof(magic) - 1);
	take_u32(&stream, &version);
	take_trace(&stream, &copy);
	take_digest(&stream);
	if (stream.error || fclose(stream.file))
		abort();
}

static void old_version(struct trace *trace)
{
	uint32_t stage = TRACE_STAGE_TIMING, nr_loops = trace->nr_loops;
	struct trace loaded;
	uint8_t *bytes;
	size_t size;

	save_old(trace);
	trace->nr_loops = 0;
	trace->is_inline = false;
	ok(!trace_file_load(path, &loaded, why) && is_same_trace(&loaded, trace),
	   "call trees of version 1 are read");
	trace_deinit(&loaded);
	trace->nr_loops = nr_loops;
	bytes = read_bytes(&size);
	memcpy(bytes + 12, &stage, sizeof(stage));
	write_bytes(bytes, size);
	free(bytes);
	ok(load() == -ESTALE && strstr(why, "record them again"),
	   "times of version 1 are refused, and why");
}

static int save_reversed(struct trace *trace, void *rows, uint32_t nr, size_t size)
{
	char *row = malloc(size), *first = rows, *last = first + (nr - 1) * size;
	int error;

	memcpy(row, first, size);
	memcpy(first, last, size);
	memcpy(last, row, size);
	error = trace_file_save(path, trace, why);
	memcpy(last, first, size);
	memcpy(first, row, size);
	free(row);
	return error ? error : load();
}

static void nonsense(struct trace *trace)
{
	struct trace_context *contexts = trace->contexts;
	uint32_t nr = trace->nr_contexts;

	is_number((uint64_t)-save_reversed(trace, trace->mappings, trace->nr_mappings,
					   sizeof(*trace->mappings)),
		  EBADMSG, "mappings out of order: damaged");
	is_number((uint64_t)-save_reversed(trace, trace->calls, trace->nr_calls,
					   sizeof(*trace->calls)),
		  EBADMSG, "calls out of order: damaged");
	is_number((uint64_t)-save_reversed(trace, trace->events, (uint32_t)trace->nr_events,
					   sizeof(*trace->events)),
		  EBADMSG, "events out of order: damaged");
	trace->functions[0].object = trace->nr_objects;
	is_number((uint64_t)-trace_file_save(path, trace, why), EBADMSG,
		  "a function of no file: not saved");
	trace->functions[0].object = 0;
	trace->calls[0].caller = trace->nr_functions;
	is_number((uint64_t)-trace_file_save(path, trace, why), EBADMSG,
		  "a call by no function: not saved");
	trace->calls[0].caller = TRACE_NONE;
	is_number((uint64_t)-(trace_file_save(path, trace, why) ? 1 : load()), 0,
		  "a call by a function without a site");
	trace->contexts = calloc(MAX_CONTEXTS + 1, sizeof(*contexts));
	trace->nr_contexts = MAX_CONTEXTS + 1;
	is_number((uint64_t)-(trace_file_save(path, trace, why) ? 0 : load()), EBADMSG,
		  "more contexts than an image can have: damaged");
	free(trace->contexts);
	trace->contexts = contexts;
	trace->nr_contexts = nr;
}

static void other_files(const struct trace *trace)
{
	char name[64], kept[64];
	struct stat st;

	strcpy(kept, path);
	snprintf(name, sizeof(name), "%s/fifo", directory);
	if (mkfifo(name, 0600))
		abort();
	strcpy(path, name);
	is_number((uint64_t)-load(), EINVAL, "a pipe is not waited for");
	is_number((uint64_t)-trace_file_save(path, trace, why), EINVAL, "nor replaced");
	ok(!stat(path, &st) && S_ISFIFO(st.st_mode), "it is still there");
	unlink(path);
	strcpy(path, directory);
	is_number((uint64_t)-load(), EISDIR, "a directory is no trace");
	is_number((uint64_t)-trace_file_save(path, trace, why), EISDIR, "nor becomes one");
	strcpy(path, "/dev/null");
	is_number((uint64_t)-load(), EINVAL, "a device is no trace");
	is_number((uint64_t)-trace_file_save(path, trace, why), EINVAL, "nor becomes one");
	snprintf(path, sizeof(path), "%s/none", directory);
	is_number((uint64_t)-load(), ENOENT, "no file");
	snprintf(path, sizeof(path), "%s/no/where", directory);
	is_number((uint64_t)-trace_file_save(path, trace, why), ENOENT, "no directory");
	strcpy(path, kept);
}

/* Whatever is written next to @path is gone: rmdir() would fail later. */
static void full_disk(struct trace *trace, size_t size)
{
	struct rlimit unlimited, limit;
	uint32_t failed = 0, intact = 0, tried = 0;

	if (trace_file_save(path, trace, why))
		abort();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &unlimited);
	for (size_t room = 0; room < size; room += size / 7 + 1) {
		limit = unlimited;
		limit.rlim_cur = room;
		setrlimit(RLIMIT_FSIZE, &limit);
		trace->lost++;
		failed += trace_file_save(path, trace, why) == -EFBIG;
		trace->lost--;
		setrlimit(RLIMIT_FSIZE, &unlimited);
		tried++;
		intact += !load();
	}
	is_number(failed, tried, "no room: reported");
	is_number(intact, tried, "no room: the file that was there is whole");
}

int main(void)
{
	static const char functions[] = "MLPWHRGSTUFabcdef";
	struct extracted profile;
	struct sim sim;
	uint8_t *bytes;
	size_t size, head;

	plan(CHECKS);
	alarm(HANGS_AFTER_S);
	if (!mkdtemp(directory))
		abort();
	snprintf(path, sizeof(path), "%s/trace.pgt", directory);
	sim_init(&sim, functions);
	run_dispatch(&sim);
	profile = extracted_of(&sim.trace);
	sim.trace.loops = sim_add(NULL, &sim.trace.nr_loops, sizeof(*sim.trace.loops),
				  &profile.samples.loops[0].hash);
	round_trip(&sim);
	bytes = read_bytes(&size);
	head = size - sizeof(uint64_t) - sim.trace.nr_events * sizeof(*sim.trace.events);
	truncations(bytes, size);
	flips(bytes, size, head, &profile.samples);
	huge_counts(bytes, size, head);
	versions(bytes, size);
	old_version(&sim.trace);
	nonsense(&sim.trace);
	other_files(&sim.trace);
	full_disk(&sim.trace, size);
	unlink(path);
	ok(!rmdir(directory), "nothing was left next to it");
	free(bytes);
	extracted_deinit(&profile);
	sim_deinit(&sim);
	return tap_status();
}
