"""How much of a Kimina Lean server's workers ``verifier=kimina`` keeps busy, against kimina-client; and a whole cluster.

Type: ``python benchmarks/kimina_client.py [--count 1200] [--scale 2] [--json FILE]`` (``make bench`` does), or
``--soak 200000`` for memory and open files over that many checks. Servers are stand-ins on loopback, in a process of
their own, whose workers sleep in place of Lean; all clients send the same proofs to the same server, one after the other.

1. One server of 60 workers. *Load generator*: as many connections as needed to keep every worker busy, one proof a
   request, no judging; what it reaches is what the workers sustain. Ours and kimina-client's are shares of that.
2. A batch in which every proof occurs twice, against one of the same length without repetition.
3. A cluster of 8 servers of 60 workers with the published service time (60 cores check 4.33 proofs a second, so a proof
   takes a worker 13.9 s; Kimina Lean Server report, table 1), time divided by ``--scale``; 2,048 proofs a step.

Exit code 1 when a target is missed: 95 % of what the workers sustain, twice ``KiminaClient.check``, no slower than
``AsyncKiminaClient``, half the cost for a repeated half, and at most 1 % of the cluster's worker-seconds idle while work is
queued, from the moment on at which every worker has had a proof. (Until then this one process sends a step's first 480
proofs, which takes it the same time whatever ``--scale`` is.)
"""

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

# In place of this file's own folder, in which `kimina_client` would be this file.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import aiohttp
import psutil

from kimina.lean.kimina_client_compat import import_kimina_client
from kimina.lean.kimina_server import HEADER, KiminaServerVerifier
from kimina.lean.report import compose_with_query
from kimina.lean.verdict import CheckRequest, Verdict

WORKERS = 60
SERVICE_S = 0.3
PUBLISHED_SERVICE_S = 60 / 4.33
CLUSTER = 8
STEP = 2048
MOST_IDLE = 0.01


@contextmanager
def stand_in(servers: int, service_s: float) -> Iterator[list[str]]:
    """URLs of stand-in servers in a process of their own."""
    program = str(Path(__file__).with_name("kimina_stand_in.py"))
    command = [sys.executable, program, "--servers", str(servers), "--workers", str(WORKERS), "--service-s", str(service_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield [f"http://127.0.0.1:{port}" for port in json.loads(process.stdout.readline())]
        finally:
            process.stdin.close()


def proofs(count: int, name: str) -> list[CheckRequest]:
    """``count`` different proofs; ``name`` keeps one batch apart from another."""
    text = "theorem t (a b : Nat) : a + b = b + a := by\n  rw [Nat.add_comm] -- {}"
    return [CheckRequest(str(index), text.format(f"{name} {index}"), "t") for index in range(count)]


def tell(url: str, path: str) -> dict:
    with urlopen(f"{url}{path}") as response:
        return json.load(response)


def time_ours(urls: list[str], requests: list[CheckRequest], **settings) -> float:
    """Seconds for one ``check`` with the configuration's defaults, the question about the version not counted."""
    with KiminaServerVerifier(urls, **settings) as verifier:
        assert verifier.lean_version == "4.15.0"
        started = time.perf_counter()
        results = verifier.check(requests)
        seconds = time.perf_counter() - started
    if any(result.verdict is not Verdict.PROVED for result in results):
        raise SystemExit("a proof was lost")
    return seconds


def snippets(requests: list[CheckRequest]) -> list:
    made = import_kimina_client().Snippet
    return [made(id=request.id, code=compose_with_query(HEADER, request).text) for request in requests]


def time_kimina_client(url: str, requests: list[CheckRequest]) -> float:
    """``KiminaClient.check`` with its defaults, its progress bar left out."""
    sent = snippets(requests)
    client = import_kimina_client().KiminaClient(api_url=url)
    started = time.perf_counter()
    response = client.check(sent, show_progress=False)
    seconds = time.perf_counter() - started
    assert all(result.error is None for result in response.results)
    return seconds


def time_async_kimina_client(url: str, requests: list[CheckRequest], **settings) -> float:
    """``AsyncKiminaClient.check``, with its defaults unless ``settings`` say otherwise."""
    sent = snippets(requests)

    async def run() -> float:
        client = import_kimina_client().AsyncKiminaClient(api_url=url)
        started = time.perf_counter()
        response = await client.check(sent, show_progress=False, **settings)
        seconds = time.perf_counter() - started
        await client.close()
        assert all(result.error is None for result in response.results)
        return seconds

    return asyncio.run(run())


def time_load_generator(url: str, requests: list[CheckRequest]) -> float:
    """The same requests from enough connections to keep a queue at the server until the last proof."""
    bodies = [
        json.dumps({"snippets": [{"id": request.id, "code": compose_with_query(HEADER, request).text}], "timeout": 60}).encode()
        for request in requests
    ]

    async def run() -> float:
        left = iter(bodies)

        async def connection(session: aiohttp.ClientSession) -> None:
            for body in left:
                async with session.post(f"{url}/api/check", data=body) as response:
                    await response.read()

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            started = time.perf_counter()
            await asyncio.gather(*(connection(session) for _ in range(WORKERS * 5 // 4)))
            return time.perf_counter() - started

    return asyncio.run(run())


def compare(count: int) -> dict:
    """Parts 1 and 2: proofs a second of every client."""
    requests = proofs(count, "same")
    with stand_in(1, SERVICE_S) as (url,):
        clients = {
            "load generator": lambda: time_load_generator(url, requests),
            "ours": lambda: time_ours([url], requests),
            "KiminaClient": lambda: time_kimina_client(url, requests),
            "AsyncKiminaClient": lambda: time_async_kimina_client(url, requests),
            "AsyncKiminaClient, 60 x 1": lambda: time_async_kimina_client(url, requests, batch_size=1, max_workers=WORKERS),
        }
        # The two that are compared to the percent run twice, in turn.
        seconds = {name: run() for name, run in clients.items()}
        seconds |= {name: min(seconds[name], clients[name]()) for name in ("load generator", "ours")}
        tell(url, f"/reset/{count}")
        repeated = proofs(count // 2, "half") * 2
        seconds["repeated half"] = time_ours([url], repeated)
        seen = tell(url, "/stats")["proofs"]
    rates = {name: count / spent for name, spent in seconds.items()}
    for name in clients:
        print(
            f"{name:26} {rates[name]:7.1f} proofs/s   {rates[name] / rates['load generator']:6.1%} of what the workers sustain"
            f"   ours is {rates['ours'] / rates[name]:.2f} times as fast"
        )
    cost = seconds["repeated half"] / seconds["ours"]
    print(f"every proof twice: {seen} of {count} sent, {cost:.2f} of the time without repetition")
    return {"per_second": rates, "repeated_sent": seen / count, "repeated_cost": cost}


def cluster(scale: float, steps: int) -> list[dict]:
    """Part 3: steps of training against 8 servers."""
    service_s = PUBLISHED_SERVICE_S / scale
    print(
        f"cluster: {CLUSTER} servers of {WORKERS} workers, {PUBLISHED_SERVICE_S:.1f} s a proof, time divided by {scale:g}"
        f" ({service_s:.2f} s); {STEP} proofs a step"
    )
    stats = []
    with stand_in(CLUSTER, service_s) as urls, KiminaServerVerifier(urls) as verifier:
        assert verifier.lean_version == "4.15.0"
        for step in range(1, steps + 1):
            tell(urls[0], f"/reset/{STEP}")
            started = time.perf_counter()
            results = verifier.check(proofs(STEP, f"step {step}"))
            seconds = time.perf_counter() - started
            assert all(result.verdict is Verdict.PROVED for result in results)
            told = tell(urls[0], "/stats") | {"seconds": seconds}
            idle_later = told["idle_worker_s_while_queued"] - told["idle_worker_s_at_first"]
            told["idle_share"] = idle_later / (CLUSTER * WORKERS * told["queued_s"])
            windows = sorted(int(server.health.window) for server in verifier._dispatcher.servers)
            stats.append(told)
            print(
                f"  step {step}: {seconds:5.1f} s (real time {seconds * scale:5.0f} s); workers busy"
                f" {told['utilisation_while_queued']:6.2%} while work was queued ({told['queued_s']:.1f} s), {told['utilisation']:.1%}"
                f" with the tail; idle while work was queued: {told['idle_worker_s_at_first']:.0f} worker-seconds until all"
                f" {CLUSTER * WORKERS} had their first proof, {idle_later:.0f} after that ({told['idle_share']:.2%});"
                f" windows {windows[0]} to {windows[-1]} proofs"
            )
    return stats


def soak(count: int) -> None:
    """Memory and open files over ``count`` checks."""
    process = psutil.Process()
    portion = 2000

    def show(done: int) -> None:
        print(
            f"  after {done:7} checks: {process.memory_info().rss / 2**20:6.1f} MiB resident, {process.num_fds()} open files,"
            f" {process.num_threads()} threads",
            flush=True,
        )

    started = time.perf_counter()
    with stand_in(2, 0.001) as urls:
        before = process.num_fds()
        with KiminaServerVerifier(urls, cache_size=portion) as verifier:
            for done in range(0, count, portion):
                if done and done % max(portion, count // 10 // portion * portion) == 0:
                    show(done)
                results = verifier.check(proofs(portion, str(done)))
                assert all(result.verdict is Verdict.PROVED for result in results)
            show(count)
        print(
            f"  closed: {process.num_fds() - before:+d} open files against before; {time.perf_counter() - started:.0f} s in all"
        )


def main() -> int:
    """Measure, print, and optionally write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1200, help="proofs of parts 1 and 2")
    parser.add_argument("--scale", type=float, default=2.0, help="what the cluster's time is divided by")
    parser.add_argument("--steps", type=int, default=2, help="training steps against the cluster")
    parser.add_argument("--soak", type=int, metavar="N", help="only watch memory over N checks")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args()
    logging.getLogger("kimina-client").setLevel(logging.CRITICAL)
    if options.soak:
        soak(options.soak)
        return 0
    print(
        f"one server of {WORKERS} workers, {SERVICE_S:g} s a proof, {options.count} proofs (load average {os.getloadavg()[0]:.1f})"
    )
    one = compare(options.count)
    steps = cluster(options.scale, options.steps)
    rates = one["per_second"]
    targets = {
        "95 % of what the workers sustain": rates["ours"] >= 0.95 * rates["load generator"],
        "twice KiminaClient.check": rates["ours"] >= 2 * rates["KiminaClient"],
        "no slower than AsyncKiminaClient": rates["ours"] >= rates["AsyncKiminaClient"],
        "a repeated half costs half": one["repeated_sent"] == 0.5 and one["repeated_cost"] < 0.6,
        "no idle worker in the cluster while work is queued": all(step["idle_share"] <= MOST_IDLE for step in steps),
    }
    if options.json:
        options.json.write_text(json.dumps({"one_server": one, "cluster": steps, "targets": targets}, indent=1) + "\n")
    missed = [name for name, met in targets.items() if not met]
    if missed:
        print(f"missed: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
