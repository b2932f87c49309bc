#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""font_widths.py [FOLDER] > src/show/chart/font_widths.inc: the widths of the characters of DejaVu Sans, from its TrueType files.

A line each: {code point, advance of the regular font, advance of the bold font} in 1/2048 em.
"""
import pathlib
import struct
import sys

OTHERS = "–—‘’“”•…‰′″→×≠≤≥≈✕∅±µσ√∞\u2009\u202f"
TEXT = [*range(0x20, 0x7F), *range(0xA0, 0x180), *(ord(c) for c in OTHERS if ord(c) >= 0x180)]


def advances(path):
    """Maps code points to advances, in units of the font."""
    data = path.read_bytes()
    tables = {}
    for i in range(struct.unpack_from(">H", data, 4)[0]):
        tag, _, offset, _ = struct.unpack_from(">4sIII", data, 12 + 16 * i)
        tables[tag] = offset
    assert struct.unpack_from(">H", data, tables[b"head"] + 18)[0] == 2048
    metrics = struct.unpack_from(">H", data, tables[b"hhea"] + 34)[0]
    cmap = tables[b"cmap"]
    glyphs = {}
    for i in range(struct.unpack_from(">H", data, cmap + 2)[0]):
        platform, _, offset = struct.unpack_from(">HHI", data, cmap + 4 + 8 * i)
        at = cmap + offset
        if struct.unpack_from(">H", data, at)[0] != 4 or platform != 3:
            continue
        half = struct.unpack_from(">H", data, at + 6)[0] // 2
        ends, starts = at + 14, at + 16 + 2 * half
        deltas, ranges = starts + 2 * half, starts + 4 * half
        for segment in range(half):
            end, start = (struct.unpack_from(">H", data, p + 2 * segment)[0] for p in (ends, starts))
            delta, place = (struct.unpack_from(">H", data, p + 2 * segment)[0] for p in (deltas, ranges))
            for code in range(start, min(end, 0xFFFE) + 1):
                glyph = code + delta
                if place:
                    glyph = struct.unpack_from(">H", data, ranges + 2 * segment + place + 2 * (code - start))[0]
                    glyph = glyph + delta if glyph else 0
                glyphs[code] = glyph % 65536
    return {code: struct.unpack_from(">H", data, tables[b"hmtx"] + 4 * min(glyph, metrics - 1))[0] for code, glyph in glyphs.items()}


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts/truetype/dejavu")
regular, bold = advances(folder / "DejaVuSans.ttf"), advances(folder / "DejaVuSans-Bold.ttf")
print("// Made by web/chart/font_widths.py from DejaVu Sans 2.37: {code point, advance, advance in bold} in 1/2048 em.")
line = ""
for code in sorted(set(TEXT)):
    entry = f"{{{code}, {regular[code]}, {bold[code]}}}, "
    if len(line + entry) > 120:
        print(line.rstrip())
        line = ""
    line += entry
print(line.rstrip())
