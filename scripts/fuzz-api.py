#!/usr/bin/env python3
"""Fuzzes the dashboard's API according to its OpenAPI description: no status may be a 5xx, and no request may hang.

    scripts/fuzz-api.py [SECONDS]

Needs a debug or release build of porthole; installs schemathesis from PyPI in target/venv-fuzz-api. Works on
the workspaces of a demo in a temporary folder, on loopback. Jobs that would fetch from the web are refused, because no contact
is set.
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent


def tool():
    """The path of schemathesis, installed if it is missing."""
    folder = ROOT / "target" / "venv-fuzz-api"
    program = folder / "bin" / "schemathesis"
    if not program.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", "schemathesis==4.32.5"], check=True)
    return program


def newest_build():
    builds = [ROOT / "target" / kind / "porthole" for kind in ("release", "debug")]
    builds = [build for build in builds if build.exists()]
    if not builds:
        sys.exit("porthole is not built: run `cargo build` first")
    return max(builds, key=lambda build: build.stat().st_mtime)


def with_names(description):
    """The description, limited to names of existing workspaces and one that does not exist; the program's own tests cover
    others."""
    for item in description["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "w":
                    parameter["schema"] = {"type": "string", "enum": ["focused", "unfocused", "none"]}
    return description


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "300"
    porthole = newest_build()
    schemathesis = tool()
    with tempfile.TemporaryDirectory() as folder:
        demo = [porthole, "demo", "--pages", "300", "--keep", f"{folder}/demo", "--json"]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server = subprocess.Popen(
            [porthole, "serve", f"{folder}/demo", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().split()[-1]
            base, token = address.split("/?token=")
            text = subprocess.run([porthole, "serve", "--openapi"], check=True, capture_output=True, text=True).stdout
            description = pathlib.Path(folder) / "openapi.json"
            description.write_text(json.dumps(with_names(json.loads(text))))
            done = subprocess.run([
                schemathesis, "run", description, "--url", f"{base}/api/v1",
                "-H", f"Authorization: Bearer {token}", "-H", "X-Porthole: 1",
                # The event stream never ends.
                "--exclude-path-regex", "/events$",
                "--checks", "not_a_server_error,content_type_conformance,response_schema_conformance,status_code_conformance",
                "--phases", "coverage,fuzzing", "--max-time", seconds, "--request-timeout", "60",
                # One worker: with several, Python 3.11 may fail while hypothesis parses its own source.
                "--continue-on-failure", "--suppress-health-check", "all", "--workers", "1",
            ], check=False, cwd=folder, env={"SCHEMATHESIS_HOOKS": "", "PATH": "/usr/bin:/bin", "HOME": folder})
            alive = server.poll() is None
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    if not alive:
        sys.exit("the server ended by itself")
    sys.exit(done.returncode)


main()
