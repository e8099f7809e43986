#!/usr/bin/env python3
"""Writes small grid files for the tests, and what PROJ makes of them.

    python3 -m venv venv && venv/bin/pip install pyproj==3.7.2
    venv/bin/python pkg/crs/testdata/grids.py

The files have the names of published ones, since only those are read, and invented
numbers: parameters of the EPSG dataset with waves of some decimetres. They are good for
nothing but tests.

    grids/BETA2007.gsb     NTv2, two parts, one in the other; a hole of shifts that are 0
    grids/rgf93_ntf.gsb    NTv2 in big-endian order, for the way back
    grids.json             points and PROJ's results: [lon, lat, lon2, lat2, lon3, lat3] of
                           a shift and its inverse
"""

import json
import math
import pathlib
import random
import struct

import pyproj
from pyproj.transformer import Transformer

HERE = pathlib.Path(__file__).parent
GRIDS = HERE / "grids"
DEGREES = "+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad {} +step +proj=unitconvert +xy_in=rad +xy_out=deg"
DHDN = DEGREES.format("+step +proj=cart +ellps=bessel +step +proj=helmert +x=598.1 +y=73.7 +z=418.2 +rx=0.202 +ry=0.045 +rz=-2.455 "
                      "+s=6.7 +convention=position_vector +step +inv +proj=cart +ellps=GRS80")
NTF = DEGREES.format("+step +proj=cart +ellps=GRS80 +step +proj=helmert +x=168 +y=60 +z=-320 +step +inv +proj=cart +a=6378249.2 +b=6356515")


def nodes(box, step):
    """The nodes of a part in the order of NTv2: from south to north, each row from east to west."""
    west, south, east, north = box
    columns, rows = round((east - west) / step) + 1, round((north - south) / step) + 1
    return [(east - i * step, south + j * step) for j in range(rows) for i in range(columns)]


def shift(t, lon, lat, more):
    """Shifts in seconds, longitude to the west; more is in seconds, too."""
    x, y = t.transform(lon, lat)
    return (y - lat) * 3600 + more * math.sin(2 * lon + lat), -((x - lon) * 3600 + more * math.cos(lon - 3 * lat))


def ntv2(order, axes, parts, t):
    text = lambda s: s.ljust(8).encode()
    whole = lambda n: struct.pack(order + "i4x", n)
    real = lambda v: struct.pack(order + "d", v)
    out = b"".join([text("NUM_OREC"), whole(11), text("NUM_SREC"), whole(11), text("NUM_FILE"), whole(len(parts)),
                    text("GS_TYPE"), text("SECONDS"), text("VERSION"), text("TEST"), text("SYSTEM_F"), text("TEST"), text("SYSTEM_T"), text("TEST")])
    for name, axis in zip(("MAJOR_F", "MINOR_F", "MAJOR_T", "MINOR_T"), axes):
        out += text(name) + real(axis)
    for name, parent, box, step, more, hole in parts:
        points = nodes(box, step)
        west, south, east, north = (3600 * v for v in box)
        out += b"".join([text("SUB_NAME"), text(name), text("PARENT"), text(parent), text("CREATED"), text(""), text("UPDATED"), text("")])
        for key, v in (("S_LAT", south), ("N_LAT", north), ("E_LONG", -east), ("W_LONG", -west), ("LAT_INC", 3600 * step), ("LONG_INC", 3600 * step)):
            out += text(key) + real(v)
        out += text("GS_COUNT") + whole(len(points))
        for lon, lat in points:
            empty = hole and hole[0] <= lon <= hole[2] and hole[1] <= lat <= hole[3]
            out += struct.pack(order + "4f", *((0, 0) if empty else shift(t, lon, lat, more)), 0, 0)
    return out + text("END") + bytes(8)


def place(rng, box):
    return round(rng.uniform(box[0], box[2]), 7), round(rng.uniform(box[1], box[3]), 7)


def shifted(name, box, n, inverse=False, hole=None):
    t = Transformer.from_pipeline(DEGREES.format(f"+step {'+inv' if inverse else ''} +proj=hgridshift +grids={GRIDS / name}"))
    rng, out = random.Random(1), []
    while len(out) < n:
        lon, lat = place(rng, box)
        if hole and hole[0] <= lon <= hole[2] and hole[1] <= lat <= hole[3]:
            continue
        there = [round(v, 12) for v in t.transform(lon, lat)]
        back = [round(v, 12) for v in t.transform(lon, lat, direction="INVERSE")]
        out.append([lon, lat, *there, *back])
    return out


def main():
    pyproj.network.set_network_enabled(False)
    GRIDS.mkdir(exist_ok=True)
    bessel, grs80, clarke = (6377397.155, 6356078.963), (6378137.0, 6356752.314), (6378249.2, 6356515.0)
    dhdn = Transformer.from_pipeline(DHDN)
    (GRIDS / "BETA2007.gsb").write_bytes(ntv2("<", bessel + grs80, [
        ("ALL", "NONE", (5.5, 47.0, 16.0, 55.5), 0.5, 0.02, (15.0, 47.0, 16.0, 48.0)),
        ("MIDDLE", "ALL", (8.0, 50.0, 10.0, 51.0), 0.1, 0.02, None),
    ], dhdn))
    (GRIDS / "rgf93_ntf.gsb").write_bytes(ntv2(">", grs80 + clarke, [
        ("FRANCE", "NONE", (-5.5, 41.0, 10.0, 52.0), 0.5, 0.05, None),
    ], Transformer.from_pipeline(NTF)))
    sets = {
        "BETA2007.gsb": shifted("BETA2007.gsb", (5.6, 47.1, 14.4, 55.4), 300),
        "rgf93_ntf.gsb": shifted("rgf93_ntf.gsb", (-5.4, 41.1, 9.9, 51.9), 100, inverse=True),
    }
    body = ",\n".join(f'"{name}": [\n' + ",\n".join(json.dumps(p, separators=(",", ":")) for p in points) + "\n]" for name, points in sets.items())
    head = json.dumps({"made_by": "testdata/grids.py", "pyproj": pyproj.__version__, "proj": pyproj.proj_version_str})
    text = head[:-1] + ', "sets": {\n' + body + "\n}}\n"
    json.loads(text)
    (HERE / "grids.json").write_text(text)


main()
