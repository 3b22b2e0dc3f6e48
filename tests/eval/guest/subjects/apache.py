# SPDX-License-Identifier: GPL-2.0
"""Apache httpd, event MPM: large directories, a file system that is slow, a rewrite rule.

Requests go through a queue from the listener to 8 worker threads, whose loop is the one that
matters.  The server runs with slow-stat.c preloaded, which does nothing in training.
"""

import subprocess

from programs import apache
from programs.http import WRITTEN, HttpMix, make_site

from .subject import GUEST, Bug, ServerSubject

MODULES = ["authz_core", "alias", "dir", "autoindex", "mime", "headers", "rewrite", "dav",
           "dav_fs"]
BIG = 4000
HUGE = 20000
# Of each apr_stat(); a PROPFIND of /list/ makes two for each of its 20 files.
SLOW_US = 20000


class Mix(HttpMix):
    """The kinds of requests of the bugs are among them, on small things."""

    pages = {
        "static": ("GET", "/small/*.html", {}, 200),
        "propfind": ("PROPFIND", "/list/", {"Depth": "1"}, 207),
        "autoindex": ("GET", "/list/", {}, 200),
        "rewritten": ("GET", "/legacy/old", {}, 200),
        "text": ("GET", "/text/*.txt", {}, 200),
        "not rewritten": ("GET", "/legacy/old!", {}, 404),
        "index": ("GET", "/dir/", {}, 200),
        "not modified": ("GET", "/small/*.html", {"If-Modified-Since": WRITTEN}, 304),
        "propfind file": ("PROPFIND", "/small/*.html", {"Depth": "0"}, 207),
        "not found": ("GET", "/small/none*.html", {}, 404),
        "redirect": ("GET", "/redirect", {}, 301),
        "range": ("GET", "/text/*.txt", {"Range": "bytes=100-199"}, 206),
        "denied": ("GET", "/denied/", {}, 403),
    }


class SlowMix(Mix):
    """The requests of the bugs."""

    pages = {
        "propfind": ("PROPFIND", "/big/", {"Depth": "1"}, 207),
        "stat": Mix.pages["propfind"],
        "index": ("GET", "/huge/", {}, 200),
        "regex": ("GET", "/legacy/aaaaaaaaaaaaaaaaaaaaa!", {}, 404),
    }


class Server(apache.Server):
    port = 7012
    # Directories, by how many files are in them.
    sizes = {"big": BIG, "huge": HUGE}
    modules = ["mpm_event", *MODULES]
    log_format = '%h %t \\"%r\\" %>s %b'

    def configure(self):
        root = self.dir / "www"
        make_site(root)
        for name, size in self.sizes.items():
            (root / name).mkdir(exist_ok=True)
            for i in range(size):
                (root / name / f"{i}.txt").touch()
        (self.dir / "locks").mkdir(exist_ok=True)
        self.write_conf(f"""
DavLockDB {self.dir}/locks/db
RewriteEngine On
RewriteRule ^/legacy/((\\w+\\s?)+)$ /small/1.html
<Directory {root}>
	Dav On
	Options +Indexes
	IndexOptions FancyIndexing
</Directory>
""")
        self.delay(0)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", self.dir / "slow-stat.so",
                        GUEST / "slow-stat.c"], check=True)

    def command(self):
        return ["env", f"LD_PRELOAD={self.dir}/slow-stat.so", f"SLOW_STAT={self.dir}/delay",
                *super().command()]

    def delay(self, microseconds):
        """Of each apr_stat() from now on."""
        path = self.dir / "delay"
        path.touch()
        with open(path, "r+b") as file:
            file.write(microseconds.to_bytes(4, "little"))

    def mix(self, number, count, seed):
        return Mix(number, count, seed)


# dav_fs_walker(), which calls apr_stat() and for each file opens a database of properties, has
# no name in the stripped file, and so have mod_autoindex' functions.
BUGS = {
    "propfind": Bug(f"PROPFIND of a directory of {BIG} files", "large input to a plug-in",
                    ("mod_dav_fs:",), "propfind", paper="Apache 45464"),
    "stat": Bug(f"apr_stat takes {SLOW_US // 1000} ms", "slow API call",
                ("apr_stat",), "stat", paper="Apache 45464"),
    "index": Bug(f"index of a directory of {HUGE} files", "large input",
                 ("mod_autoindex:",), "index"),
    "regex": Bug("rewrite rule that backtracks", "exponential algorithm",
                 ("pcre2_match_8", "ap_regexec_len"), "regex"),
}


class Apache(ServerSubject):
    packages = ("apache2", "gcc", "libc6-dev")
    bugs = {f"apache-{name}": bug for name, bug in BUGS.items()}

    def make_server(self):
        return Server()

    def slow_mix(self):
        return SlowMix(0, 1, 0)

    def ask_slow(self, label):
        self.ask_one(self.slow_mix(), label)

    def propfind(self):
        self.ask_slow("propfind")

    def stat(self):
        self.server.delay(SLOW_US)
        try:
            self.ask_slow("stat")
        finally:
            self.server.delay(0)

    def index(self):
        self.ask_slow("index")

    def regex(self):
        self.ask_slow("regex")


def make():
    return Apache()
