"""A Lean server that goes down in the middle of training: the run stops with everything saved, and goes on."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kimina.errors import LimitError
from kimina.experiment.compose import compose
from kimina.metrics_log import MetricsLog
from kimina.verl import checkpoints

STEPS = 3


class LeanServer:
    """Speaks a Kimina server's JSON; knows by its text whether the tiny prover's answer is a proof.

    From the ``outage_after``-th proof on, every request is answered with 503; None: the server is well.
    """

    def __init__(self):
        self.outage_after, self.proofs = None, 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                snippets = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["snippets"]
                down = server.outage_after is not None and server.proofs >= server.outage_after
                server.proofs += len(snippets)
                body = json.dumps({"results": [answer(snippet) for snippet in snippets]})
                self.send_response(503 if down else 200)
                self.end_headers()
                self.wfile.write(b"overloaded" if down else body.encode())

            def log_message(self, *_):
                """Keep the test's output clean."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def answer(snippet):
    lines = snippet["code"].splitlines()
    line = len(lines) - sum(text.startswith("import ") for text in lines)
    if "exact Or.inl hp" in snippet["code"]:
        message = {"severity": "info", "pos": {"line": line, "column": 0}, "data": "'nano' does not depend on any axioms"}
    else:
        message = {"severity": "error", "pos": {"line": line - 1, "column": 2}, "data": "type mismatch"}
    return {"id": snippet["id"], "time": 0.1, "response": {"env": 0, "messages": [message]}}


def test_an_outage_stops_the_run_with_its_weights_saved_and_it_goes_on(train, tmp_path):
    server = LeanServer()
    config = compose(
        [
            "loss=drgpo", "reward=proof_only", "verifier=kimina", f'verifier.urls=["{server.url}"]', "verifier.cache_size=0",
            "verifier.deadline_s=3", "verifier.cache=null",
            "data.train_batch_size=2", "data.max_prompt_length=64", "data.max_response_length=24",
            "actor_rollout_ref.rollout.n=4", "actor_rollout_ref.actor.optim.lr=1e-3", f"trainer.total_training_steps={STEPS}",
            "trainer.save_freq=100", "trainer.test_freq=-1", "+verifier.max_unverified_share=0.25",
        ]
    )  # fmt: skip

    def break_after_second_step(event):
        server.outage_after = server.proofs if event["step"] == 2 else None

    try:
        with pytest.raises(LimitError, match=r"step 3: .*could not be verified.*repeats this step"):
            train(config, on_progress=break_after_second_step)
        assert checkpoints.complete_steps(tmp_path / "run" / "checkpoints") == [2]
        before = MetricsLog(tmp_path / "run" / "metrics.jsonl").read()
        assert [row["step"] for row in before] == [1, 2]
        server.outage_after = None
        train(config)
    finally:
        server.close()
    rows = MetricsLog(tmp_path / "run" / "metrics.jsonl").read()
    assert rows[:2] == before and [row["step"] for row in rows] == [1, 2, 3]
    assert rows[2]["unverified"] == 0
