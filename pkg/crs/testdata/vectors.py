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

import json
import pathlib
import random

import pyproj
from pyproj import CRS
from pyproj.transformer import Transformer, TransformerGroup

HERE = pathlib.Path(__file__).parent
POINTS = 200  # in the area of use
WIDE = 50  # in the domain of the package, which is wider

# EPSG code of the operation to WGS 84, by datum. None: the datum is WGS 84, or
# PROJ has no operation for the area, and the null one is meant.
ETRS89, NAD83, RGF93, OSGB36, CH1903P = 1149, 1188, 1671, 1314, 1676

FAMILIES = {
    "geographic": {4326: None, 4258: ETRS89, 4269: NAD83},
    "projected": {3857: None, 27700: OSGB36, 2056: CH1903P, 2154: RGF93, 3035: ETRS89, 5070: NAD83},
    "utm_etrs89": {25800 + z: None if z == 38 else ETRS89 for z in range(28, 39)},
    "utm_nad83": {26900 + z: NAD83 for z in range(10, 20)},
    "utm_wgs84_north": {32600 + z: None for z in range(1, 61)},
    "utm_wgs84_south": {32700 + z: None for z in range(1, 61)},
}

# From, to, and the hops: each a pair of codes with the EPSG code of the change of
# datum in it, or None.
PAIRS = [
    (25832, 25833, [(25832, 25833, None)]),
    (32632, 32633, [(32632, 32633, None)]),
    (3857, 32632, [(3857, 32632, None)]),
    (25832, 3035, [(25832, 3035, None)]),
    (25832, 3857, [(25832, 3857, ETRS89)]),
    (2154, 25831, [(2154, 25831, 1591)]),
    (2056, 25832, [(2056, 25832, 1647)]),
    (2056, 2154, [(2056, 4258, 1647), (4258, 2154, 1591)]),
    (27700, 3857, [(27700, 3857, OSGB36)]),
    (27700, 25830, [(27700, 4326, OSGB36), (4326, 25830, ETRS89)]),
    (2154, 27700, [(2154, 4326, RGF93), (4326, 27700, OSGB36)]),
    (5070, 3857, [(5070, 3857, NAD83)]),
    (26917, 5070, [(26917, 5070, None)]),
    (5070, 32615, [(5070, 32615, NAD83)]),
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
    return rounded((lon - 360 if lon > 180 else lon, rng.uniform(south, north)), 7)


def domain(code):
    """A box that lies in what the package transforms, around the area of use."""
    west, south, east, north = CRS.from_epsg(code).area_of_use.bounds
    if code in (3857, 4326, 4258, 4269):
        return None
    if code in (27700, 2056, 2154, 3035, 5070):
        return west - 4.9, south - 4.9, east + 4.9, north + 4.9
    if code // 100 in (326, 327) and code % 100 != 33:
        return None  # one zone is like another
    middle = 6 * (code % 100) - 183
    return middle - 29.9, max(south - 5, -84.9), middle + 29.9, min(north, 84.9)


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


def vectors(code, epsg):
    forward, inverse = transformer(4326, code, epsg), transformer(code, 4326, epsg)
    rng = random.Random(code)
    area = CRS.from_epsg(code).area_of_use.bounds
    out = {
        "code": f"EPSG:{code}",
        "name": CRS.from_epsg(code).name,
        "area": list(area),
        "operation": definition(forward),
        "points": [point(forward, inverse, code, place(rng, area)) for _ in range(POINTS)],
        "wide": [],
    }
    if box := domain(code):
        out["wide"] = [point(forward, inverse, code, place(rng, box)) for _ in range(WIDE)]
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
    for family, codes in FAMILIES.items():
        write(f"vectors_{family}.json", [vectors(c, e) for c, e in codes.items()])
    write("pairs.json", [pair(*p) for p in PAIRS])


main()
