"""Writes vectors.json: schemas, their canonical forms and fingerprints, and data, as fastavro has them.

python -m venv venv && venv/bin/pip install fastavro==1.13.1 && venv/bin/python vectors.py > vectors.json

`json` is what the data must become here; fastavro has no such form, so it is written out.
"""

import datetime as dt
import decimal
import io
import json
import uuid

import fastavro
from fastavro.schema import fingerprint, to_parsing_canonical_form

UTC = dt.timezone.utc


def record(*fields, name="R", **more):
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields], **more}


CASES = [
    ("primitive_long", "long", -9007199254740993, "-9007199254740993"),
    ("logical_type_alone", {"type": "long", "logicalType": "timestamp-millis"}, dt.datetime(2026, 11, 3, 4, 5, 6, 789000, UTC),
     '"2026-11-03T04:05:06.789Z"'),
    ("logical_types_in_a_record", record(
        ("at", {"type": "long", "logicalType": "timestamp-micros"}),
        ("day", {"type": "int", "logicalType": "date"}),
        ("clock", {"type": "int", "logicalType": "time-millis"}),
        ("clock_micros", {"type": "long", "logicalType": "time-micros"}),
        ("local", {"type": "long", "logicalType": "local-timestamp-millis"}),
        ("id", {"type": "string", "logicalType": "uuid"}),
        ("area", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}),
        ("owed", {"type": "fixed", "name": "Money", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4}),
        ("unknown", {"type": "long", "logicalType": "moon-phase"}),
    ), {
        "at": dt.datetime(2026, 11, 3, 4, 5, 6, 789123, UTC), "day": dt.date(1969, 12, 31), "clock": dt.time(4, 5, 6, 7000),
        "clock_micros": dt.time(23, 59, 59, 999999), "local": dt.datetime(2026, 11, 3, 4, 5, 6),
        "id": uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), "area": decimal.Decimal("-0.05"), "owed": decimal.Decimal("12.5000"),
        "unknown": 3,
    }, '{"at":"2026-11-03T04:05:06.789123Z","day":"1969-12-31","clock":"04:05:06.007","clock_micros":"23:59:59.999999",'
       '"local":"2026-11-03T04:05:06","id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","area":"-0.05","owed":"12.5000","unknown":3}'),
    ("names_and_namespaces", record(
        ("kind", {"type": "enum", "name": "Kind", "symbols": ["HOUSE", "BARN"], "doc": "of building"}),
        ("other", "Kind"),
        ("far", {"type": "fixed", "name": "elsewhere.Tag", "size": 2, "aliases": ["T"]}),
        ("again", "elsewhere.Tag"),
        ("inner", record(("deep", {"type": "enum", "name": "Deep", "symbols": ["A"]}), name="Inner", namespace="z.y")),
        ("none", record(("x", "int"), name="Bare", namespace="")),
        name="Building", namespace="geo.example", doc="A building", aliases=["House"],
    ), {"kind": "BARN", "other": "HOUSE", "far": b"\x01\xff", "again": b"ab", "inner": {"deep": "A"}, "none": {"x": 1}},
     '{"kind":"BARN","other":"HOUSE","far":"Af8=","again":"YWI=","inner":{"deep":"A"},"none":{"x":1}}'),
    ("unions_and_containers", record(
        ("name", ["null", "string"]),
        ("height", ["null", "double", {"type": "long", "logicalType": "timestamp-millis"}]),
        ("tags", {"type": "map", "values": ["int", "string"]}),
        ("ring", {"type": "array", "items": {"type": "array", "items": "double"}}),
        ("small", "float"),
        ("yes", "boolean"),
        ("nothing", "null"),
        ("wkb", "bytes"),
    ), {"name": "Häuschen", "height": 12.25, "tags": {"levels": 2, "roof": "flat"}, "ring": [[8.5, 47.25], []], "small": 0.1, "yes": True,
        "nothing": None, "wkb": b"\x01\x02"},
     '{"name":"Häuschen","height":12.25,"tags":{"levels":2,"roof":"flat"},"ring":[[8.5,47.25],[]],"small":0.1,"yes":true,"nothing":null,"wkb":"AQI="}'),
    ("holds_itself", record(("value", "int"), ("next", ["null", "Chain"]), name="Chain"),
     {"value": 1, "next": {"value": 2, "next": None}}, '{"value":1,"next":{"value":2,"next":null}}'),
    ("wrapped_types", record(("a", {"type": "string", "avro.java.string": "String"}), ("b", {"type": "array", "items": {"type": "int"}})),
     {"a": "x", "b": [1, 300]}, '{"a":"x","b":[1,300]}'),
]

out = []
for name, schema, datum, text in CASES:
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), datum)
    canonical = to_parsing_canonical_form(schema)
    out.append({
        "name": name, "schema": json.dumps(schema), "canonical": canonical, "fingerprint": fingerprint(canonical, "CRC-64-AVRO"),
        "data": data.getvalue().hex(), "json": text,
    })
print(json.dumps({"writer": f"fastavro {fastavro.__version__}", "vectors": out}, indent=1, ensure_ascii=False))
