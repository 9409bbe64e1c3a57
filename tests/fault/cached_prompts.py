"""Prompts of some blocks each, for what is asked of the prompt cache. The fixture `right` has their answers."""
import serving

PROMPTS = [f"prompt {i}: " + " ".join(str(i * n) for n in range(1, 250)) for i in range(3)]


def ask(server, prompt):
    body = serving.chat_body(prompt, temperature=0, max_tokens=12)
    answer = server.http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def answers(server, prompts=PROMPTS):
    return [serving.text_of(ask(server, prompt)) for prompt in prompts]


def flush(server):
    """Whether everything is on the disk now."""
    answer = server.http.post("/admin/cache/flush")
    assert answer.status_code == (200 if answer.json()["durable"] else 503)
    return answer.json()["durable"]
