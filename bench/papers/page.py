# SPDX-License-Identifier: MIT
"""Tables and plots, printed as text and kept as one page of HTML with inline SVG."""
from html import escape

STYLE = """body{font:15px sans-serif;margin:2em auto;max-width:90em;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px;margin:.5em 0}th,td{padding:.2em .6em;border-bottom:1px solid #ddd}
td{text-align:right}th{text-align:right;vertical-align:bottom}td:first-child,th:first-child{text-align:left}
div{overflow-x:auto}svg{font:12px sans-serif;margin:.5em 2em .5em 0}"""
COLOURS = ("#2a6fb0", "#c9a227", "#3a8f5c", "#b0402a", "#7a52a8", "#555555", "#1c9aa0", "#d06fa8")


class Page:
    def __init__(self, title):
        self.title = title
        self.parts = []

    def line(self, text):
        print(text, flush=True)
        self.parts.append(f"<p>{escape(text)}</p>")

    def table(self, title, note, head, rows):
        rows = [[str(cell) for cell in row] for row in rows]
        widths = [max(len(row[i]) for row in [list(head), *rows]) for i in range(len(head))]
        print(f"\n== {title}\n{note}")
        for row in [head, *rows]:
            print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                            for i, (cell, width) in enumerate(zip(row, widths))).rstrip(), flush=True)
        cells = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        names = "".join(f"<th>{escape(name)}</th>" for name in head)
        self.parts.append(f"<h2>{escape(title)}</h2><p>{escape(note)}</p>"
                          f"<div><table><tr>{names}</tr>{cells}</table></div>")

    def bars(self, title, series, rows):
        """A row each: its name and a value for each series, or none; a line stands at 1."""
        most = max(value for _, *values in rows for value in values if value is not None)
        scale, left, step = 380 / most, 190, 12 * len(series) + 8
        shapes = [f'<text x="0" y="14" font-weight="bold">{escape(title)}</text>']
        for i, name in enumerate(series):
            shapes.append(f'<text x="{left + 90 * i}" y="32" fill="{COLOURS[i]}">{escape(name)}</text>')
        for r, (name, *values) in enumerate(rows):
            y = 42 + r * step
            shapes.append(f'<text x="0" y="{y + 11}">{escape(name)}</text>')
            for i, value in enumerate(values):
                if value is not None:
                    shapes.append(f'<rect x="{left}" y="{y + 12 * i}" width="{value * scale:.1f}" height="10" '
                                  f'fill="{COLOURS[i]}"/>'
                                  f'<text x="{left + value * scale + 4:.1f}" y="{y + 12 * i + 10}">'
                                  f'{value:.2f}</text>')
        height = 46 + len(rows) * step
        shapes.append(f'<line x1="{left + scale:.1f}" x2="{left + scale:.1f}" y1="38" y2="{height}" stroke="#888"/>')
        self.parts.append(f'<svg width="640" height="{height}">{"".join(shapes)}</svg>')

    def lines(self, title, axis, series):
        """Curves over a logarithmic axis; each has a name and points."""
        places = [x for x, _ in series[0][1]]
        most = max(y for _, points in series for _, y in points) * 1.1
        across = {x: 50 + i * 70 for i, x in enumerate(places)}
        shapes = [f'<text x="0" y="14" font-weight="bold">{escape(title)}</text>',
                  f'<text x="50" y="270">{escape(axis)}</text>',
                  '<line x1="50" x2="620" y1="235" y2="235" stroke="#888"/>']
        shapes += [f'<text x="{across[x]}" y="252">{x}</text>' for x in places]
        shapes += [f'<text x="10" y="{239 - 200 * y / most:.0f}">{y}</text>' for y in (0, 1)]
        for i, (name, points) in enumerate(series):
            path = " ".join(f"{across[x]},{235 - 200 * y / most:.1f}" for x, y in points)
            colour = COLOURS[i % len(COLOURS)]
            shapes.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
                          f'<text x="{60 + across[places[-1]]}" y="{40 + 16 * i}" fill="{colour}">'
                          f'{escape(name)}</text>')
        self.parts.append(f'<svg width="760" height="280">{"".join(shapes)}</svg>')

    def html(self):
        return (f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{escape(self.title)}</title>'
                f"<style>{STYLE}</style><h1>{escape(self.title)}</h1>{''.join(self.parts)}</html>\n")
