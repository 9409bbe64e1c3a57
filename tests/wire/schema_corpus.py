"""JSON schemas for constrained decoding: (name, schema, keyword that must be refused or None).

Written for hearth after the shapes that the keyword files of the JSON Schema Test Suite walk through,
and after the tool definitions that coding agents send.
"""


def obj(properties, required=None, **more):
    schema = {"type": "object", "properties": properties, **more}
    schema["required"] = list(properties) if required is None else required
    return schema


STR, INT, NUM, BOOL, NULL = ({"type": t} for t in ("string", "integer", "number", "boolean", "null"))
CLOSED = {"additionalProperties": False}


def arr(items, **more):
    return {"type": "array", "items": items, **more}


def types():
    for name in ("string", "integer", "number", "boolean", "null", "object", "array"):
        yield f"type {name}", {"type": name}
        yield f"type {name} inside", obj({"v": {"type": name}}, **CLOSED)
        yield f"type {name} or null", obj({"v": {"type": [name, "null"]}} if name != "null" else {"v": NULL}, **CLOSED)
        yield f"array of {name}", arr({"type": name}, maxItems=2)
    yield "types as a list of one", {"type": ["boolean"]}
    yield "three types", obj({"v": {"type": ["integer", "boolean", "string"]}})
    yield "any by true", obj({"v": True, "w": BOOL})
    yield "any by an empty schema", obj({"v": {}, "w": BOOL})
    yield "true alone", True
    yield "empty alone", {}


def enums():
    lists = {"strings": ["red", "green", "blue"], "numbers": [1, 2.5, -3, 0], "mixed": ["a", 1, None, True, False],
             "one": ["only"], "quotes": ['a"b', "back\\slash", "line\nbreak", "tab\t"], "words of other scripts":
             ["北", "ü", "🚀", "नमस्ते", "عربى"], "nested": [{"a": 1}, [1, 2], {"b": {"c": [True]}}], "empty string": ["", "x"],
             "prefixes": ["a", "ab", "abc"], "blanks": [" a", "b ", "c d"], "slashes": ["a/b", "//", "\\/"],
             "large numbers": [123456789012, -98765432109], "keyword-like": ["null", "true", "{}", "[]"]}
    for name, values in lists.items():
        yield f"enum of {name}", {"enum": values}
        yield f"enum of {name} inside", obj({"v": {"enum": values}, "w": BOOL}, **CLOSED)
        yield f"array of enum of {name}", arr({"enum": values}, minItems=1, maxItems=3)
    for value in ("x", 5, 1.25, None, True, False, {"k": "v"}, [1, "two"], {}, [], "ü\"\\"):
        yield f"const {value!r}", obj({"v": {"const": value}}, **CLOSED)
    yield "enum with type", obj({"v": {"type": "string", "enum": ["a", "b", 3]}}, **CLOSED)
    yield "const beside enum", obj({"v": {"enum": [1, 2, 3], "const": 2}}, **CLOSED)


def numbers():
    bounds = [{"minimum": 3, "maximum": 7}, {"minimum": -5, "maximum": 5}, {"minimum": 0}, {"maximum": 0},
              {"exclusiveMinimum": 0, "exclusiveMaximum": 2}, {"minimum": 10, "maximum": 10}, {"minimum": 99, "maximum": 1001},
              {"minimum": -1000, "maximum": -7}, {"exclusiveMinimum": -3, "maximum": 0}, {"minimum": 1000000},
              {"minimum": 1, "exclusiveMaximum": 100}]
    for i, bound in enumerate(bounds):
        yield f"integer bounds {i}", obj({"v": {"type": "integer", **bound}}, **CLOSED)
        yield f"number bounds {i}", obj({"v": {"type": "number", **bound}}, **CLOSED)
    for i, bound in enumerate(({"minimum": 0.5, "maximum": 1.5}, {"minimum": -0.25, "maximum": 0.25},
                               {"exclusiveMinimum": 1.1, "maximum": 2}, {"minimum": 3.14, "maximum": 3.15})):
        yield f"fractional bounds {i}", obj({"v": {"type": "number", **bound}}, **CLOSED)
    for step in (2, 3, 5, 7, 10, 100, 0.5, 0.25):
        kind = "integer" if isinstance(step, int) else "number"
        yield f"multiples of {step}", obj({"v": {"type": kind, "multipleOf": step}}, **CLOSED)
    yield "multiples in bounds", obj({"v": {"type": "integer", "multipleOf": 5, "minimum": 10, "maximum": 40}}, **CLOSED)
    yield "old exclusive bounds", obj({"v": {"type": "integer", "minimum": 1, "exclusiveMinimum": 1}}, **CLOSED)
    yield "bounds without a type", obj({"v": {"minimum": 2, "maximum": 4}}, **CLOSED)


def strings():
    for low, high in ((0, 3), (2, 4), (1, 1), (5, None), (0, 0), (10, 20)):
        bound = {"minLength": low} | ({} if high is None else {"maxLength": high})
        yield f"length {low} to {high}", obj({"v": {"type": "string", **bound}}, **CLOSED)
    patterns = ["^[A-Z]{2}-\\d{3}$", "\\d+", "^a", "b$", "^(foo|bar)+$", "^[\\w-]+$", "^\\s*x\\s*$", "^[^0-9]{1,5}$", "^$|^x{3}$",
                "^[a-z]+(\\.[a-z]+)*$", "^\\+?[0-9]{7,15}$", "^#[0-9a-fA-F]{6}$", "^v\\d+\\.\\d+\\.\\d+$", "^/(\\w+/)*\\w+$",
                "^\\S+@\\S+$", "^[A-Za-z_][A-Za-z0-9_]*$", "^.{2,5}$", "^é+$", "^\"quoted\"$", "^(?:a|b)c?$", "^[\\d\\s]+$",
                "x", "^\\d{4}-\\d{2}-\\d{2}$", "^[^\\\\]{3}$"]
    for pattern in patterns:
        yield f"pattern {pattern}", obj({"v": {"type": "string", "pattern": pattern}}, **CLOSED)
    yield "pattern and length", obj({"v": {"type": "string", "pattern": "^[ab]+$", "minLength": 2, "maxLength": 4}}, **CLOSED)
    yield "pattern without a type", obj({"v": {"pattern": "^q+$"}}, **CLOSED)
    yield "array of patterns", arr({"type": "string", "pattern": "^[\\w-]+$", "minLength": 1}, maxItems=3)
    for name in ("date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri", "regex", "idn-email",
                 "json-pointer", "made-up", "binary"):
        yield f"format {name}", obj({"v": {"type": "string", "format": name}}, **CLOSED)


def arrays():
    for low, high in ((0, 0), (1, 1), (2, 3), (0, 4), (3, 3), (5, 6)):
        yield f"items {low} to {high}", arr(INT, minItems=low, maxItems=high)
    yield "at least two", arr(BOOL, minItems=2)
    yield "a tuple", {"type": "array", "prefixItems": [STR, INT, BOOL], "items": False, "minItems": 3}
    yield "a tuple and more", {"type": "array", "prefixItems": [NULL, INT], "items": BOOL, "minItems": 2, "maxItems": 4}
    yield "a tuple of any length", {"type": "array", "prefixItems": [BOOL, BOOL, BOOL], "items": False}
    yield "an open tuple", {"type": "array", "prefixItems": [BOOL], "maxItems": 2}
    yield "arrays of arrays", arr(arr(INT, maxItems=2), minItems=1, maxItems=2)
    yield "arrays of objects", arr(obj({"id": INT}, **CLOSED), minItems=1, maxItems=3)
    yield "no items allowed", {"type": "array", "items": False}
    yield "array without items", {"type": "array", "maxItems": 2}
    yield "items without a type", {"items": BOOL, "maxItems": 2}
    yield "unique of at most one", arr(STR, uniqueItems=True, maxItems=1)
    yield "unique is false", arr(BOOL, uniqueItems=False, maxItems=3)
    yield "large maxItems", arr(BOOL, maxItems=500)
    yield "old tuple", {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [BOOL, INT],
                        "additionalItems": False}


def objects():
    yield "no properties", {"type": "object", **CLOSED}
    yield "one of two required", obj({"a": INT, "b": BOOL}, ["a"], **CLOSED)
    yield "none required", obj({"a": INT, "b": BOOL, "c": NULL}, [], **CLOSED)
    yield "last required", obj({"a": INT, "b": BOOL, "c": NULL}, ["c"], **CLOSED)
    yield "open object", obj({"a": INT})
    yield "required without a property", {"type": "object", "properties": {"a": INT}, "required": ["a", "b"]}
    yield "additional of a type", obj({"a": INT}, additionalProperties=BOOL)
    yield "additional alone", {"type": "object", "additionalProperties": INT, "maxProperties": 2}
    yield "any additional", obj({"a": INT}, additionalProperties=True)
    yield "pattern properties", {"type": "object", "patternProperties": {"^n_": INT}, **CLOSED}
    yield "pattern properties, one at least", {"type": "object", "patternProperties": {"^n_": INT}, "minProperties": 1, **CLOSED}
    yield "two patterns", {"type": "object", "patternProperties": {"^a": INT, "^b": BOOL}, **CLOSED}
    yield "pattern and property", {"type": "object", "properties": {"n_x": {"minimum": 3}}, "required": ["n_x"],
                                   "patternProperties": {"^n_": INT}, **CLOSED}
    yield "at most none", {"type": "object", "maxProperties": 0}
    yield "exactly one of", obj({"a": INT, "b": BOOL}, [], minProperties=1, maxProperties=1, **CLOSED)
    yield "at least one of", obj({"a": INT, "b": BOOL}, [], minProperties=1, **CLOSED)
    yield "at most one of", obj({"a": INT, "b": BOOL}, [], maxProperties=1, **CLOSED)
    for key in ("with space", "quote\"d", "ünïcode", "北", "a/b", "a~b", "$ref", "type", "properties", "", "back\\slash", "new\nline"):
        yield f"key {key!r}", obj({key: BOOL, "other": NULL}, **CLOSED)
    yield "a property that is forbidden", obj({"a": False, "b": INT}, ["b"], **CLOSED)
    yield "order of keys", obj({k: BOOL for k in "zyxabc"}, **CLOSED)
    yield "many properties", obj({f"field_{i}": BOOL for i in range(30)}, **CLOSED)
    yield "many optional properties", obj({f"field_{i}": BOOL for i in range(30)}, [], **CLOSED)
    yield "property names of strings", {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": INT}
    deep = BOOL
    for i in range(12):
        deep = obj({f"d{i}": deep}, **CLOSED)
    yield "deep nesting", deep
    yield "properties without a type", {"properties": {"a": INT}, "required": ["a"]}
    yield "unevaluated is closed", {"type": "object", "properties": {"a": INT}, "unevaluatedProperties": False}


def applicators():
    yield "anyOf types", obj({"v": {"anyOf": [STR, NULL]}}, **CLOSED)
    yield "anyOf objects", {"anyOf": [obj({"a": INT}, **CLOSED), obj({"b": BOOL}, **CLOSED)]}
    yield "anyOf consts", obj({"v": {"anyOf": [{"const": "low"}, {"const": "high"}]}}, **CLOSED)
    yield "anyOf of one", {"anyOf": [BOOL]}
    yield "anyOf beside properties", obj({"a": INT, "b": INT}, [], anyOf=[{"required": ["a"]}, {"required": ["b"]}])
    yield "anyOf with lengths", obj({"v": {"anyOf": [{"type": "string", "minLength": 2, "maxLength": 4}, NULL]}}, **CLOSED)
    yield "oneOf of kinds", {"oneOf": [
        obj({"kind": {"const": "a"}, "v": BOOL}, **CLOSED),
        obj({"kind": {"const": "b"}, "w": {"type": "string", "pattern": "^[A-Z]{2}-\\d{3}$"}}, **CLOSED)]}
    yield "oneOf of types", obj({"v": {"oneOf": [INT, BOOL, NULL]}}, **CLOSED)
    yield "oneOf of arrays and objects", {"oneOf": [arr(INT, maxItems=2), obj({"a": INT}, **CLOSED)]}
    yield "oneOf of consts", obj({"v": {"oneOf": [{"const": "x"}, {"const": "y"}]}}, **CLOSED)
    yield "allOf objects", {"allOf": [obj({"a": INT}), obj({"b": BOOL})]}
    yield "allOf bounds", obj({"v": {"allOf": [{"type": "integer", "minimum": 2}, {"maximum": 6}]}}, **CLOSED)
    yield "allOf of one", {"allOf": [obj({"a": INT}, **CLOSED)]}
    yield "allOf patterns", obj({"v": {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "z$"}]}}, **CLOSED)
    yield "allOf beside properties", obj({"a": INT}, allOf=[{"properties": {"a": {"minimum": 3, "maximum": 9}}}])
    yield "allOf with anyOf", {"allOf": [{"anyOf": [obj({"a": INT}), obj({"b": INT})]}, obj({"c": BOOL})]}
    yield "anyOf in anyOf", {"anyOf": [{"anyOf": [BOOL, NULL]}, {"enum": ["x"]}]}
    yield "anyOf with a false", {"anyOf": [False, BOOL]}


def references():
    node = obj({"label": STR, "kids": arr({"$ref": "#/$defs/node"}, maxItems=2)}, ["label"])
    yield "a tree", {"$ref": "#/$defs/node", "$defs": {"node": node}}
    yield "a list", {"$ref": "#/$defs/cell", "$defs": {"cell": obj(
        {"n": INT, "next": {"anyOf": [{"$ref": "#/$defs/cell"}, NULL]}}, **CLOSED)}}
    yield "reference to a property", obj({"tags": arr({"type": "string", "pattern": "^[\\w-]+$"}, maxItems=2),
                                          "more": {"$ref": "#/properties/tags"}}, **CLOSED)
    yield "definitions of old", obj({"v": {"$ref": "#/definitions/d"}}, definitions={"d": BOOL}, **CLOSED)
    yield "reference to the root", obj({"v": INT, "again": {"anyOf": [{"$ref": "#"}, NULL]}}, **CLOSED)
    yield "reference with siblings", obj({"v": {"$ref": "#/$defs/d", "description": "x"}}, **{"$defs": {"d": BOOL}}, **CLOSED)
    yield "reference through a reference", obj({"v": {"$ref": "#/$defs/a"}}, **CLOSED,
                                               **{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": BOOL}})
    yield "escaped pointers", obj({"v": {"$ref": "#/$defs/a~1b"}, "w": {"$ref": "#/$defs/c%20d"}}, **CLOSED,
                                  **{"$defs": {"a/b": BOOL, "c d": NULL}})
    yield "an anchor", obj({"v": {"$ref": "#here"}}, **CLOSED, **{"$defs": {"d": {"$anchor": "here", "type": "boolean"}}})
    yield "an identifier", {"$id": "https://example.com/root.json", "type": "object", "properties": {
        "v": {"$ref": "#/$defs/d"}, "w": {"$ref": "https://example.com/root.json#/$defs/d"}}, "required": ["v", "w"],
        "$defs": {"d": BOOL}, **CLOSED}
    yield "allOf and references", {"allOf": [{"$ref": "#/$defs/base"}, obj({"extra": BOOL})], "$defs": {"base": obj({"id": INT})}}
    yield "unused definitions of any kind", obj({"v": BOOL}, **CLOSED, **{"$defs": {"odd": {"not": {}}, "worse": {"if": {}}}})
    yield "mutual recursion", {"$ref": "#/$defs/a", "$defs": {
        "a": obj({"b": {"anyOf": [{"$ref": "#/$defs/b"}, NULL]}}, **CLOSED),
        "b": obj({"a": {"anyOf": [{"$ref": "#/$defs/a"}, NULL]}}, **CLOSED)}}
    yield "components of elsewhere", obj({"v": {"$ref": "#/components/schemas/d"}}, **CLOSED,
                                         components={"schemas": {"d": BOOL}})


def annotations():
    for name, value in {"title": "T", "description": "D", "default": 3, "examples": [1], "deprecated": True, "readOnly": True,
                        "writeOnly": True, "$comment": "c", "x-order": 5, "nullable": True, "markdownDescription": "m",
                        "enumDescriptions": ["a"], "contentMediaType": "text/plain", "contentEncoding": "base64",
                        "example": 2, "discriminator": {"propertyName": "k"}, "xml": {"name": "x"}, "minContains": 2,
                        "then": {"type": "string"}, "contentSchema": {"type": "string"}}.items():
        yield f"annotation {name}", obj({"v": {"type": "integer", name: value}}, **CLOSED)
        yield f"annotation {name} at the root", obj({"v": INT}, **CLOSED, **{name: value})
    for draft in ("http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#",
                  "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema",
                  "https://json-schema.org/draft/2020-12/schema"):
        yield f"draft {draft}", {"$schema": draft, **obj({"v": INT, "w": arr(BOOL, maxItems=2)}, **CLOSED)}
    yield "options of the library are no one's to set", obj({"v": INT}, **CLOSED, **{"x-guidance": {"lenient": True}})


def tools():
    path = {"type": "string", "description": "The absolute path to the file"}
    yield "tool read", obj({"file_path": path, "offset": {"type": "number"}, "limit": {"type": "number"}}, ["file_path"],
                           **CLOSED, **{"$schema": "http://json-schema.org/draft-07/schema#"})
    yield "tool bash", obj({"command": STR, "timeout": {"type": "number", "maximum": 600000}, "description": STR,
                            "run_in_background": BOOL}, ["command"], **CLOSED)
    yield "tool edit", obj({"file_path": path, "old_string": STR, "new_string": STR,
                            "replace_all": {"type": "boolean", "default": False}}, ["file_path", "old_string", "new_string"], **CLOSED)
    yield "tool multi edit", obj({"file_path": path, "edits": arr(obj({"old": STR, "new": STR}, **CLOSED), minItems=1)}, **CLOSED)
    yield "tool grep", obj({"pattern": STR, "path": STR, "output_mode": {"enum": ["content", "files_with_matches", "count"]},
                            "-A": {"type": "number"}, "-i": BOOL, "head_limit": {"type": "number"}}, ["pattern"], **CLOSED)
    yield "tool todo", obj({"todos": arr(obj({
        "content": {"type": "string", "minLength": 1}, "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        "id": STR}, **CLOSED))}, **CLOSED)
    yield "tool fetch", obj({"url": {"type": "string", "format": "uri"}, "prompt": STR}, **CLOSED)
    yield "tool ask", obj({"questions": arr(obj({
        "question": STR, "header": STR, "multiSelect": BOOL, "options": arr(obj({"label": STR, "description": STR}, **CLOSED),
                                                                            minItems=2, maxItems=4)}, **CLOSED),
        minItems=1, maxItems=4)}, **CLOSED)
    yield "tool of a record", obj({"answers": {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": STR}}, [])
    yield "tool patch", obj({"operations": arr({"oneOf": [
        obj({"op": {"const": "add"}, "path": STR, "value": {}}, **CLOSED),
        obj({"op": {"const": "remove"}, "path": STR}, **CLOSED)]}, maxItems=3)}, **CLOSED)
    yield "tool weather", obj({"location": STR, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}, ["location"])
    yield "tool strict nullable", obj({"city": STR, "unit": {"type": ["string", "null"], "enum": ["c", "f", None]}}, **CLOSED)
    yield "tool without parameters", {"type": "object", "properties": {}}
    yield "tool hard", obj({
        "urgency": {"anyOf": [{"const": "low"}, {"const": "high"}]}, "note_id": {"type": "string", "pattern": "\\d+"},
        "tags": arr({"type": "string", "pattern": "^[\\w-]+$", "minLength": 1}), "more_tags": {"$ref": "#/properties/tags"},
        "tree": {"$ref": "#/$defs/node"}, "extra": {"type": ["string", "null"]}, "free": {}},
        ["urgency", "note_id", "tags", "tree"],
        **{"$defs": {"node": obj({"label": STR, "kids": arr({"$ref": "#/$defs/node"})}, ["label"])}})
    yield "record of the case", obj({
        "zeta": {"enum": ["北", "ü", "a\"b", "line\nbreak"]}, "alpha": {"$ref": "#/$defs/part"},
        "mid": {"type": "integer", "minimum": 3, "maximum": 7}, "list": arr(NUM, minItems=2, maxItems=3),
        "maybe": {"anyOf": [{"type": "string", "minLength": 2, "maxLength": 4}, NULL]},
        "pick": {"oneOf": [obj({"kind": {"const": "a"}, "v": BOOL}, **CLOSED),
                           obj({"kind": {"const": "b"}, "w": {"type": "string", "pattern": "^[A-Z]{2}-\\d{3}$"}}, **CLOSED)]}},
        **CLOSED, **{"$defs": {"part": obj({"n": INT, "next": {"anyOf": [{"$ref": "#/$defs/part"}, NULL]}}, **CLOSED)}})


def refused():
    """What no grammar here can hold, and the keyword that the answer must name."""
    inside = {
        "not": {"not": STR}, "contains": arr(INT, contains={"const": 1}), "dependentRequired": {
            "type": "object", "dependentRequired": {"a": ["b"]}},
        "dependentSchemas": {"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}},
        "dependencies": {"type": "object", "dependencies": {"a": ["b"]}},
        "uniqueItems": arr(INT, uniqueItems=True), "if": {"if": STR, "then": {"minLength": 3}},
        "propertyNames": {"type": "object", "propertyNames": {"pattern": "^a"}},
        "unevaluatedProperties": {"allOf": [obj({"a": INT})], "unevaluatedProperties": False},
        "unevaluatedItems": {"anyOf": [arr(INT)], "unevaluatedItems": False},
        "$dynamicRef": {"$dynamicRef": "#x"}, "$ref": {"$ref": "#/$defs/absent"}, "multipleOf": {"type": "number", "multipleOf": 0.01},
        "minProperties": {"type": "object", "additionalProperties": INT, "minProperties": 2},
        "oneOf": {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "integer", "maximum": 5}]},
        "const": {"const": "bell\u0007"}, "enum": {"enum": ["\u0000"]},
    }
    for keyword, schema in inside.items():
        yield f"refused {keyword}", obj({"k": schema}), keyword
        yield f"refused {keyword} in items", arr(schema, minItems=1), keyword
    for pattern in ("(?<=x)y", "[unclosed", "(?=a)b", "a\\b", "\\1(a)", "(unclosed", "*", "[a&&b]"):
        yield f"refused pattern {pattern}", obj({"k": {"type": "string", "pattern": pattern}}), "pattern"
    yield "refused reference elsewhere", obj({"k": {"$ref": "https://example.com/other.json"}}), "$ref"
    yield "refused reference in anyOf", obj({"k": {"anyOf": [BOOL, {"$ref": "#/nowhere"}]}}), "$ref"
    yield "refused type", obj({"k": {"type": "text"}}), "type"
    yield "refused bounds", obj({"k": {"type": "integer", "minimum": 5, "maximum": 4}}), "minimum"
    yield "refused in a definition", {"$ref": "#/$defs/d", "$defs": {"d": {"not": {}}}}, "not"
    yield "refused false", False, "false"


def corpus():
    held = [(name, schema, None) for part in (types, enums, numbers, strings, arrays, objects, applicators, references, annotations,
                                              tools) for name, schema in part()]
    return held + list(refused())
