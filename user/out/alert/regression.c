// SPDX-License-Identifier: GPL-2.0

#include "out/alert/regression.h"

#include <math.h>
#include <string.h>

#include "base/duration.h"

enum {
	MIN_UNITS = 20, /* of a batch */
	MIN_BATCHES = 30, /* of a reference */
	MAX_BATCHES = 1000, /* no reference takes longer */
	MIN_REFERENCE_UNITS = 500,
	ENOUGH_UNITS = 100, /* to read the sums for */
	FAR_OUT = 8, /* times the level's mean, and the threshold */
};

/* The change that the test looks for, by the mean; against training, it has to be gross. */
#define SHIFT 0.05
#define GROSS_SHIFT 0.5
/* The variance of a batch's mean is no less, nor known better from a reference of 30. */
#define LEAST_VARIANCE (0.01 * 0.01)
#define VARIANCE_FACTOR 1.25
#define GROSS_VARIANCE (0.25 * 0.25)
/* What one batch adds at most, by how far it is from the reference; a shorter one adds less. */
#define MOST (REGRESSION_EVIDENCE / 4)
#define MOST_GROSS (REGRESSION_EVIDENCE / 2.9)
#define WHOLE_NS (500 * NSEC_PER_MSEC)
/* A batch of the reference is no shorter, or that would be known worse than it is. */
#define REFERENCE_NS (900 * NSEC_PER_MSEC)
/* Between two readings. */
#define SHORT_STEP_NS (250 * NSEC_PER_MSEC)
#define STEP_NS NSEC_PER_SEC
#define LONG_STEP_NS (5 * NSEC_PER_SEC)
/* Evidence that is worth a look soon. */
#define LIKELY 1.0
/* A reference has to be eight times as sure as what it is to find. */
#define SURENESS (8.0 / SHIFT)
/* A part that is less than this of both is compared with so much of both. */
#define LEAST_PART 0.2
/* From this share on of late units they are no news. */
#define LATE_SHARE 0.5
#define COVERED_SHARE 0.25

const char *regression_part_name(enum regression_part part)
{
	return part == REGRESSION_CPU ? "cpu" : "blocked";
}

/* What ended between two readings. */
struct regression_batch {
	uint64_t units, late;
	double ns[REGRESSION_NR_PARTS]; /* mean of each part */
	double whole_ns;
	uint64_t begin_ns, length_ns;
	const struct regression_sums *begin;
};

static struct regression_sums less(const struct regression_sums *a, const struct regression_sums *b)
{
	return (struct regression_sums){
		.units = a->units - b->units,
		.late = a->late - b->late,
		.cpu_ns = a->cpu_ns - b->cpu_ns,
		.blocked_ns = a->blocked_ns - b->blocked_ns,
	};
}

static bool has_fallen(const struct regression_sums *sums, const struct regression_sums *before)
{
	return sums->units < before->units || sums->late < before->late ||
	       sums->cpu_ns < before->cpu_ns;
}

static double mean(const struct regression_sums *sums, enum regression_part part)
{
	uint64_t ns = part == REGRESSION_CPU ? sums->cpu_ns : sums->blocked_ns;

	/* Blocked is what is left of sums that are read one by one: it may fall by a little. */
	return sums->units && (int64_t)ns > 0 ? (double)ns / (double)sums->units : 0;
}

static struct regression_batch batch_of(const struct regression *regression,
					const struct regression_sums *sums, uint64_t now_ns)
{
	struct regression_sums since = less(sums, &regression->begin);
	struct regression_batch batch = {
		.units = since.units,
		.late = since.late,
		.begin_ns = regression->begin_ns,
		.length_ns = now_ns - regression->begin_ns,
		.begin = &regression->begin,
	};

	for (int part = 0; part < REGRESSION_NR_PARTS; part++) {
		batch.ns[part] = mean(&since, (enum regression_part)part);
		batch.whole_ns += batch.ns[part];
	}
	return batch;
}

/* By how much a mean is longer than the reference, as a share of it. */
static double excess(const struct regression_level *level, double ns)
{
	return (ns - level->mean_ns) / fmax(level->mean_ns, LEAST_PART * level->whole_ns);
}

/* Of batches' means about the reference, as a share of it, squared. */
static double variance(const struct regression_level *level)
{
	double scale = fmax(level->mean_ns, LEAST_PART * level->whole_ns);

	return VARIANCE_FACTOR * level->squares / (level->nr - 1) / (scale * scale);
}

static bool is_sure(const struct regression_level *level)
{
	if (level->nr < MIN_BATCHES || level->units < MIN_REFERENCE_UNITS)
		return false;
	return level->nr >= fmax(variance(level), LEAST_VARIANCE) * SURENESS * SURENESS ||
	       level->nr >= MAX_BATCHES;
}

/* The mean of what the reference's units take is that of its batches, by their units. */
static void learn(struct regression_level *level, const struct regression_batch *batch, double ns)
{
	double weight, off = ns - level->mean_ns;

	level->nr++;
	level->units += batch->units;
	level->length_ns += batch->length_ns;
	weight = (double)batch->units / (double)level->units;
	level->mean_ns += weight * off;
	level->whole_ns += weight * (batch->whole_ns - level->whole_ns);
	level->squares += off * (ns - level->mean_ns);
	level->is_known = level->whole_ns >= 1 && is_sure(level);
}

/* A short batch is worth less than its units, as a stall may fill it. */
static double weight_of(const struct regression_batch *batch)
{
	return fmin((double)batch->length_ns / WHOLE_NS, 1);
}

/*
 * Of a batch smaller than those of the reference the mean is less sure; and what training
 * says is less sure than any.
 */
static double variance_of(const struct regression_level *level,
			  const struct regression_batch *batch)
{
	double usual;

	if (!level->is_known)
		return GROSS_VARIANCE;
	usual = (double)level->units / level->nr;
	return fmax(variance(level) * fmax(1, usual / (double)batch->units),
		    LEAST_VARIANCE / weight_of(batch));
}

/* How much more likely @value is about @shift than about 0. */
static void add_evidence(struct regression_evidence *evidence, double value, double shift,
			 double variance, const struct regression_batch *batch)
{
	double most = value < GROSS_SHIFT ? MOST : MOST_GROSS;
	double more = fmin(shift * (value - shift / 2) / variance, most * weight_of(batch));

	if (!(evidence->sum > 0)) {
		evidence->since = *batch->begin;
		evidence->since_ns = batch->begin_ns;
	}
	evidence->sum = fmax(evidence->sum + more, 0);
}

static void forget_evidence(struct regression *regression)
{
	for (int part = 0; part < REGRESSION_NR_PARTS; part++) {
		regression->levels[part].rising.sum = 0;
		regression->levels[part].falling.sum = 0;
	}
}

/* It has changed since the evidence began. */
static enum regression_change change(struct regression *regression, enum regression_part part,
				     const struct regression_evidence *evidence,
				     const struct regression_sums *sums)
{
	struct regression_sums since = less(sums, &evidence->since);

	regression->is_on = !regression->is_on;
	regression->part = part;
	regression->level_ns = mean(&since, part);
	regression->since_ns = evidence->since_ns;
	if (regression->is_on) {
		regression->change = evidence->since;
		regression->units = since.units;
		regression->late = since.late;
	}
	forget_evidence(regression);
	return regression->is_on ? REGRESSION_BEGUN : REGRESSION_OVER;
}

/* Without a reference: is it far slower than in training? */
static enum regression_change judge_by_training(struct regression *regression,
						enum regression_part part,
						const struct regression_batch *batch,
						const struct regression_trained *trained,
						const struct regression_sums *sums)
{
	struct regression_evidence *rising = &regression->levels[part].rising;
	const struct regression_level level = {
		.mean_ns = trained->ns[part],
		.whole_ns = trained->ns[REGRESSION_CPU] + trained->ns[REGRESSION_BLOCKED],
	};
	double value = 0;
	enum regression_change ret;

	if (level.whole_ns < 1)
		return REGRESSION_NONE;
	if ((double)batch->late >= LATE_SHARE * (double)batch->units)
		value = excess(&level, batch->ns[part]);
	add_evidence(rising, value, GROSS_SHIFT, variance_of(&level, batch), batch);
	if (rising->sum < REGRESSION_EVIDENCE)
		return REGRESSION_NONE;
	regression->before_ns = level.mean_ns;
	ret = change(regression, part, rising, sums);
	/* What was learnt so far is of the change. */
	memset(regression->levels, 0, sizeof(regression->levels));
	regression->levels[part] = level;
	return ret;
}

static enum regression_change judge_level(struct regression *regression, enum regression_part part,
					  const struct regression_batch *batch,
					  const struct regression_sums *sums)
{
	struct regression_level *level = &regression->levels[part];
	double value = excess(level, batch->ns[part]), spread = variance_of(level, batch);

	add_evidence(&level->rising, value, SHIFT, spread, batch);
	add_evidence(&level->falling, -value, SHIFT, spread, batch);
	if (level->rising.sum >= REGRESSION_EVIDENCE) {
		regression->before_ns = level->mean_ns;
		return change(regression, part, &level->rising, sums);
	}
	/* It is faster for good: what is slow from now on is measured by that. */
	if (level->falling.sum >= REGRESSION_EVIDENCE)
		memset(level, 0, sizeof(*level));
	return REGRESSION_NONE;
}

/* By how much a part is longer than it was. */
static double growth(const struct regression *regression, enum regression_part part,
		     const struct regression_batch *batch, const struct regression_trained *trained)
{
	const struct regression_level *level = &regression->levels[part];

	return batch->ns[part] - (level->is_known ? level->mean_ns : trained->ns[part]);
}

static enum regression_change judge_part(struct regression *regression, enum regression_part part,
					 const struct regression_batch *batch,
					 const struct regression_sums *sums,
					 const struct regression_trained *trained)
{
	struct regression_level *level = &regression->levels[part];

	if (level->is_known)
		return judge_level(regression, part, batch, sums);
	learn(level, batch, batch->ns[part]);
	return judge_by_training(regression, part, batch, trained, sums);
}

/* Of two parts that have changed, the one that grew more is reported. */
static enum regression_change judge(struct regression *regression,
				    const struct regression_batch *batch,
				    const struct regression_sums *sums,
				    const struct regression_trained *trained)
{
	double cpu = growth(regression, REGRESSION_CPU, batch, trained);
	double blocked = growth(regression, REGRESSION_BLOCKED, batch, trained);
	enum regression_part first = blocked > cpu ? REGRESSION_BLOCKED : REGRESSION_CPU;
	enum regression_change ret = judge_part(regression, first, batch, sums, trained);

	return ret != REGRESSION_NONE ? ret : judge_part(regression, !first, batch, sums, trained);
}

/* Is the part that was slow as before again, rather than as it is now? */
static enum regression_change judge_return(struct regression *regression,
					   const struct regression_batch *batch,
					   const struct regression_sums *sums)
{
	struct regression_level *level = &regression->levels[regression->part];
	enum regression_change ret;
	double shift = excess(level, regression->level_ns);
	double value = shift - excess(level, batch->ns[regression->part]);

	add_evidence(&level->falling, value, shift, variance_of(level, batch), batch);
	if (level->falling.sum < REGRESSION_EVIDENCE)
		return REGRESSION_NONE;
	ret = change(regression, regression->part, &level->falling, sums);
	if (!level->is_known)
		memset(level, 0, sizeof(*level));
	return ret;
}

static bool is_reference_known(const struct regression *regression)
{
	for (int part = 0; part < REGRESSION_NR_PARTS; part++)
		if (!regression->levels[part].is_known)
			return false;
	return true;
}

enum regression_change regression_update(struct regression *regression,
					 const struct regression_sums *sums, uint64_t now_ns,
					 const struct regression_trained *trained)
{
	enum regression_change ret = REGRESSION_NONE;
	struct regression_sums since;
	struct regression_batch batch;

	/* Other sums than before: the profile was loaded again. */
	if (regression->has_begun && has_fallen(sums, &regression->begin))
		memset(regression, 0, sizeof(*regression));
	if (regression->is_on) {
		since = less(sums, &regression->change);
		regression->units = since.units;
		regression->late = since.late;
	}
	if (regression->has_begun) {
		batch = batch_of(regression, sums, now_ns);
		if (batch.units < MIN_UNITS ||
		    (!is_reference_known(regression) && batch.length_ns < REFERENCE_NS))
			return REGRESSION_NONE;
		ret = regression->is_on ? judge_return(regression, &batch, sums) :
					  judge(regression, &batch, sums, trained);
	}
	regression->has_begun = true;
	regression->begin = *sums;
	regression->begin_ns = now_ns;
	return ret;
}

static bool is_likely(const struct regression *regression)
{
	for (int part = 0; part < REGRESSION_NR_PARTS; part++)
		if (regression->levels[part].rising.sum >= LIKELY)
			return true;
	return regression->is_on;
}

/* In which so many units end as are worth a reading. */
static double enough_ns(const struct regression *regression)
{
	const struct regression_level *level = &regression->levels[REGRESSION_CPU];

	if (!level->units)
		return INFINITY;
	return (double)level->length_ns / (double)level->units * ENOUGH_UNITS;
}

uint64_t regression_step_ns(const struct regression *regression)
{
	double enough = enough_ns(regression);

	if (enough <= SHORT_STEP_NS && is_reference_known(regression))
		return SHORT_STEP_NS;
	return enough <= STEP_NS || is_likely(regression) ? STEP_NS : LONG_STEP_NS;
}

bool regression_covers(const struct regression *regression, uint64_t elapsed_ns,
		       uint64_t threshold_ns)
{
	return regression->is_on &&
	       (double)regression->late >= COVERED_SHARE * (double)regression->units &&
	       (elapsed_ns / FAR_OUT < threshold_ns ||
		(double)elapsed_ns < FAR_OUT * regression->level_ns);
}
