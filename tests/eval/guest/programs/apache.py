# SPDX-License-Identifier: GPL-2.0
"""Apache httpd, event MPM, one child with 8 workers: a label for each handler or filter.

Its log has, for each request, the thread that served it: with several connections nothing else
outside of the server shows which worker had which request.
"""

from .http import WRITTEN, HttpMix, make_site
from .program import Program

MODULES = ["mpm_event", "authz_core", "authz_host", "authn_core", "auth_basic", "authn_file",
           "authz_user", "dir", "autoindex", "alias", "mime", "filter", "deflate", "headers",
           "status", "setenvif", "include", "asis"]


class ApacheMix(HttpMix):
    pages = {
        "static": ("GET", "/small/*.html", {}, 200),
        "index": ("GET", "/dir/", {}, 200),
        "not found": ("GET", "/small/none*.html", {}, 404),
        "redirect": ("GET", "/redirect", {}, 301),
        "deflate": ("GET", "/text/*.txt", {"Accept-Encoding": "gzip"}, 200),
        "not modified": ("GET", "/small/*.html", {"If-Modified-Since": WRITTEN}, 304),
        "autoindex": ("GET", "/list/", {}, 200),
        "range": ("GET", "/text/*.txt", {"Range": "bytes=100-199"}, 206),
        "denied": ("GET", "/denied/", {}, 403),
        "status": ("GET", "/status?auto", {}, 200),
        "include": ("GET", "/page.shtml", {}, 200),
        "as is": ("GET", "/page.asis", {}, 200),
        "not allowed": ("DELETE", "/small/*.html", {}, 405),
        "unauthorized": ("GET", "/auth/", {}, 401),
        "options": ("OPTIONS", "/small/*.html", {}, 200),
    }


class Server(Program):
    exe = "/usr/sbin/apache2"
    port = 7004
    # With more, all of its workers may be busy, and then it closes connections that are kept.
    most_connections = 4
    requests = 1000

    modules = MODULES
    log_format = "%{X-Id}i\\t%{remote}p\\t%{tid}P\\t%{begin:usec}t\\t%{end:usec}t"
    processes = """
StartServers 1
ServerLimit 1
ThreadLimit 8
ThreadsPerChild 8
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
KeepAlive On
"""

    def configure(self):
        root = self.dir / "www"
        make_site(root)
        (root / "page.shtml").write_text('<p><!--#echo var="DATE_LOCAL" --></p>\n')
        (root / "page.asis").write_text("Status: 200\nContent-Type: text/plain\n\nas it is\n")
        (self.dir / "users").write_text("")
        self.write_conf(f"""
AddType text/html .shtml
AddOutputFilterByType DEFLATE text/plain
AddOutputFilter INCLUDES .shtml
AddHandler send-as-is .asis
<Directory {root}>
	Options +Indexes +Includes
</Directory>
<Directory {root}/auth>
	AuthType Basic
	AuthName eval
	AuthUserFile {self.dir}/users
	Require valid-user
</Directory>
<Location /status>
	SetHandler server-status
</Location>
""")

    def write_conf(self, settings):
        """The settings that all servers share, and these."""
        root = self.dir / "www"
        modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so"
                            for name in self.modules)
        (self.dir / "conf").write_text(f"""
{modules}
ServerRoot {self.dir}
ServerName localhost
Listen 127.0.0.1:{self.port}
User www-data
Group www-data
PidFile {self.dir}/pid
DefaultRuntimeDir {self.dir}
ErrorLog {self.dir}/error.log
LogLevel crit
LogFormat "{self.log_format}" eval
CustomLog {self.dir}/access.log eval
{self.processes}
MaxKeepAliveRequests 0
# By the wall clock, which may be set.
KeepAliveTimeout 86400
Timeout 600
DocumentRoot {root}
TypesConfig /dev/null
AddType text/html .html
AddType text/plain .txt
Header set X-Served-By eval
Redirect 301 /redirect http://localhost/dir/
<Directory {root}>
	Require all granted
</Directory>
<Directory {root}/denied>
	Require all denied
</Directory>
{settings}
""")

    def command(self):
        return [self.exe, "-D", "FOREGROUND", "-f", str(self.dir / "conf")]

    def serving_pid(self):
        return self.child()

    def mix(self, number, count, seed):
        return ApacheMix(number, count, seed)

    def loads(self):
        return [(f"ab -c {c}",
                 ["ab", "-q", "-c", str(c), "-n", str(self.requests),
                  f"http://127.0.0.1:{self.port}/small/1.html"], self.requests)
                for c in (16,)]
