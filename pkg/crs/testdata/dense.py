#!/usr/bin/env python3
"""Compares pkg/crs with PROJ at many more points than the golden vectors have.

    python3 -m venv venv && venv/bin/pip install pyproj==3.7.2 numpy==2.4.6
    venv/bin/python pkg/crs/testdata/dense.py [FOLDER_OF_GRID_FILES]

It takes 10,000 random points of the area of use of each system and 2,000 of its
domain, lets PROJ and the package transform them there and back, and writes the
greatest differences to testdata/dense.json, from which the tables of docs/crs.md are
made. With a folder it does the same for each grid file that is in it: the files are
not part of the project.

PROJ's inverse of the Lambert azimuthal projection is taken as it is; vectors.py says
what is wrong with it.
"""

import csv
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy
import pyproj
from pyproj.transformer import Transformer, TransformerGroup

HERE = pathlib.Path(__file__).parent
POINTS, WIDE = 10_000, 2_000
SYSTEMS = {int(r["code"]): r for r in csv.DictReader(open(HERE.parent / "systems.csv"), delimiter=";")}
SHIFTS = list(csv.DictReader(open(HERE.parent / "shifts.csv"), delimiter=";"))
UNIT = "+step +proj=unitconvert +xy_in={} +xy_out={}"


def without_grid(source, target, code):
    base = SYSTEMS[code]["datum"]
    epsg = None if base == "4326" or code == 25838 else next(
        int(s["code"]) for s in SHIFTS if s["from"] == base and s["to"] == "4326" and s["kind"] != "ntv2")
    for t in TransformerGroup(source, target, always_xy=True, allow_ballpark=epsg is None).transformers:
        codes = [op.to_json_dict().get("id", {}).get("code") for op in t.operations or []]
        if not any(op.grids for op in t.operations or []) and (epsg is None or epsg in codes):
            return t
    raise SystemExit(f"PROJ has no operation {epsg} from {source} to {target}")


def points(rng, box, n):
    west, south, east, north = box
    lon = rng.uniform(west, east + 360 if west > east else east, n)
    return (lon + 180) % 360 - 180, rng.uniform(south, north, n)


def inset(box, part=1e-4):
    west, south, east, north = box
    dx, dy = part * (east - west), part * (north - south)
    return west + dx, south + dy, east - dx, north - dy


def compare_system(code, folder):
    row = SYSTEMS[code]
    forward, inverse = without_grid(4326, code, code), without_grid(code, 4326, code)
    rng = numpy.random.default_rng(code)
    area = [float(row[k]) for k in ("west", "south", "east", "north")]
    domain = inset([float(row["domain " + k]) for k in ("west", "south", "east", "north")], 0.01)
    lon, lat = (numpy.concatenate(v) for v in zip(points(rng, area, POINTS), points(rng, domain, WIDE)))
    x, y = forward.transform(lon, lat)
    lon2, lat2 = inverse.transform(x, y)
    numpy.stack([lon, lat, x, y, lon2, lat2], 1).astype("<f8").tofile(folder / f"EPSG_{code}")


def compare_grid(file, operation, reversed_, folder):
    """Points of the grid's own area, there and back by PROJ's hgridshift."""
    shift = "+step {} +proj=hgridshift +grids=" + str(file)
    pipeline = "+proj=pipeline " + " ".join([UNIT.format("deg", "rad"), shift.format("+inv" if reversed_ else ""), UNIT.format("rad", "deg")])
    t = Transformer.from_pipeline(pipeline)
    source = SYSTEMS[int(operation["from"])]
    area = [float(source[k]) for k in ("west", "south", "east", "north")]
    lon, lat = points(numpy.random.default_rng(1), inset(area, -0.1), 3 * POINTS)
    x, y = t.transform(lon, lat)
    lon2, lat2 = t.transform(x, y, direction="INVERSE")
    numpy.stack([lon, lat, x, y, lon2, lat2], 1).astype("<f8").tofile(folder / f"GRID_{file.name}")


def compare_geoid(file, folder):
    """Heights of a geoid by PROJ's vgridshift."""
    t = Transformer.from_pipeline("+proj=pipeline " + " ".join([
        UNIT.format("deg", "rad"), "+step +proj=vgridshift +multiplier=1 +grids=" + str(file), UNIT.format("rad", "deg")]))
    south, west, step_y, step_x, rows, columns = struct.unpack(">4d2i", file.read_bytes()[:40])
    area = west, south, west + (columns - 1) * step_x, south + (rows - 1) * step_y
    lon, lat = points(numpy.random.default_rng(1), area, 3 * POINTS)
    x, y, height = t.transform(lon, lat, 0 * lon)
    zero = 0 * lon
    numpy.stack([lon, lat, height, zero, zero, zero], 1).astype("<f8").tofile(folder / f"GEOID_{file.name}")


def main():
    pyproj.network.set_network_enabled(False)
    grids = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for code, row in SYSTEMS.items():
            if row["method"] != "datum":
                compare_system(code, folder)
        for operation in SHIFTS if grids else []:
            for known in operation["files"].split(","):
                file = grids / known.lstrip("!")
                if known and file.exists():
                    compare_grid(file, operation, known.startswith("!"), folder)
        for row in csv.DictReader(open(HERE.parent / "heights.csv"), delimiter=";") if grids else []:
            if row["file"] and (grids / row["file"]).exists():
                compare_geoid(grids / row["file"], folder)
        head = {"made_by": "testdata/dense.py", "pyproj": pyproj.__version__, "proj": pyproj.proj_version_str,
                "epsg": pyproj.database.get_database_metadata("EPSG.VERSION"), "points": POINTS, "wide": WIDE}
        (folder / "head.json").write_text(json.dumps(head))
        env = {**os.environ, "CRS_DENSE": str(folder), "CRS_DENSE_GRIDS": str(grids or "")}
        subprocess.run(["go", "test", "-count=1", "-run", "TestDense", "-v", "."], cwd=HERE.parent, env=env, check=True)


main()
