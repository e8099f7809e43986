#!/usr/bin/env python3
"""Writes the tables of pkg/crs from the EPSG dataset that comes with PROJ.

    python3 -m venv venv && venv/bin/pip install pyproj==3.7.2
    venv/bin/python pkg/crs/testdata/table.py

The lists below say what the package supports: EPSG codes, and for each datum the
operations that leave it. All else (names, parameters, areas of use, axes, accuracies)
is the dataset's. It writes

    systems.csv   the supported systems, one in a line, by code; the rank is their place
                  in the lists below
    shifts.csv    the operations between their datums, by parameters or by a grid file

A name may have a comma in it, so the columns are parted by semicolons.
"""

import math
import pathlib
import sqlite3

import pyproj
from pyproj import CRS

HERE = pathlib.Path(__file__).parent.parent
DB = sqlite3.connect(pathlib.Path(pyproj.datadir.get_data_dir()) / "proj.db")

# Systems of latitudes and longitudes; each is a datum, too.
GEOGRAPHIC = [
    4326, 4258, 4269, 4277, 4149, 4150, 4171, 4275, 4289, 4313, 4314, 4312, 4156, 8351, 4619, 9702, 4167, 4283,
    7844, 4173, 4300, 4237, 4179, 4180, 4761, 4765, 4661, 4669, 4121, 4674,
]

# Those that are used far from home, since no parameters change on the way to WGS 84.
WORLD = [4326, 4258, 4269]

# Datums of projected systems that are not offered as systems themselves: the operation
# that leaves it is for one country (Romania), and the datum is used in many.
DATUM_ONLY = [4179]

# Projected systems by families, those that are used most first: messages name them in
# this order. The zones of a family are used for the whole country, so the domain of each
# is the area of all, and MARGIN beyond it.
FAMILIES = [
    [2056], [27700], [2154], [3035], [5070],
    range(25828, 25839), range(26910, 26920), range(32601, 32661), range(32701, 32761), [3857],
    range(31466, 31470), [28992], [21781], [31370], [31287], [5514], [2180], [3006], [3067], [2193], [3577],
    [3031], [3413], [3395],
    [4647], [3034], [3812], [2157], [29903], [8353], [23700], [3844], [3301], [3059], [3346], [3765], [3794], [3763], [2100],
    range(28348, 28359), range(7846, 7860), [3112], [9473], [7845], range(31978, 31986),
    [3338], [3978], [3347], [3005], [3976], [3995], [5041], [5042], [32661], [32761], [3832],
    range(3942, 3951), range(27571, 27575), [31254, 31255, 31256], range(2176, 2180), range(3007, 3019), range(3873, 3886),
]
MARGIN = 5
ARC_SECOND = math.pi / 180 / 3600

# UTM is used far beyond its zones: all of Norway is kept in zone 33. The longitudes are
# to each side of the central meridian.
REACH = 30
LATITUDES = {4326: (-85, 85), 4258: (25, 87), 4269: (10, 87), 4283: (-70, 0), 7844: (-70, 0), 4674: (-65, 40)}

# Operations between two datums that need no grid file.
PARAMETERS = [
    1149, 1188, 1671, 1591, 1314, 1676, 1647,
    1766, 1646, 1193, 1651, 4833, 9281, 15929, 15928, 1777, 1776, 1618, 1619, 1623, 1622, 8368, 8367,
    1879, 1878, 9772, 9703, 1565, 1150, 8048, 8450, 1678, 1611, 1954, 1953, 1448, 1449, 15995, 15994,
    1649, 1648, 15967, 15966, 15976, 15977, 1958, 8891, 1283, 8892, 1272, 15894,
]

# Operations by a grid file, with other names of the same file. They are listed from the
# older datum to the newer one; a name after "!" is that of a file for the way back, which
# is the one of the dataset where it has the datums the other way round.
GRIDS = {
    7709: [], 15948: [], 9338: [], 9310: [], 9940: [], 9282: [], 7000: [], 7674: [], 15486: [], 8369: [], 5891: [],
    9910: [], 6946: [], 15958: ["ntf_r93.gsb"],
}

JTSK = "1 m in Czechia as EPSG states, and in Slovakia up to 3 m from EPSG:4827, which is the one for it"
CH1903 = "the worst against the grid CHENyx06, their mean is 0.7 m and EPSG states 1.5 m"
NTF = "the worst against the grid ntf_r93, their mean is 1.4 m and EPSG states 2 m"

# Where the accuracy of the dataset does not tell it all: metres, or None for the
# dataset's, and what the package says of them.
NOTES = {
    1314: (5, "the worst of the 40 test points of OSTN15, their mean is 1.9 m and EPSG states 2 m"),
    1188: (None, "as EPSG states, though not for Hawaii, Puerto Rico and the outer Aleutians"),
    1622: (3, JTSK),
    1623: (3, JTSK),
    1646: (2, CH1903),
    1766: (2, CH1903),
    1651: (5, NTF),
    1193: (5, NTF),
    9282: (0.001, "the grid is the definition, EPSG states 0 m"),
}

METHODS = {
    "9807": "tmerc", "9802": "lcc2", "9801": "lcc1", "9822": "albers", "9820": "laea", "9815": "swiss", "1024": "web",
    "9804": "merc", "9810": "polar", "9829": "polar", "9809": "stereo", "1041": "krovak",
}


def query(text, *values):
    return DB.execute(text, values).fetchall()


def factor(unit):
    """What a unit is in metres, radians or 1."""
    return unit and query("select conv_factor from unit_of_measure where auth_name = 'EPSG' and code = ?", unit)[0][0]


def number(v):
    """A number as short as it can be."""
    return "" if v is None else repr(int(v) if float(v).is_integer() else float(v))


def degrees(p):
    """A parameter's value, grads as degrees."""
    return round(p.value * 0.9, 12) if p.unit_name == "grad" else p.value


def parameters(crs):
    """lon0, lat0, x0, y0, k, p1, p2."""
    v = {p.code: degrees(p) for p in crs.coordinate_operation.params}
    first = lambda *codes: next((v[c] for c in codes if c in v), None)
    lat0 = first(8801, 8821, 8811, "8801", "8821", "8811")
    lon0 = first(8802, 8822, 8812, 8833, "8802", "8822", "8812", "8833")
    x0, y0 = first("8806", "8826", "8816"), first("8807", "8827", "8817")
    k = first("8805", "8815", "8819")
    p1, p2 = first("8823", "1036", "8832"), first("8824", "8818")
    if p1 is not None and "8832" in v:  # polar stereographic B: the origin is the pole
        lat0 = 90 if p1 > 0 else -90
    return lon0, lat0, x0, y0, k, p1, p2


def greenwich(crs, lon0):
    """A longitude of the system's prime meridian as one of Greenwich."""
    paris = 2 + 20 / 60 + 14.025 / 3600  # as the IGN has it, and PROJ; the dataset has 2.5969213 grads, which is rounded
    return lon0 + {"Greenwich": 0, "Paris": paris}[crs.prime_meridian.name]


def datum(crs):
    """The geographic system of a projected one; NTF (Paris) is that of Greenwich."""
    code = crs.geodetic_crs.to_epsg()
    return {4807: 4275}.get(code, code)


def order(crs):
    first, second = crs.axis_info[:2]
    return "yx" if (first.direction, second.direction) == ("north", "east") or first.abbrev == "N" else "xy"


def unwrapped(areas, middle):
    """A box around areas, its longitudes within 180° of a meridian."""
    boxes = []
    for west, south, east, north in areas:
        while west > east:
            east += 360
        shift = 360 * round((middle - (west + east) / 2) / 360)
        boxes.append((west + shift, south, east + shift, north))
    return (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))


def domain(crs, method, lon0, lat0, family):
    base = datum(crs)
    if crs.to_epsg() == 3857:
        return crs.area_of_use.bounds
    if method == "polar":
        return lon0 - 180, min(0, lat0), lon0 + 180, max(0, lat0)
    if "UTM zone" in crs.name or "MGA zone" in crs.name:
        south, north = LATITUDES[base]
        return lon0 - REACH, south, lon0 + REACH, north
    return around([CRS.from_epsg(c).area_of_use.bounds for c in family], lon0)


def around(areas, lon0):
    """The domain of a system for areas."""
    west, south, east, north = unwrapped(areas, lon0)
    west, east = max(west - MARGIN, lon0 - 180), min(east + MARGIN, lon0 + 180)
    return west, max(south - MARGIN, -90), east, min(north + MARGIN, 90)


def box_of(crs):
    """The box of the area of use in the system's own coordinates, with 1 % and 1 km more:
    what is outside of it is certainly outside of the area."""
    west, south, east, north = unwrapped([crs.area_of_use.bounds], 0)
    steps = [i / 60 for i in range(61)]
    project = pyproj.Transformer.from_crs(datum(crs), crs, always_xy=True).transform
    points = [project(west + i * (east - west), south + j * (north - south)) for i in steps for j in steps]
    xs, ys = zip(*points)
    more_x, more_y = (0.01 * (max(v) - min(v)) + 1000 for v in (xs, ys))
    return [str(round(v)) for v in (min(xs) - more_x, min(ys) - more_y, max(xs) + more_x, max(ys) + more_y)]


def rounded(box):
    return [number(round(v, 9)) for v in box]


def system_rows():
    for code in GEOGRAPHIC:
        crs = CRS.from_epsg(code)
        a, rf = crs.ellipsoid.semi_major_metre, crs.ellipsoid.inverse_flattening
        if crs.ellipsoid.is_semi_minor_computed is False:
            rf = a / (a - crs.ellipsoid.semi_minor_metre)
        area = crs.area_of_use.bounds
        middle = round(sum(unwrapped([area], 0)[::2]) / 2) % 360
        middle, box = (0, (-180, -90, 180, 90)) if code in WORLD else (middle - 360 * (middle > 180), None)
        yield [str(code), crs.name, str(code), order(crs), "datum" if code in DATUM_ONLY else "geographic", *rounded(area),
               *rounded(box or around([area], middle)), str(middle), "", "", "", "", number(a), number(rf), "", "", "", ""]
    for family in FAMILIES:
        for code in family:
            crs = CRS.from_epsg(code)
            op = crs.coordinate_operation
            method = METHODS[op.method_code]
            lon0, lat0, x0, y0, k, p1, p2 = parameters(crs)
            lon0 = greenwich(crs, lon0)
            assert crs.axis_info[0].unit_name == "metre" and datum(crs) in GEOGRAPHIC, code
            yield [str(code), crs.name, str(datum(crs)), order(crs), method, *rounded(crs.area_of_use.bounds),
                   *rounded(domain(crs, method, lon0, lat0, family)), *map(number, (lon0, lat0, x0, y0, k, p1, p2)),
                   *box_of(crs)]


def shift_rows():
    for code in PARAMETERS:
        (row,) = query(
            "select name, source_crs_code, target_crs_code, accuracy, method_code, translation_uom_code, rotation_uom_code, "
            "scale_difference_uom_code, tx, ty, tz, rx, ry, rz, scale_difference from helmert_transformation_table "
            "where auth_name = 'EPSG' and code = ?", code)
        name, source, target, accuracy, method, *units = row[:8]
        method = {9603: "translation", 9606: "vector", 9607: "frame"}[method]
        to_metre, to_radian, to_unity = map(factor, units)
        sign = -1 if method == "frame" else 1  # in the table all are of the position vector convention
        shift = [v * to_metre for v in row[8:11]]
        turn = [round(sign * v * to_radian / ARC_SECOND, 12) for v in row[11:14] if v is not None]
        scale = [round(v * to_unity * 1e6, 12) for v in row[14:] if v is not None]
        values = (shift + turn + scale + [0] * 4)[:7]
        metres, note = NOTES.get(code, (None, ""))
        yield [str(code), name, str(source), str(target), number(accuracy if metres is None else metres),
               method if any(values) else "null", *map(number, values), "", note]
    for code, others in GRIDS.items():
        (row,) = query("select name, source_crs_code, target_crs_code, accuracy, grid_name, method_name from grid_transformation "
                       "where auth_name = 'EPSG' and code = ?", code)
        name, source, target, accuracy, grid, method = row
        assert method == "NTv2", code
        if source in (4171,):
            source, target, grid = target, source, "!" + grid
        metres, note = NOTES.get(code, (None, ""))
        yield [str(code), name, str(source), str(target), number(accuracy if metres is None else metres), "ntv2",
               *[""] * 7, ",".join([grid, *others]), note]


def write(name, head, rows):
    lines = [";".join(r) for r in rows]
    for line in lines:
        assert line.count(";") == head.count(";"), line
    (HERE / name).write_text(head + "\n" + "\n".join(lines) + "\n")
    print(name, len(lines))


def main():
    ranked = [[r[0], str(rank), *r[1:]] for rank, r in enumerate(system_rows())]
    write("systems.csv", "code;rank;name;datum;order;method;west;south;east;north;domain west;domain south;domain east;domain north;"
          "lon0;lat0;x0;y0;k;p1;p2;x min;y min;x max;y max", sorted(ranked, key=lambda r: int(r[0])))
    write("shifts.csv", "code;name;from;to;accuracy;kind;tx;ty;tz;rx;ry;rz;scale;files;note", shift_rows())


main()
