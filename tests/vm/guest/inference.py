# SPDX-License-Identifier: GPL-2.0
"""What type a unit is of, from its hits: the two rules once more, plain and slow.

Written from the description of the rules alone.  All scores are computed; none is
kept from one unit to the next, and the best is looked for among all types.
"""

MOST = 0x7fff


class Reference:
    """One loop's units, one after the other."""

    def __init__(self, profile):
        self.types = profile.types
        self.is_paper = profile.is_paper
        count = len(profile.types)
        self.known = {}
        for context in profile.contexts:
            vectors = [[0] * count, [0] * count, [0] * count]
            for index, early, final in context.weights:
                vectors[0][index] += early
                vectors[1][index] += final
                vectors[2][index] += 1
            self.known[context.guard, context.depth] = vectors
        # Among equals the smaller threshold, none being the largest; then the index.
        self.rank = sorted(range(count), key=lambda i: (
            profile.types[i].threshold_ns or float("inf"), i))
        self.begin()

    def begin(self):
        self.met = set()
        self.strangers = 0
        self.any_hit = False
        if self.is_paper:
            self.counts = [0] * len(self.types)
        else:
            self.early = [one.base_early for one in self.types]
            self.final = [one.base_final for one in self.types]

    def hit(self, guard, depth):
        """The id of the type so far; 0 for none."""
        vectors = self.known.get((guard, depth))
        if vectors is None:
            self.strangers += 1
        elif self.is_paper:
            self.any_hit = self.any_hit or any(vectors[2])
            self.counts = [a + b for a, b in zip(self.counts, vectors[2])]
        elif (guard, depth) not in self.met:
            self.early = [min(a + b, MOST) for a, b in zip(self.early, vectors[0])]
            self.final = [min(a + b, MOST) for a, b in zip(self.final, vectors[1])]
        if vectors is not None:
            self.met.add((guard, depth))
        return self.so_far()

    def so_far(self):
        """The id of the type of a unit that runs; 0 for none."""
        return self.id(self._best(self.counts if self.is_paper else self.early))

    def _best(self, scores):
        if self.is_paper and not self.any_hit:
            return None
        top = max(scores)
        return next(i for i in self.rank if scores[i] == top)

    def margin(self, is_final):
        """How far the best type is ahead of the next; 0 by the paper's rule, which has none."""
        if self.is_paper:
            return 0
        scores = sorted(self.final if is_final else self.early)
        return min(scores[-1] - scores[-2], MOST)

    def id(self, index):
        return 0 if index is None else self.types[index].id

    def knows(self, hits):
        """Whether a unit with these hits is of a type, and counts for it."""
        return all(hit in self.known for hit in hits)

    def end(self):
        """(id of the type, whether the unit fits it)"""
        best = self._best(self.counts if self.is_paper else self.final)
        if self.is_paper or best is None:
            return self.id(best), not self.strangers
        fits = not self.strangers and self.final[best] >= self.types[best].least_final and \
            all(self.known[context][2][best] for context in self.met)
        return self.id(best), fits
