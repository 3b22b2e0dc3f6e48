# SPDX-License-Identifier: GPL-2.0
"""nginx with one worker: expressions that backtrack, and a large directory.

The expressions are interpreted (pcre_jit is off, as it is by default); nginx_jit.py has them
compiled.
"""

from programs import nginx

from .subject import Bug, ServerSubject

BIG = 20000
# How much a path or a user agent makes the expressions backtrack.
PATH = "a" * 20
AGENT = "a" * 30


class Mix(nginx.NginxMix):
    """The kinds of requests of the bugs are among them, on small things."""

    pages = {
        "autoindex": ("GET", "/list/", {}, 200),
        "matched": ("GET", "/legacy/abc", {}, 200),
        "map": ("GET", "/agent", {"User-Agent": "curl/7.88"}, 200),
        "unmatched": ("GET", "/legacy/aa!", {}, 404),
        **{label: nginx.NginxMix.pages[label] for label in (
            "static", "gzip", "not modified", "not found", "index", "redirect")},
    }


class SlowMix(Mix):
    """The requests of the bugs."""

    pages = {
        "location": ("GET", f"/legacy/{PATH}!", {}, 404),
        "map": ("GET", "/agent", {"User-Agent": AGENT + "!"}, 200),
        "index": ("GET", "/big/", {}, 200),
    }


class Server(nginx.Server):
    port = 7016
    pcre_jit = "off"

    def configure(self):
        super().configure()
        root = self.dir / "www"
        (root / "big").mkdir(exist_ok=True)
        for i in range(BIG):
            (root / f"big/{i}.txt").touch()
        path = self.dir / "conf"
        text = path.read_text()
        text = f"pcre_jit {self.pcre_jit};\n" + text.replace("\tserver {", """
	map $http_user_agent $robot { default 0; "~*^(([a-z])+.)+[A-Z]([a-z])+$" 1; }
	server {
		location ~ ^/legacy/((\\w+\\s?)+)$ { return 200 "legacy\\n"; }
		location /agent { return 200 "robot=$robot\\n"; }
		location /big/ { autoindex on; }""")
        path.write_text(text)

    def mix(self, number, count, seed):
        return Mix(number, count, seed)


# An expression runs in the library, below ngx_regex_exec().  The handler that makes an index has
# no name in the stripped file: it is what ngx_http_core_content_phase() calls.
REGEX = ("ngx_regex_exec", "pcre2_match_8")
BUGS = {
    "regex": Bug("expression of a location that backtracks", "exponential algorithm",
                 REGEX, "location"),
    "map": Bug("expression of a map that backtracks", "exponential algorithm", REGEX, "map"),
    "index": Bug(f"index of a directory of {BIG} files", "large input",
                 ("ngx_http_core_content_phase>",), "index"),
}


class Nginx(ServerSubject):
    packages = ("nginx",)
    # Its units wait for the processor in bouts of seconds; a short training may see none.
    train_seconds = 30
    bugs = {f"nginx-{name}": bug for name, bug in BUGS.items()}
    slow_mix = SlowMix

    def make_server(self):
        return Server()

    def send(self, label):
        self.ask_one(self.slow_mix(0, 1, 0), label)

    def location(self):
        self.send("location")

    def map(self):
        self.send("map")

    def index(self):
        self.send("index")


def make():
    return Nginx()
