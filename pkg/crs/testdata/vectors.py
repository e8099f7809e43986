#!/usr/bin/env python3
"""Writes the golden vectors of this folder with PROJ, the reference.

    python3 -m venv venv && venv/bin/pip install pyproj==3.7.2
    venv/bin/python pkg/crs/testdata/vectors.py

Every file holds sets of points. A set says which operation of PROJ made it; where
several exist, the one with the EPSG codes below is taken, never one with a grid.
Numbers are rounded as PROJ's input and output: coordinates that go in have fewer
digits than those that come out, so that the input is exact.

A point of vectors_*.json is
    [lon, lat, x, y, lon2, lat2]
lon, lat (WGS 84, degrees) give x, y; and x, y, rounded to 3 decimals if they are
metres and to 7 if they are degrees, give lon2, lat2. A point of pairs.json is [x, y, x2, y2], from one system to the other.
All are in the order longitude/easting, latitude/northing.
"""

import csv
import json
import pathlib
import random

import pyproj
from pyproj import CRS
from pyproj.transformer import Transformer, TransformerGroup

HERE = pathlib.Path(__file__).parent
POINTS = 200  # in the area of use
ZONES = 60  # of one zone of many
WIDE = 50  # in the domain of the package, which is wider
WIDE_ZONES = 10

# What the package supports, and the operations that it takes: testdata/table.py.
SYSTEMS = {int(r["code"]): r for r in csv.DictReader(open(HERE.parent / "systems.csv"), delimiter=";")}
SHIFTS = list(csv.DictReader(open(HERE.parent / "shifts.csv"), delimiter=";"))


def family(code):
    """The file of a code."""
    row = SYSTEMS[code]
    name = row["name"]
    if row["method"] == "geographic":
        return "geographic"
    for word, group in (("ETRS89 / UTM zone", "utm_etrs89"), ("NAD83 / UTM", "utm_nad83"), ("UTM zone", "utm_other"), ("MGA zone", "utm_other")):
        if word in name and not name.startswith("WGS 84"):
            return group
    if name.startswith("WGS 84 / UTM"):
        return "utm_wgs84_north" if name.endswith("N") else "utm_wgs84_south"
    return "zones" if any(code in zones for zones in ZONE_CODES) else "projected"


ZONE_CODES = [range(3942, 3951), range(27571, 27575), range(2176, 2180), range(3007, 3019), range(3873, 3886), range(31254, 31257)]


def to_wgs84(code):
    """EPSG code of the operation to WGS 84 without a grid. None: the datum is WGS 84,
    or PROJ has no operation for the area, and the null one is meant."""
    base = SYSTEMS[code]["datum"]
    if base == "4326" or code == 25838:
        return None
    return next(int(s["code"]) for s in SHIFTS if s["from"] == base and s["to"] == "4326" and s["kind"] != "ntv2")


# From, to, and the hops: each a pair of codes with the EPSG code of the change of
# datum in it, or None.
PAIRS = [
    (25832, 25833, [(25832, 25833, None)]),
    (32632, 32633, [(32632, 32633, None)]),
    (3857, 32632, [(3857, 32632, None)]),
    (25832, 3035, [(25832, 3035, None)]),
    (25832, 3857, [(25832, 3857, 1149)]),
    (2154, 25831, [(2154, 25831, 1591)]),
    (2056, 25832, [(2056, 25832, 1647)]),
    (2056, 2154, [(2056, 4258, 1647), (4258, 2154, 1591)]),
    (27700, 3857, [(27700, 3857, 1314)]),
    (27700, 25830, [(27700, 4326, 1314), (4326, 25830, 1149)]),
    (2154, 27700, [(2154, 4326, 1671), (4326, 27700, 1314)]),
    (5070, 3857, [(5070, 3857, 1188)]),
    (26917, 5070, [(26917, 5070, None)]),
    (5070, 32615, [(5070, 32615, 1188)]),
    (4258, 2056, [(4258, 2056, 1647)]),
    (4258, 3035, [(4258, 3035, None)]),
]


def transformer(source, target, epsg):
    """The transformer between two codes whose change of datum is EPSG's epsg."""
    group = TransformerGroup(source, target, always_xy=True, allow_ballpark=epsg is None)
    for t in group.transformers:
        codes = [op.to_json_dict().get("id", {}).get("code") for op in t.operations or []]
        grid = any(op.grids for op in t.operations or [])
        if not grid and (epsg is None or epsg in codes):
            return t
    raise SystemExit(f"PROJ has no operation {epsg} from {source} to {target}")


def definition(t):
    return t.definition.strip() or t.description


def digits(source):
    """Decimals of what goes in and of what comes out: 1 mm and 1 um or better."""
    return (7, 11) if CRS.from_epsg(source).is_geographic else (3, 6)


def rounded(pair, decimals):
    return [round(v, decimals) for v in pair]


def place(rng, box):
    west, south, east, north = box
    if west > east:  # across the antimeridian
        east += 360
    lon = rng.uniform(west, east)
    return rounded(((lon + 180) % 360 - 180 if abs(lon) > 180 else lon, rng.uniform(south, north)), 7)


def domain(code):
    """A box that lies in what the package transforms, around the area of use."""
    row = SYSTEMS[code]
    if code in (3857, 4326, 4258, 4269) or code // 100 in (326, 327) and code % 100 not in (33, 61):
        return None  # no more than the area, or one zone is like another
    west, south, east, north = (float(row["domain " + side]) for side in ("west", "south", "east", "north"))
    inset = 0.1
    return west + inset, south + inset, east - inset, north - inset


def laea_inverse(forward, inverse, x, y):
    """The place that PROJ's forward laea takes to x, y.

    PROJ 9.5.1 takes three terms for the authalic latitude in its inverse laea, which
    is up to 1.6 mm away from the inverse of its own forward. So the start is moved
    until the forward one, which has a closed form, arrives at x, y.
    """
    sx, sy = x, y
    for _ in range(4):
        lon, lat = inverse.transform(sx, sy)
        fx, fy = forward.transform(lon, lat)
        sx, sy = sx + x - fx, sy + y - fy
    return lon, lat


def point(forward, inverse, code, start):
    into, out = digits(code)
    there = rounded(forward.transform(*start), out)
    x, y = rounded(there, into)
    back = laea_inverse(forward, inverse, x, y) if code == 3035 else inverse.transform(x, y)
    return start + there + rounded(back, 11)


def vectors(code):
    epsg = to_wgs84(code)
    forward, inverse = transformer(4326, code, epsg), transformer(code, 4326, epsg)
    rng = random.Random(code)
    crs = CRS.from_epsg(code)
    area = crs.area_of_use.bounds
    zones = family(code) in ("zones", "utm_other")
    out = {
        "code": f"EPSG:{code}",
        "name": crs.name,
        "area": list(area),
        "axes": [a.direction for a in crs.axis_info],
        "operation": definition(forward),
        "points": [point(forward, inverse, code, place(rng, area)) for _ in range(ZONES if zones else POINTS)],
        "wide": [],
    }
    if box := domain(code):
        out["wide"] = [point(forward, inverse, code, place(rng, box)) for _ in range(WIDE_ZONES if zones else WIDE)]
    return out


def pair(source, target, hops):
    steps = [transformer(*hop) for hop in hops]
    start = transformer(CRS.from_epsg(source).geodetic_crs.to_epsg(), source, None)
    a, b = (CRS.from_epsg(c).area_of_use.bounds for c in (source, target))
    box = max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])
    rng = random.Random(source * target)
    points = []
    for _ in range(100):
        here = rounded(start.transform(*place(rng, box)), digits(source)[0])
        there = here
        for step in steps:
            there = step.transform(*there)
        points.append(here + rounded(there, digits(target)[1]))
    return {
        "from": f"EPSG:{source}", "to": f"EPSG:{target}",
        "operation": " | ".join(definition(s) for s in steps), "points": points,
    }


def write(name, sets):
    header = {
        "made_by": "testdata/vectors.py",
        "pyproj": pyproj.__version__,
        "proj": pyproj.proj_version_str,
        "epsg": pyproj.database.get_database_metadata("EPSG.VERSION"),
    }
    lines = []
    for s in sets:  # one point per line, so that a change can be read
        head = {k: v for k, v in s.items() if k not in ("points", "wide")}
        text = json.dumps(head)[:-1]
        for key in ("points", "wide"):
            if key in s:
                rows = ",\n".join(json.dumps(p, separators=(",", ":")) for p in s[key])
                text += f', "{key}": [\n{rows}\n]'
        lines.append(text + "}")
    body = json.dumps(header)[:-1] + ', "sets": [\n' + ",\n".join(lines) + "\n]}\n"
    json.loads(body)
    (HERE / name).write_text(body)


def main():
    pyproj.network.set_network_enabled(False)
    codes = {}
    for code, row in SYSTEMS.items():
        if row["method"] != "datum":
            codes.setdefault(family(code), []).append(code)
    for name, group in codes.items():
        write(f"vectors_{name}.json", [vectors(c) for c in group])
    write("pairs.json", [pair(*p) for p in PAIRS])


main()
