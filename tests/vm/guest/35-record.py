# SPDX-License-Identifier: GPL-2.0
"""Record mode: sites, the training stream, and that nothing of it stays."""

from perfguard import done, note, ok
from record import (CALLED, ENTER, HIT, LEAVE, ONE_SHOT, OWNED, RECORD, START, Called, Recorder,
                    functions, kinds)


def structure():
    """Hits carry the stack pointer at the entry, and the return address."""
    recorder = Recorder()
    program = Called()
    target = recorder.watch("pid", program.pid, OWNED | RECORD)
    ok(recorder.ask("open") == ["ok"], "the stream is there")
    names = program.NAMES
    sites = [(program.offset(name), i + 1, 0) for i, name in enumerate(names)]
    ok(recorder.sites(target, CALLED, sites)[1:] == (0, {}), "sites are added")
    notes, tid = program.notes("call 1")
    events = recorder.read()
    for event in events:
        note(event)
    hits = kinds(events, HIT, tid)
    ok([(hit.number, hit.sp, hit.value) for hit in hits] ==
       [(i + 1, *wanted) for i, wanted in enumerate(notes)],
       "each hit has its site, stack pointer and return address")
    program.end()
    recorder.end()


structure()
done()
