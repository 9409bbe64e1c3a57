"""Conversations for renderings.py: 24 that templates should take, with tools, thinking and odd text."""
TYPES = {"type": "function", "function": {
    "name": "book", "description": "5 < 6 & café \"quoted\" 'single'", "parameters": {
        "type": "object", "properties": {
            "when": {"type": "string", "description": "ISO date", "enum": ["today", "tomorrow"]},
            "count": {"type": "integer", "minimum": 1, "default": 2},
            "price": {"type": "number", "maximum": 1e16, "multipleOf": 0.01},
            "flags": {"type": "array", "items": {"type": "boolean"}},
            "where": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}}},
        "required": ["when", "count"]}}}
PING = {"type": "function", "function": {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}}}


def call(name, arguments, content="", number=1):
    return {"role": "assistant", "content": content, "tool_calls": [
        {"id": f"call{number:05d}", "type": "function", "function": {"name": name, "arguments": arguments}}]}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def system(text):
    return {"role": "system", "content": text}


def result(text, number=1, name="book"):
    return {"role": "tool", "name": name, "tool_call_id": f"call{number:05d}", "content": text}


ARGUMENTS = {"when": "today", "count": 2, "price": 1.5e-07, "flags": [True, False, None], "where": {"lat": 47.0, "note": "Zürich \"x\""}}
CONVERSATIONS = {
    "plain": {"messages": [user("Hi")]},
    "blank": {"messages": [user("")]},
    "spaces": {"messages": [user("  \n padded \t\n ")]},
    "unicode": {"messages": [user("naïve 東京 שלום 👩🏽‍🚀 \u00a0\u200b end")]},
    "braces": {"messages": [user("{{ 1 + 1 }} {% if x %} {# c #} <b>&amp;</b> \\n 'q' \"d\"")]},
    "code": {"messages": [user("```py\ndef f():\n    return {'a': 1}\n```\n")]},
    "long": {"messages": [user("word " * 2000)]},
    "system_only_blank": {"messages": [system(""), user("Hi")]},
    "system_lines": {"messages": [system("One.\n\nTwo.\n"), user("Go")]},
    "many_turns": {"messages": [m for i in range(12) for m in (user(f"q{i}"), assistant(f"a{i} "))] + [user("last")]},
    "ends_with_assistant": {"messages": [user("Count"), assistant("1, 2,")]},
    "think_in_content": {"messages": [user("1+1"), assistant("<think>\nwell\n</think>\n\n2"), user("2+2")]},
    "think_open": {"messages": [user("1+1"), assistant("</think>only the end"), user("2+2")]},
    "thinking_on": {"messages": [user("why?")], "enable_thinking": True},
    "thinking_off": {"messages": [user("why?")], "enable_thinking": False},
    "effort": {"messages": [user("why?")], "reasoning_effort": "high"},
    "tools_many": {"messages": [user("book it")], "tools": [TYPES, PING]},
    "tools_system": {"messages": [system("Careful."), user("book it")], "tools": [PING, TYPES]},
    "call": {"messages": [user("book"), call("book", ARGUMENTS), result("{\"ok\": true, \"id\": 7}"), assistant("Done."), user("thanks")],
             "tools": [TYPES]},
    "call_pending": {"messages": [user("book"), call("book", ARGUMENTS, "Let me see."), result("done")], "tools": [TYPES]},
    "calls_two": {"messages": [user("ping twice"), call("ping", {}, number=1), result("pong", 1, "ping"), call("ping", {}, number=2),
                               result("pong\n\n", 2, "ping")], "tools": [PING]},
    "call_thought": {"messages": [user("book"), {**call("book", {"when": "today", "count": 1}), "reasoning_content": "need a date"},
                                  result("ok")], "tools": [TYPES], "enable_thinking": True},
    "kwargs": {"messages": [user("Hi")], "custom_flag": True, "date_string": "01 Jan 2025", "builtin_tools": None},
    "part_list": {"messages": [user([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}])]},
}
