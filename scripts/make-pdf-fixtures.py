#!/usr/bin/env python3
"""Creates the encrypted PDFs for the tests of porthole-page, with qpdf.

    apt-get install qpdf
    python3 scripts/make-pdf-fixtures.py porthole-page/tests/fixtures/pdf/encrypted

The text is our own; there is a file for every kind of encryption. Those with AES-256 contain new random bytes in each run.
"""

import pathlib
import subprocess
import sys
import tempfile

CONTENT = b"BT /F 12 Tf 72 700 Td (The snowy owl hunts by day.) Tj 0 -40 Td (See its nests.) Tj ET"
METADATA = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description><dc:title><rdf:Alt>'
    b'<rdf:li xml:lang="x-default">Owls in metadata</rdf:li></rdf:Alt></dc:title></rdf:Description></rdf:RDF></x:xmpmeta>'
)
LINK = b"<</Type/Annot/Subtype/Link/Rect[70 655 200 675]/A<</S/URI/URI(http://owl.example/nests)>>>>"

NO_PASSWORD = ["--encrypt", "", "owner"]
# Name of the file, arguments of qpdf.
FILES = {
    "rc4-40": [*NO_PASSWORD, "40", "--"],
    "rc4-128": [*NO_PASSWORD, "128", "--use-aes=n", "--"],
    "rc4-128-filter": [*NO_PASSWORD, "128", "--use-aes=n", "--force-V4", "--"],
    "aes-128": [*NO_PASSWORD, "128", "--use-aes=y", "--"],
    "aes-128-objects": [*NO_PASSWORD, "128", "--use-aes=y", "--", "--object-streams=generate"],
    "aes-128-plain-metadata": [*NO_PASSWORD, "128", "--use-aes=y", "--cleartext-metadata", "--"],
    "aes-256-r5": [*NO_PASSWORD, "256", "--force-R5", "--"],
    "aes-256": [*NO_PASSWORD, "256", "--"],
    "aes-256-objects": [*NO_PASSWORD, "256", "--", "--object-streams=generate"],
    "aes-256-plain-metadata": [*NO_PASSWORD, "256", "--cleartext-metadata", "--"],
    "locked-rc4-128": ["--encrypt", "user", "owner", "128", "--use-aes=n", "--"],
    "locked-aes-128": ["--encrypt", "user", "owner", "128", "--use-aes=y", "--"],
    "locked-aes-256": ["--encrypt", "user", "owner", "256", "--"],
}


def stream(entries, data):
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(data), data)


def source(has_info):
    objects = [
        b"<</Type/Catalog/Pages 2 0 R/Metadata 6 0 R/Lang(en)>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        b"/Resources<</Font<</F 5 0 R>>>>/Annots[%s]>>" % LINK,
        stream(b"", CONTENT),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        stream(b"/Type/Metadata/Subtype/XML", METADATA),
    ]
    if has_info:
        objects.append(b"<</Title(Owls of the north)>>")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    info = b"/Info 7 0 R" if has_info else b""
    return out + b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, info, table)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, arguments in FILES.items():
        with tempfile.NamedTemporaryFile(suffix=".pdf") as plain:
            plain.write(source(has_info="metadata" not in name))
            plain.flush()
            fixed = ["--allow-weak-crypto", "--static-id", "--static-aes-iv"]
            command = ["qpdf", *fixed, *arguments, plain.name, folder / f"{name}.pdf"]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
