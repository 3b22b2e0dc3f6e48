# SPDX-License-Identifier: GPL-2.0
"""nginx with one worker: a label for each handler, or filter, that a request needs.

Requests for other files of the same kind have the same label.  No request is proxied: one of
those is several units by its nature, one for each event of the two connections.
"""

from .http import WRITTEN, HttpMix, make_site
from .program import Program


class NginxMix(HttpMix):
    pages = {
        "static": ("GET", "/small/*.html", {}, 200),
        "gzip": ("GET", "/text/*.txt", {"Accept-Encoding": "gzip"}, 200),
        "not modified": ("GET", "/small/*.html", {"If-Modified-Since": WRITTEN}, 304),
        "not found": ("GET", "/small/none*.html", {}, 404),
        "index": ("GET", "/dir/", {}, 200),
        "redirect": ("GET", "/redirect", {}, 301),
        "no content": ("GET", "/nothing", {}, 204),
        "autoindex": ("GET", "/list/", {}, 200),
        "range": ("GET", "/text/*.txt", {"Range": "bytes=100-199"}, 206),
        "head": ("HEAD", "/small/*.html", {}, 200),
        "status": ("GET", "/status", {}, 200),
        "denied": ("GET", "/denied/", {}, 403),
        "empty gif": ("GET", "/gif", {}, 200),
        "unauthorized": ("GET", "/auth/", {}, 401),
        "not allowed": ("DELETE", "/small/*.html", {}, 405),
    }


class Server(Program):
    exe = "/usr/sbin/nginx"
    port = 7002

    def configure(self):
        make_site(self.dir / "www")
        (self.dir / "users").write_text("")
        (self.dir / "conf").write_text(f"""
daemon off;
worker_processes 1;
pid {self.dir}/pid;
error_log {self.dir}/error.log crit;
events {{ worker_connections 256; }}
http {{
	access_log off;
	keepalive_requests 10000000;
	keepalive_timeout 600s;
	keepalive_time 1d;
	sendfile on;
	types {{ text/html html; text/plain txt; }}
	gzip on;
	gzip_types text/plain;
	gzip_min_length 100;
	client_body_temp_path {self.dir}/t1; proxy_temp_path {self.dir}/t2;
	fastcgi_temp_path {self.dir}/t3; uwsgi_temp_path {self.dir}/t4; scgi_temp_path {self.dir}/t5;
	server {{
		listen 127.0.0.1:{self.port};
		root {self.dir}/www;
		location /list/ {{ autoindex on; }}
		location = /redirect {{ return 301 /dir/; }}
		location = /nothing {{ return 204; }}
		location = /status {{ stub_status; }}
		location = /gif {{ empty_gif; }}
		location /denied/ {{ deny all; }}
		location /auth/ {{ auth_basic "eval"; auth_basic_user_file {self.dir}/users; }}
	}}
}}
""")

    def command(self):
        return [self.exe, "-e", str(self.dir / "error.log"), "-c", str(self.dir / "conf")]

    def serving_pid(self):
        return self.child()

    def mix(self, number, count, seed):
        return NginxMix(number, count, seed)

    def loads(self):
        return [(f"ab -k -c {c}",
                 ["ab", "-k", "-q", "-c", str(c), "-n", str(self.requests),
                  f"http://127.0.0.1:{self.port}/small/1.html"], self.requests)
                for c in (1, 4)]
