"""Writes vectors.json: geometries as GEOS writes them, in every dialect and byte order.

python -m venv venv && venv/bin/pip install shapely==2.1.2 && venv/bin/python vectors.py > vectors.json
"""

import json

import shapely

TEXTS = [
    "POINT (8.54 47.37)",
    "POINT Z (8.54 47.37 440.5)",
    "POINT EMPTY",
    "LINESTRING (0 0, 1.5 -2.25, 1e-7 3e22)",
    "LINESTRING Z (0 0 1, 1 1 2)",
    "LINESTRING EMPTY",
    "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0), (2 2, 2 4, 4 4, 4 2, 2 2))",
    "POLYGON Z ((0 0 5, 10 0 5, 10 10 6, 0 0 5))",
    "POLYGON EMPTY",
    "MULTIPOINT ((1 2), (3 4))",
    "MULTIPOINT Z ((1 2 3), (4 5 6))",
    "MULTIPOINT EMPTY",
    "MULTILINESTRING ((0 0, 1 1), (2 2, 3 3, 4 4))",
    "MULTILINESTRING EMPTY",
    "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 9 5, 9 9, 5 5), (6 6, 8 6, 8 7, 6 6)))",
    "MULTIPOLYGON EMPTY",
    "GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (0 0, 1 1), GEOMETRYCOLLECTION (POINT (3 4), POLYGON EMPTY))",
    "GEOMETRYCOLLECTION Z (POINT Z (1 2 3))",
    "GEOMETRYCOLLECTION EMPTY",
]

vectors = []
for text in TEXTS:
    g = shapely.from_wkt(text)
    extended = shapely.set_srid(g, 25832)
    form = lambda g, **how: shapely.to_wkb(g, hex=True, output_dimension=3 if g.has_z else 2, **how)
    vectors.append({
        "text": text,
        "wkt": shapely.to_wkt(g, rounding_precision=-1, trim=True),
        "wkb_little": form(g, flavor="iso", byte_order=1),
        "wkb_big": form(g, flavor="iso", byte_order=0),
        "ewkb_little": form(extended, flavor="extended", byte_order=1, include_srid=True),
        "ewkb_big": form(extended, flavor="extended", byte_order=0, include_srid=True),
        "ewkb_no_srid": form(g, flavor="extended", byte_order=1),
    })
print(json.dumps({"writer": f"shapely {shapely.__version__}, GEOS {shapely.geos_version_string}", "vectors": vectors}, indent=1))
