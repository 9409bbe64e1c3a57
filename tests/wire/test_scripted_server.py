"""The scripted server itself: turns by prompt, templates and stop rules that are the real ones."""
import httpx

from scripted_serving import Scripted, call, turn
from serving import chat_body

TOOL = {"type": "function", "function": {
    "name": "weather", "description": "tells the weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


def ask(server, text, **fields):
    response = server.http.post("/v1/chat/completions", json=chat_body(text, **fields))
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def test_turns_are_picked_by_the_prompt_and_then_used_up():
    turns = [turn("blue", when="sky"), turn("green", when=["grass", "colour"], unless="sky", times=0),
             turn("cut off here", when="long", finish="length"), turn("<|im_end|>never seen", when="end")]
    with Scripted(turns) as server:
        assert ask(server, "the colour of grass?")["message"]["content"] == "green"
        assert ask(server, "the colour of the sky?")["message"]["content"] == "blue"
        assert ask(server, "the colour of grass, again?")["message"]["content"] == "green"
        assert ask(server, "a long one")["finish_reason"] == "length"
        assert not ask(server, "end")["message"]["content"], "a control token of the script is the real one"
        assert ask(server, "the colour of grass?", max_tokens=1)["finish_reason"] == "stop", "green is a token"
        used_up = server.http.post("/v1/chat/completions", json=chat_body("the sky?"))
        assert used_up.status_code == 400 and "the sky?" in used_up.json()["error"]["message"]
        assert server.prompts()[0].endswith("<|im_start|>user\nthe colour of grass?<|im_end|>\n<|im_start|>assistant\n")


def test_the_prompt_holds_the_tools_and_the_answer_holds_the_call_in_a_form_that_the_template_reads():
    with Scripted([turn("hm", when='"name": "weather"')]) as server:
        assert ask(server, "is it sunny?", tools=[TOOL])["message"]["content"] == "hm"
    assert call("weather", city="Paris") == (
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>')


def test_refusals_and_the_end_of_the_context():
    with Scripted([turn(refuse="overloaded", when="busy"), turn("fine", times=0)], "--context", 64) as server:
        assert server.http.post("/v1/chat/completions", json=chat_body("busy?")).status_code == 429
        assert ask(server, "well?")["message"]["content"] == "fine"
        too_long = server.http.post("/v1/chat/completions", json=chat_body("word " * 100))
        assert too_long.status_code == 400
        assert too_long.json()["error"]["code"] == "context_length_exceeded"


def test_a_client_that_leaves_ends_its_row():
    with Scripted([turn("la " * 2000, token_delay_ms=5)]) as server:
        with httpx.stream("POST", server.url + "/v1/chat/completions", timeout=60,
                          json=chat_body("sing", stream=True)) as response:
            next(response.iter_lines())
        assert server.ended(1)[0]["cancelled"]
        assert server.ended(1)[0]["tokens"] < 2000
