# SPDX-License-Identifier: GPL-2.0
"""lighttpd, one process."""

from programs.http import WRITTEN, HttpMix, make_site
from programs.program import Program


class LighttpdMix(HttpMix):
    pages = {
        "static": ("GET", "/small/*.html", {}, 200),
        "index": ("GET", "/dir/", {}, 200),
        "not found": ("GET", "/small/none*.html", {}, 404),
        "text": ("GET", "/text/*.txt", {}, 200),
        "redirect": ("GET", "/redirect", {}, 301),
        "listing": ("GET", "/list/", {}, 200),
        "not modified": ("GET", "/small/*.html", {"If-Modified-Since": WRITTEN}, 304),
        "range": ("GET", "/text/*.txt", {"Range": "bytes=100-199"}, 206),
        "head": ("HEAD", "/small/*.html", {}, 200),
        "denied": ("GET", "/denied/", {}, 403),
    }


class Server(Program):
    exe = "/usr/sbin/lighttpd"
    packages = ("lighttpd",)
    port = 7021

    def configure(self):
        make_site(self.dir / "www")
        (self.dir / "conf").write_text(f"""
server.modules = ("mod_access", "mod_redirect", "mod_indexfile", "mod_dirlisting",
                  "mod_staticfile")
server.document-root = "{self.dir}/www"
server.bind = "127.0.0.1"
server.port = {self.port}
server.errorlog = "{self.dir}/error.log"
server.max-keep-alive-requests = 1000000
server.max-keep-alive-idle = 86400
index-file.names = ("index.html")
dir-listing.activate = "enable"
mimetype.assign = (".html" => "text/html", ".txt" => "text/plain")
url.redirect = ("^/redirect" => "/dir/")
$HTTP["url"] =~ "^/denied/" {{ url.access-deny = ("") }}
""")

    def command(self):
        return [self.exe, "-D", "-f", str(self.dir / "conf")]

    def mix(self, number, count, seed):
        return LighttpdMix(number, count, seed)
