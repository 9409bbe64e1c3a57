"""Holds JSON against a client library's own pydantic types: nothing missing, nothing of a wrong type, nothing that
the type does not know."""
import json

import pydantic

TIMINGS = "hearth"  # how long an answer took, on every wire that has room for it

def unknown_fields(value, raw, at="$"):
    """Paths of raw's fields that the types of `value`, which was made from it, do not have."""
    if isinstance(value, pydantic.BaseModel):
        fields = type(value).model_fields
        names = {field.alias or name: name for name, field in fields.items()}
        for key, inner in raw.items():
            if key in names:
                yield from unknown_fields(getattr(value, names[key]), inner, f"{at}.{key}")
            else:
                yield f"{at}.{key}"
    elif isinstance(value, (list, tuple)) and isinstance(raw, list):
        for i, (one, inner) in enumerate(zip(value, raw, strict=True)):
            yield from unknown_fields(one, inner, f"{at}[{i}]")
    elif isinstance(value, dict) and isinstance(raw, dict):
        for key, inner in raw.items():
            yield from unknown_fields(value.get(key), inner, f"{at}.{key}")


def without_unknown(kind, raw):
    """A copy of `raw` without the fields that `kind` does not know."""
    copy = json.loads(json.dumps(raw))
    for path in unknown_fields(pydantic.TypeAdapter(kind).validate_python(raw), raw):
        *way, name = [int(part) if part.isdigit() else part for part in path[2:].replace("[", ".").replace("]", "").split(".")]
        holder = copy
        for step in way:
            holder = holder[step]
        del holder[name]
    return copy


def check(kind, raw, ours=()):
    """`raw` as an object of `kind`. @param ours  names of fields that are known to be additions of ours"""
    try:
        value = pydantic.TypeAdapter(kind).validate_python(raw)
    except pydantic.ValidationError as error:
        raise AssertionError(f"{error}\nin {json.dumps(raw)[:2000]}") from None
    unknown = [path for path in unknown_fields(value, raw) if path.split(".")[-1] not in {TIMINGS, *ours}]
    assert not unknown, f"{kind} does not know {unknown} of {json.dumps(raw)[:2000]}"
    return value


def events(response):
    """JSON of every event of a stream whose events are named by their type."""
    name = None
    for line in response.iter_lines():
        if line.startswith("event: "):
            assert name is None, f"{name} has no data"
            name = line[7:]
        elif line.startswith("data: "):
            event = json.loads(line[6:])
            assert event["type"] == name, f"event {name} says it is {event['type']}"
            name = None
            yield event
        else:
            assert line == "", f"neither event nor data: {line}"
