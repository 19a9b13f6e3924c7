#!/usr/bin/env python3
"""Draws the two crawls of the demo: relevant pages found, by number of fetches.

    porthole demo --keep DIR && scripts/draw-demo.py DIR > docs/pictures/demo.svg
"""

import pathlib
import sqlite3
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 340, 64, 130, 46, 44
LINES = [("focused", "#0b6e99"), ("unfocused", "#b4530a")]
STYLE = """text{font:14px system-ui,sans-serif;fill:#222}.axis{stroke:#888}.grid{stroke:#ddd}.title{font-weight:600}
@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.ground{fill:#1b1b1b}}.ground{fill:#fff}"""


def found(workspace):
    """The number of relevant pages after each fetch."""
    database = sqlite3.connect(f"file:{workspace}/porthole.db?mode=ro", uri=True)
    rows = database.execute(
        "select coalesce(state = 1 and copy_of is null and relevance >= 0.5, 0) from tried order by seq"
    )
    count, counts = 0, []
    for (is_relevant,) in rows:
        count += is_relevant
        counts.append(count)
    return counts


def main():
    folder = pathlib.Path(sys.argv[1])
    crawls = [(name, colour, found(folder / name)) for name, colour in LINES]
    fetches = max(len(counts) for *_, counts in crawls)
    most = max(counts[-1] for *_, counts in crawls)
    top = -(-most // 500) * 500
    x = lambda fetch: LEFT + fetch / fetches * (WIDTH - LEFT - RIGHT)
    y = lambda count: HEIGHT - BOTTOM - count / top * (HEIGHT - TOP - BOTTOM)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>Relevant pages found: {', '.join(f'{n} {c[-1]}' for n, _, c in crawls)}</title><style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="26">Relevant pages found, from the same twelve pages</text>',
    ]
    for count in range(0, top + 1, 500):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(count):.1f}" y2="{y(count):.1f}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(count) + 5:.1f}" text-anchor="end">{count:,}</text>')
    for fetch in range(0, fetches + 1, 1000):
        out.append(f'<text x="{x(fetch):.1f}" y="{HEIGHT - 18}" text-anchor="middle">{fetch:,}</text>')
    out.append(f'<text x="{WIDTH - RIGHT + 30}" y="{HEIGHT - 18}">fetches</text>')
    for name, colour, counts in crawls:
        points = " ".join(f"{x(at + 1):.1f},{y(counts[at]):.1f}" for at in range(0, len(counts), 15))
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2.5" points="{points}"/>')
        label = f"{name}: {counts[-1]:,}"
        out.append(f'<text x="{x(len(counts)) + 8:.1f}" y="{y(counts[-1]) + 5:.1f}">{label}</text>')
    print("\n".join([*out, "</svg>"]))


if __name__ == "__main__":
    main()
