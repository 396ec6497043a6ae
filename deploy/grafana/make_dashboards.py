#!/usr/bin/env python3
"""Writes the dashboards of boards.py as Grafana's JSON, one file each, beside itself; --check: says which differ from
what is there, and changes nothing. Import the files in Grafana (Dashboards, Import), or provision the folder."""

import json
import os
import sys

from boards import BOARDS

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT, STAT_HEIGHT = 24, 8, 4


def target(number, query, legend):
    return {"refId": chr(ord("A") + number), "datasource": SOURCE, "expr": query, "legendFormat": legend}


def panel_json(number, one, place):
    drawn = {
        "id": number,
        "type": one["kind"],
        "title": one["title"],
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": one["unit"], "min": 0}, "overrides": []},
        "targets": [target(i, query, legend) for i, (query, legend) in enumerate(one["queries"])],
    }
    if one["about"]:
        drawn["description"] = one["about"]
    return drawn


def panels_json(rows):
    panels, top = [], 0
    for row in rows:
        width = WIDTH // len(row)
        height = STAT_HEIGHT if all(one["kind"] == "stat" for one in row) else HEIGHT
        for column, one in enumerate(row):
            place = {"h": height, "w": width, "x": column * width, "y": top}
            panels.append(panel_json(len(panels) + 1, one, place))
        top += height
    return panels


def board_json(name, title, rows):
    choice = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus", "hide": 0}
    return {
        "uid": f"glim-{name}",
        "title": title,
        "tags": ["glim"],
        "schemaVersion": 38,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [choice]},
        "annotations": {"list": []},
        "panels": panels_json(rows),
    }


def texts():
    """{file: its text}"""
    return {
        os.path.join(HERE, f"{name}.json"): json.dumps(board_json(name, title, rows), indent=1) + "\n"
        for name, (title, rows) in BOARDS.items()
    }


def differing():
    """Files that are not there as they should be."""
    found = []
    for path, text in texts().items():
        try:
            with open(path) as file:
                if file.read() != text:
                    found.append(path)
        except FileNotFoundError:
            found.append(path)
    return found


def main(argv):
    if argv == ["--check"]:
        for path in differing():
            print(f"{path} is not what boards.py says: run deploy/grafana/make_dashboards.py", file=sys.stderr)
        return 1 if differing() else 0
    for path, text in texts().items():
        with open(path, "w") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
