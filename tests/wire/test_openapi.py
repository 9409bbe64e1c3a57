"""The server against its own OpenAPI document: schemathesis makes requests out of the document, right and
wrong ones, and holds every answer against it."""
import hypothesis
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance, negative_data_rejection, response_schema_conformance, status_code_conformance)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
          negative_data_rejection]
MOST_TOKENS = 3  # the random model talks on for ever


def short(value):
    """A bound on the answer's length; what is wrong on purpose stays."""
    right = value is None or (not isinstance(value, bool) and isinstance(value, (int, float)) and value >= 1)
    return MOST_TOKENS if right and float(value or 1).is_integer() else value


def bounded(body):
    """The body, asking for a short answer in each wire's words."""
    if not isinstance(body, dict):
        return body
    body = {**body, **{name: short(body.get(name)) for name in ("max_tokens", "max_output_tokens")}}
    if isinstance(body.get("options", {}), (dict, type(None))):
        options = body.get("options") or {}
        body["options"] = {**options, "num_predict": MOST_TOKENS}
    return body


def check(operation, mode):
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    @hypothesis.settings(max_examples=12, deadline=None, derandomize=True, database=None,
                         suppress_health_check=list(hypothesis.HealthCheck),
                         phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate])
    def run(case):
        case.body = bounded(case.body)
        case.call_and_validate(checks=CHECKS)

    run()


def test_every_answer_is_as_described(server):
    """Not by schemathesis' pytest plugin: one server, one test, every operation's failure told."""
    failures, checked = [], 0
    for found in schemathesis.openapi.from_url(f"{server.url}/openapi.json").get_all_operations():
        operation = found.ok()
        for mode in schemathesis.GenerationMode:
            if mode.is_negative and not (operation.body or operation.path_parameters):
                continue  # nothing to get wrong
            checked += 1
            try:
                check(operation, mode)
            except hypothesis.errors.Unsatisfiable:
                checked -= 1  # nothing can be wrong
            except (Exception, BaseExceptionGroup) as failure:  # what the checks found
                failures.append(f"{operation.label}, {mode.value}:\n{failure}")
    assert checked >= 30
    assert not failures, "\n\n".join(failures)


def test_every_route_is_described(server):
    told = server.http.get("/v1").json()["endpoints"]
    described = set()
    for path, operations in server.http.get("/openapi.json").json()["paths"].items():
        for method in operations:
            described.add(f"{method.upper()} {path[:path.index('{')] + '*' if '{' in path else path}")
    assert described == set(told)
