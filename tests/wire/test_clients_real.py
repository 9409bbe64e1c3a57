"""Each official client asks the program itself, with the real starter model, one plain question."""
import json

import anthropic
import ollama
import openai
import pytest
from langchain_openai import ChatOpenAI

import sessions

QUESTION = "What is the capital of France?"
ASKED = [{"role": "user", "content": QUESTION}]


def by_openai(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="any", max_retries=0) as client:
        return client.responses.create(model="any", input=QUESTION, temperature=0, max_output_tokens=40).output_text


def by_anthropic(server):
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as client:
        with client.messages.stream(model="any", max_tokens=40, messages=ASKED,
                                    extra_body={"temperature": 0}) as stream:
            return stream.get_final_text()


def by_ollama(server):
    options = {"temperature": 0, "num_predict": 40}
    return ollama.Client(host=server.url).chat(model=server.model, messages=ASKED, options=options).message.content


def by_langchain(server):
    model = ChatOpenAI(base_url=server.url + "/v1", api_key="any", model="any", temperature=0, max_tokens=40)
    return "".join(chunk.content for chunk in model.stream(QUESTION))


@pytest.mark.parametrize("ask", [by_openai, by_anthropic, by_ollama, by_langchain])
def test_the_capital_of_france(real_server, ask):
    assert "Paris" in ask(real_server)


def test_the_node_clients(real_server):
    seen = sessions.run_node("capital.mjs", real_server.url, QUESTION)
    assert len(seen) == 3 and all("Paris" in answer for answer in seen.values()), seen


def test_a_schema_holds_a_model_that_knows_nothing_of_it(real_server):
    schema = {"type": "json_schema", "json_schema": {"name": "facts", "strict": True, "schema": sessions.FACTS_SCHEMA}}
    with openai.OpenAI(base_url=real_server.url + "/v1", api_key="any", max_retries=0) as client:
        for seed in range(3):
            answer = client.chat.completions.create(
                model="any", messages=[{"role": "user", "content": "How warm is Paris?"}], response_format=schema,
                temperature=1, seed=seed, max_tokens=200).choices[0]
            assert answer.finish_reason == "stop"
            facts = json.loads(answer.message.content)
            assert set(facts) == {"city", "degrees"}
            assert isinstance(facts["city"], str) and isinstance(facts["degrees"], int)
