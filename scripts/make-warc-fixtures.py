#!/usr/bin/env python3
"""Creates the WARC files for the tests of porthole-warc, with tools other than Porthole.

    pip install warcio zstandard
    python3 scripts/make-warc-fixtures.py porthole-warc/tests/fixtures

Valid files are written by warcio, damaged ones are made from them. The output is the same in each run:
record ids and dates are fixed.
"""

import gzip
import io
import pathlib
import sys

import zstandard
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

DATE = "2026-01-02T03:04:05Z"
PAGES = {
    "http://a.test/": b"<title>Harbour</title><p>Boats in a harbour. <a href='/two'>Two</a>\n",
    "http://a.test/two": b"<title>Two</title><p>Two boats, one of them r\xe9d.\n",
    "http://b.test/": b"<title>Elsewhere</title>" + b"<p>Waves, waves, waves.\n" * 40,
}


class Maker:
    """Writes a file by warcio, with consecutive record ids."""

    def __init__(self, packed, version="1.1"):
        self.out = io.BytesIO()
        self.writer = WARCWriter(self.out, gzip=packed, warc_version=version)
        self.count = 0

    def add(self, kind, url, block=b"", http=None, more=None, content_type=None):
        self.count += 1
        fields = {"WARC-Date": DATE, "WARC-Record-ID": f"<urn:uuid:00000000-0000-4000-8000-{self.count:012d}>"}
        fields.update(more or {})
        record = self.writer.create_warc_record(
            url, kind, payload=io.BytesIO(block), http_headers=http, warc_headers_dict=fields,
            warc_content_type=content_type or "")
        self.writer.write_record(record)

    def info(self):
        self.add("warcinfo", None, b"software: fixtures\r\n", content_type="application/warc-fields")

    def page(self, url, body, *fields):
        self.add("response", url, body, answer("200 OK", ("Content-Type", "text/html"), *fields))

    def bytes(self):
        return self.out.getvalue()


def answer(status, *fields):
    return StatusAndHeaders(status, list(fields), protocol="HTTP/1.1")


def pages(packed, version="1.1"):
    maker = Maker(packed, version)
    maker.info()
    for url, body in PAGES.items():
        maker.page(url, body)
    return maker.bytes()


def kinds():
    """All record types, two types that are in no standard, a duplicate and a revisit."""
    maker = Maker(True)
    maker.info()
    request = StatusAndHeaders("GET / HTTP/1.1", [("Host", "a.test")], is_http_request=True)
    maker.add("request", "http://a.test/", b"", request)
    maker.page("http://a.test/", PAGES["http://a.test/"])
    maker.page("http://a.test/", b"<p>Not the first.\n")
    maker.add("metadata", "http://a.test/", b"topic: harbours\r\n", content_type="application/warc-fields")
    maker.add("resource", "urn:text:note", b"a note", content_type="text/plain")
    maker.add("conversion", "http://a.test/", b"Boats in a harbour.", content_type="text/plain")
    maker.add("continuation", "http://a.test/", b"and so on", content_type="text/plain")
    maker.add("screenshot", "http://a.test/", b"not really a picture", content_type="image/png")
    revisit = {
        "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        "WARC-Refers-To-Target-URI": "http://a.test/",
        "WARC-Refers-To-Date": DATE,
        "WARC-Payload-Digest": "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    }
    maker.add("revisit", "http://a.test/again", b"", answer("200 OK", ("Content-Type", "text/html")), revisit)
    maker.add("response", "dns:a.test", b"20260102030405\na.test. 1 IN A 192.0.2.1\n", content_type="text/dns")
    return maker.bytes()


def encodings():
    maker = Maker(True)
    body = PAGES["http://b.test/"]
    packed = gzip.compress(body, mtime=0)
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (packed[:20], packed[20:])) + b"0\r\n\r\n"
    maker.page("http://b.test/gzip", packed, ("Content-Encoding", "gzip"))
    maker.page("http://b.test/both", chunked, ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"))
    maker.page("http://b.test/lies", body, ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"))
    maker.page("http://b.test/br", b"\x0b\x02\x80abc\x03", ("Content-Encoding", "br"))
    return maker.bytes()


def frames(plain):
    """One zstd frame per record; records are found by their first line."""
    starts = [at for at in range(len(plain)) if plain.startswith(b"WARC/1.1\r\n", at)] + [len(plain)]
    compress = zstandard.ZstdCompressor(write_checksum=True).compress
    return b"".join(compress(plain[a:b]) for a, b in zip(starts, starts[1:]))


def files():
    plain, packed = pages(False), pages(True)
    second = packed.index(b"\x1f\x8b\x08", 10)
    third = packed.index(b"\x1f\x8b\x08", second + 10)
    response = plain.index(b"WARC-Type: response")
    second_response = plain.index(b"WARC-Type: response", response + 1)
    between = plain.rindex(b"WARC/1.1", 0, second_response)
    length = plain.index(b"Content-Length: ", response) + len(b"Content-Length: ")
    digits = plain[length:plain.index(b"\r\n", length)]

    def with_length(text):
        return plain[:length] + text + plain[length + len(digits):]

    flipped = bytearray(packed)
    flipped[third - 7] ^= 0xFF  # in the checksum at the end of the second member
    yield "plain.warc", plain
    yield "v10.warc", pages(False, "1.0")
    yield "members.warc.gz", packed
    yield "one-member.warc.gz", gzip.compress(plain, mtime=0)
    yield "frames.warc.zst", frames(plain)
    yield "one-frame.warc.zst", zstandard.ZstdCompressor(level=9).compress(plain)
    yield "dictionary.warc.zst", b"\x5d\x2a\x4d\x18\x04\0\0\0dict" + frames(plain)
    yield "kinds.warc.gz", kinds()
    yield "encodings.warc.gz", encodings()
    yield "bad-cut-plain.warc", plain[:second_response + 200]
    yield "bad-cut-member.warc.gz", packed[:third + 100]
    yield "bad-cut-one-member.warc.gz", gzip.compress(plain, mtime=0)[:-30]
    yield "bad-cut-frame.warc.zst", frames(plain)[:-100]
    yield "bad-garbage.warc", plain[:between] + b"@" * 50 + plain[between:]
    yield "bad-garbage.warc.gz", packed[:third] + b"@" * 50 + packed[third:]
    yield "bad-length-short.warc", with_length(b"%d" % (int(digits) - 5))
    yield "bad-length-long.warc", with_length(b"%d" % (int(digits) + 50))
    yield "bad-length-long.warc.gz", gzip.compress(with_length(b"%d" % (int(digits) + 5000)), mtime=0)
    yield "bad-length-absurd.warc", with_length(b"9" * 30)
    yield "bad-length-huge.warc", with_length(b"9" * 18)
    yield "bad-length-none.warc", plain.replace(b"Content-Length: " + digits, b"X-Length: 0", 1)
    yield "bad-crc.warc.gz", bytes(flipped)
    yield "bad-no-blank-line.warc", plain[:length + len(digits)] + plain[length + len(digits) + 2:]
    yield "bad-version.warc", plain.replace(b"WARC/1.1", b"WARC/9.9", 1)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files():
        (folder / name).write_bytes(content)
        print(f"{len(content):8} {name}")


if __name__ == "__main__":
    main()
