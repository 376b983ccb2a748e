"""The browser page in a real headless Chromium: what it shows, how its filters choose, and that no text in it acts."""

import random
from dataclasses import replace

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from support import chromium as browser

from kimina.durable import write_text
from kimina.evaluation import EvalResult, LeanMessage, Outcome, pass_curve
from kimina.tables.browser_page import BrowserPage, PageRun, build_browser_page
from kimina.tables.browser_page_config import differing_keys, value_text
from kimina.tables.browser_page_data import letter
from kimina.tables.curves import training_curves

ATTACK = (
    '</script></pre><script>window.hacked = 1</script><img src="https://evil.invalid/x.png" onerror="window.hacked = 2">'
    '<!-- <style>* { display: none }</style> {{x}} & "\' javascript:window.hacked=3'
)
HIDDEN = "\u202e\u2066\x00\ud800"
BOTH, FIRST, SECOND, NEITHER = "both", "first", "second", "neither"
PATTERN = {f"p{index:02d}": (BOTH, FIRST, SECOND, NEITHER)[index % 4] for index in range(20)}
SAMPLES = 6
LEAN = "theorem {name} (p q : Prop) (hp : p) : q ∧ p := by\n  constructor\n  · exact hq\n  · exact hp"


def _ids(*kinds):
    return [name for name, kind in PATTERN.items() if kind in kinds]


def _outcome(name, sample, solved, run):
    place = int(name[1:])
    broken = not solved and (place + sample + run) % 3 == 0
    lost = name == "p03" and run == 1
    code = LEAN.format(name=name)
    messages = (
        LeanMessage("error", 3, 10, f"Unknown identifier `hq` {ATTACK}"),
        LeanMessage("warning", 1, 16, "unused variable `p`"),
        LeanMessage("error", 99, 0, "beyond the block"),
    )
    return Outcome(
        problem_id=name,
        family="conj" if place % 2 else f"<i>iff</i>{ATTACK}",
        level=1 + place % 3,
        sample=sample,
        verdict="unverified" if lost else "proved" if solved else None if broken else "lean_error",
        violations=("statement_changed", "too_long") if broken and not lost else (),
        reward=None if lost else float(solved),
        response_tokens=1200 + sample,
        finished=sample != 2,
        response=f"<think>\nthoughts {ATTACK} {HIDDEN}\n</think>\n```lean4\n{code}\n```\nafter {ATTACK}",
        messages=messages if not solved and not broken and not lost else (),
        generation_s=2.5,
        lean_s=0.25,
    )


def _result(label, solved_kinds, run):
    result = EvalResult.of(
        label,
        [
            _outcome(name, sample, kind in solved_kinds and sample % 2 == 1, run)
            for name, kind in PATTERN.items()
            for sample in range(SAMPLES)
        ],
    )
    if run == 1:
        # p03 is solved by nobody; in the second run a fix turn mends sample 1 of p07, and one of p01 fails again.
        for problem in result.problems:
            if problem.problem_id in ("p07", "p01"):
                first = problem.outcomes[1]
                fixed = problem.problem_id == "p07"
                fix = replace(
                    first,
                    turn=2,
                    verdict="proved" if fixed else "lean_error",
                    violations=(),
                    messages=() if fixed else (LeanMessage("error", 2, 2, "again wrong"),),
                )
                problem.fixes[1] = fix
    return result


@pytest.fixture(scope="module")
def page(metrics):
    results = (_result("one", (BOTH, FIRST), 0), _result("two", (BOTH, SECOND), 1))
    curves = (None, training_curves(metrics))
    configs = (
        {"loss.name": "grpo", "seed": 1, "lr": 1.0, "only.first": ATTACK, "list": (1, 2)},
        {"loss.name": "drgpo", "seed": 1, "lr": 1, "flag": None, "list": [1, 2]},
    )
    runs = tuple(
        PageRun(f"run{i}", f"Run {i} {ATTACK if i else ''}", results[i], configs[i], curves[i], pass_curve(results[i], [1, 2, 4]))
        for i in range(2)
    )
    return BrowserPage(
        title=f"Two runs {ATTACK} {HIDDEN}",
        source=f"a source {ATTACK}",
        command=f"python run.py 'x=<y>' {ATTACK}",
        columns=("Model", "pass@1", "verdict"),
        rows=(("Run 0", "25.0", "within interval"), (f"Run 1 {ATTACK}", "–", "")),
        notes=(f"A note. {ATTACK}",),
        runs=runs,
        statements={name: f"theorem {name} (p q : Prop) (hp : p) : q ∧ p := by {ATTACK}" for name in PATTERN},
        informal={name: f"Number {name[1:]} in words, nimble. {ATTACK}" for name in list(PATTERN)[:10]},
    )


@pytest.fixture(scope="module")
def file(page, tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("page") / "page.html", build_browser_page(page))


@pytest.fixture(scope="module")
def driver():
    with browser.chromium() as driver:
        yield driver


@pytest.fixture
def opened(driver, file):
    """The page, opened afresh; afterwards the console must be empty, and nothing but the file asked for."""
    driver.get("about:blank")
    browser.console(driver), browser.requests(driver)
    browser.open_page(driver, file)
    yield driver
    assert browser.console(driver) == []
    assert [url for url in browser.requests(driver) if url.partition("#")[0] != file.resolve().as_uri()] == []
    assert driver.execute_script("return typeof window.hacked") == "undefined"


def _listed(driver):
    return driver.execute_script("return [...document.querySelectorAll('#list .row')].map(row => row.dataset.id)")


def _set(driver, name, value):
    Select(driver.find_element(By.ID, f"filter-{name}")).select_by_value(value)


def _open_problem(driver, name):
    driver.execute_script("document.querySelector(`#list .row[data-id='${arguments[0]}']`).click()", name)
    WebDriverWait(driver, 10, poll_frequency=0.02).until(
        lambda d: d.execute_script("return document.getElementById('problem').dataset.id") == name
    )


def _text(driver, selector):
    return driver.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def _texts(driver, selector):
    return driver.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)


def _click(driver, selector):
    driver.execute_script("document.querySelector(arguments[0]).click()", selector)


def _chip(driver, run, sample):
    driver.execute_script(
        "document.querySelectorAll(`.card[data-run='${arguments[0]}'] .chip`)[arguments[1]].click()", run, sample
    )


def test_without_a_browser_the_line_to_type_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(RuntimeError, match=r"apt-get install -y .*chromium chromium-driver"), browser.chromium():
        pass


def test_the_page_opens_with_the_table_and_all_problems(opened, page):
    assert opened.title.startswith("Two runs </script>")
    assert _texts(opened, "#results tbody tr:first-child > *") == ["Run 0", "25.0", "within interval"]
    assert _texts(opened, "#results tbody tr:nth-child(2) td") == ["–", "–"]
    assert _text(opened, "#count") == "20 of 20 problems"
    assert _listed(opened) == list(PATTERN)
    assert _texts(opened, "#list li:first-child .score") == ["3/6", "3/6"]
    assert page.command in _text(opened, "header")


def test_a_problem_without_a_verified_sample_has_no_score(opened):
    assert _texts(opened, "#list .row[data-id='p03'] .score") == ["0/6", "–"]
    _set(opened, "unsolved", "1")
    assert "p03" not in _listed(opened)


def test_solved_by_the_first_and_not_by_the_second_gives_exactly_these(opened):
    _set(opened, "solved", "0")
    assert _listed(opened) == _ids(BOTH, FIRST)
    _set(opened, "unsolved", "1")
    assert _listed(opened) == _ids(FIRST)
    assert _text(opened, "#count") == "5 of 20 problems"
    _set(opened, "solved", "1")
    _set(opened, "unsolved", "0")
    assert _listed(opened) == _ids(SECOND)
    _set(opened, "solved", "each")
    _set(opened, "unsolved", "")
    assert _listed(opened) == _ids(BOTH)
    _set(opened, "solved", "some")
    assert _listed(opened) == _ids(BOTH, FIRST, SECOND)
    _set(opened, "solved", "")
    _set(opened, "unsolved", "each")
    assert _listed(opened) == [name for name in _ids(NEITHER) if name != "p03"]
    _click(opened, "#filters button[type=reset]")
    WebDriverWait(opened, 5).until(lambda d: len(_listed(d)) == 20)


def test_fix_turns_count_only_when_asked(opened):
    _set(opened, "solved", "1")
    assert "p07" not in _listed(opened)
    _set(opened, "fixes", "count")
    assert _listed(opened) == sorted([*_ids(BOTH, SECOND), "p07"])
    assert _texts(opened, "#list .row[data-id='p07'] .score") == ["0/6", "1/6"]


def test_filters_by_violation_verdict_family_level_and_text(opened, page):
    def having(test, runs=(0, 1)):
        found = {p.problem_id for r in runs for p in page.runs[r].result.problems if any(map(test, p.outcomes))}
        return sorted(found)

    _set(opened, "violation", "too_long")
    assert _listed(opened) == having(lambda o: "too_long" in o.violations)
    _set(opened, "within", "0")
    assert _listed(opened) == having(lambda o: "too_long" in o.violations, (0,))
    _set(opened, "violation", "")
    _set(opened, "within", "")
    _set(opened, "verdict", "unverified")
    assert _listed(opened) == ["p03"]
    _set(opened, "verdict", "")
    _set(opened, "family", "=conj")
    _set(opened, "level", "=2")
    assert _listed(opened) == [name for name in PATTERN if int(name[1:]) % 2 and int(name[1:]) % 3 == 1]
    _set(opened, "family", "")
    _set(opened, "level", "")
    search = opened.find_element(By.ID, "filter-search")
    search.send_keys("NIMBLE 07")
    assert _listed(opened) == ["p07"]
    search.clear()
    search.send_keys("no such thing")
    assert _listed(opened) == []
    assert _text(opened, "#count") == "0 of 20 problems"


def test_the_order_can_be_by_difficulty(opened):
    _set(opened, "order", "hard")
    shares = [_texts(opened, f"#list .row[data-id='{name}'] .score") for name in _listed(opened)]
    assert shares[0] == ["0/6", "–"] or shares[0] == ["0/6", "0/6"]
    assert shares[-1] == ["3/6", "3/6"]
    _set(opened, "order", "apart")
    assert set(_listed(opened)[:10]) == set(_ids(FIRST, SECOND))


def test_lean_messages_stand_at_their_lines(opened):
    _open_problem(opened, "p02")
    card = ".card[data-run='0']"
    _chip(opened, 0, 0)
    assert _texts(opened, f"{card} .code .line") == LEAN.format(name="p02").split("\n")
    numbers = opened.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(line => getComputedStyle(line, '::before').content)",
        f"{card} .code .line",
    )
    assert numbers == [f'"{number}"' for number in range(1, 5)]
    assert _texts(opened, f"{card} .line[data-line='3'].error + .said.error pre")[0].startswith("Unknown identifier `hq` </script>")
    assert _texts(opened, f"{card} .line[data-line='3'] mark") == ["hq"]
    assert _texts(opened, f"{card} .line[data-line='1'].warning + .said pre") == ["unused variable `p`"]
    assert _texts(opened, f"{card} .sample > .said pre") == ["beyond the block"]
    assert len(_texts(opened, f"{card} .said")) == 3


def test_all_samples_of_each_run_are_there_with_verdict_violations_and_tokens(opened, page):
    _open_problem(opened, "p05")
    for run in (0, 1):
        problem = next(p for p in page.runs[run].result.problems if p.problem_id == "p05")
        card = f".card[data-run='{run}']"
        assert len(_texts(opened, f"{card} .chip")) == SAMPLES
        for outcome in problem.outcomes:
            _chip(opened, run, outcome.sample)
            shown = _text(opened, f"{card} .sample")
            assert f"Sample {outcome.sample}" in shown
            assert f"{outcome.response_tokens:,} tokens" in shown
            assert ("cut off" in shown) == (not outcome.finished)
            tags = " ".join(_texts(opened, f"{card} .tag"))
            for code in outcome.violations:
                assert code.replace("_", " ") in tags
            if outcome.verdict:
                assert outcome.verdict.replace("_", " ") in tags
            assert "generated in 2.5 s" in shown and "Lean took 0.3 s" in shown


def test_the_whole_response_is_shown_with_characters_that_hide_made_visible(opened):
    _open_problem(opened, "p04")
    before, after = _texts(opened, ".card[data-run='0'] pre.think")
    assert before == f"<think>\nthoughts {ATTACK} ⟨U+202E⟩⟨U+2066⟩⟨U+0000⟩⟨U+D800⟩\n</think>"
    assert after == f"\nafter {ATTACK}"


def test_a_fix_turn_stands_below_its_first_attempt(opened):
    _open_problem(opened, "p07")
    # Of a problem that no first attempt solves, the fixed sample is shown first.
    card = ".card[data-run='1']"
    assert _text(opened, f"{card} .chip[aria-pressed='true'] .glyph").endswith("→✓")
    assert _texts(opened, f"{card} .fix .tag") == ["✓ proved"]
    assert "1 more by a fix turn" in _text(opened, f"{card} > p")
    _open_problem(opened, "p01")
    _chip(opened, 1, 1)
    assert _texts(opened, f"{card} .fix .line[data-line='2'] + .said pre") == ["again wrong"]


def test_filters_of_samples_choose_and_dim_samples(opened, page):
    _set(opened, "violation", "too_long")
    _set(opened, "within", "0")
    problem = next(p for p in page.runs[0].result.problems if p.problem_id == "p03")
    having = [o.sample for o in problem.outcomes if "too_long" in o.violations]
    _open_problem(opened, "p03")
    bright = opened.execute_script(
        "return [...document.querySelectorAll('.card[data-run=\"0\"] .chip')].flatMap((c, i) => c.matches('.dim') ? [] : [i])"
    )
    assert bright == having
    assert _text(opened, ".card[data-run='0'] h5") == f"Sample {having[0]}"


def test_runs_can_be_switched_off_and_on(opened):
    curves = "#curves figure:first-child path.curve"
    assert len(_texts(opened, curves)) == 2
    assert len(_texts(opened, "#curves figure:first-child path.band")) == 2
    _click(opened, "#curves .toggle[data-run='0']")
    assert len(_texts(opened, curves)) == 1
    assert len(_texts(opened, "#list li:first-child .score")) == 1
    WebDriverWait(opened, 5).until(lambda d: len(_texts(d, ".card")) == 1)
    pressed = "return [...document.querySelectorAll('.toggle[data-run=\"0\"]')].map(b => b.getAttribute('aria-pressed'))"
    assert opened.execute_script(pressed) == ["false", "false"]
    _click(opened, "#problems .toggle[data-run='0']")
    assert len(_texts(opened, curves)) == 2


def test_hovering_a_curve_and_arrow_keys_name_the_values(opened, page):
    value = page.runs[0].pass_curve[1][1]
    opened.execute_script("document.querySelector('#curves svg').scrollIntoView({block: 'center'})")
    opened.execute_script("document.querySelector('#curves svg').focus()")
    opened.switch_to.active_element.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    tip = _text(opened, "#curves figure:first-child .tip")
    assert tip.startswith("k = 2")
    assert f"{100 * value.value:.1f} %" in tip
    assert f"{100 * value.interval.low:.1f} % to {100 * value.interval.high:.1f} %" in tip
    from selenium.webdriver.common.action_chains import ActionChains

    pictures = opened.find_elements(By.CSS_SELECTOR, "#curves svg")
    assert len(pictures) == 5
    ActionChains(opened).move_to_element(pictures[1]).perform()
    assert "step" in _text(opened, "#curves figure:nth-child(2) .tip")
    assert "Run 1 </script>" in _text(opened, "#curves figure:nth-child(2) .tip")


def test_only_keys_that_differ_are_listed(opened):
    assert _texts(opened, "#configuration tbody th") == ["flag", "loss.name", "only.first"]
    assert _texts(opened, "#configuration tbody td") == ["–", "null", "grpo", "drgpo", ATTACK, "–"]


def test_the_keyboard_alone_is_enough(opened):
    # ActiveElement: a key that does nothing must not be sent to a field that was left focused by another test.
    opened.find_element(By.TAG_NAME, "body").send_keys("/")
    assert opened.switch_to.active_element.get_attribute("id") == "filter-search"
    opened.execute_script("document.activeElement.blur()")
    opened.find_element(By.TAG_NAME, "body").send_keys("j")
    WebDriverWait(opened, 5).until(lambda d: d.execute_script("return document.getElementById('problem').dataset.id") == "p01")
    opened.execute_script("document.querySelector('#list .row').focus()")
    opened.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    WebDriverWait(opened, 5).until(lambda d: d.execute_script("return document.getElementById('problem').dataset.id") == "p02")
    opened.execute_script("document.querySelector('.card .chip[aria-pressed=true]').focus()")
    opened.switch_to.active_element.send_keys(Keys.END)
    assert _text(opened, ".card[data-run='0'] h5") == f"Sample {SAMPLES - 1}"


def test_a_problem_has_an_address(driver, file):
    browser.open_page(driver, file, fragment="#problem=p11")
    assert _text(driver, "#problem h3") == "p11"
    assert _texts(driver, ".row[aria-current]") == [_text(driver, ".row[data-id='p11']")]


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_a_phone(file, dark):
    with browser.chromium(width=360, height=740, dark=dark) as phone:
        browser.open_page(phone, file)
        assert phone.execute_script("return document.documentElement.scrollWidth") <= 360
        colour = phone.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (colour == "rgb(255, 255, 255)") == (not dark)


def test_the_file_refers_to_nothing_and_names_its_script_by_hash(file):
    text = file.read_text(encoding="utf-8")
    assert "default-src 'none'; script-src 'sha256-" in text
    assert text.count("<script>") == 1
    for word in ("src=", "@import", "url(", "innerHTML", "<link", "eval("):
        assert word not in text.replace("img src=&quot;", ""), word


def test_the_same_runs_give_the_same_page(page, file):
    assert build_browser_page(page) == file.read_text(encoding="utf-8")


def test_a_page_without_runs_is_its_table(page, driver, tmp_path):
    path = write_text(tmp_path / "bare.html", build_browser_page(replace(page, runs=())))
    driver.get(path.as_uri())
    assert len(_texts(driver, "#results tbody tr")) == 2
    assert _texts(driver, "#problems, #curves, script") == []
    assert browser.console(driver) == []


def test_runs_on_different_problems_are_shown_side_by_side(page, driver, tmp_path):
    first, second = page.runs
    fewer = replace(second, result=second.result.where(lambda p: p.problem_id > "p04"))
    path = write_text(tmp_path / "fewer.html", build_browser_page(replace(page, runs=(fewer, first))))
    browser.open_page(driver, path)
    assert len(_listed(driver)) == 20
    assert _texts(driver, "#list .row[data-id='p00'] .score") == ["–", "3/6"]
    _set(driver, "unsolved", "0")
    assert "p00" not in _listed(driver)
    _click(driver, "#filters button[type=reset]")
    WebDriverWait(driver, 5).until(lambda d: len(_listed(d)) == 20)
    _open_problem(driver, "p00")
    assert "no samples of this problem" in _text(driver, ".card[data-run='0']")
    assert browser.console(driver) == []


def test_244_problems_with_32_samples_open_and_filter_without_delay(driver, tmp_path):
    rng = random.Random(7)
    names = [f"problem_{index:03d}" for index in range(244)]
    letters = "abcdefghijklmnopqrstuvwxyz     ∧∨¬\n"

    def result(label):
        return EvalResult.of(label, [
            Outcome(name, "mathd", 1, sample, "proved" if rng.random() < 0.3 else "lean_error", (), 0.0, 900, True,
                    f"<think>\n{''.join(rng.choices(letters, k=1500))}\n</think>\n```lean4\n{LEAN}\n```")
            for name in names for sample in range(32)
        ])  # fmt: skip

    runs = tuple(PageRun(label, label, result(label), {}, None, []) for label in ("one", "two"))
    whole = BrowserPage("big", "", "", ("Model",), (), (), runs, {}, {})
    path = write_text(tmp_path / "big.html", build_browser_page(whole))
    browser.open_page(driver, path)
    opened_ms = driver.execute_script("return performance.getEntriesByName('kimina-ready')[0].startTime")
    nodes = driver.execute_script("return document.querySelectorAll('main *').length")
    filtered_ms = driver.execute_async_script(
        """const [done] = arguments, field = document.getElementById('filter-search'), start = performance.now();
        field.value = '_01'; field.dispatchEvent(new Event('input', {bubbles: true}));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));"""
    )
    assert _text(driver, "#count") == "10 of 244 problems"
    # Benchmarks hold the figures; a busy machine is given time here.
    assert opened_ms < 15_000
    assert filtered_ms < 1_500
    assert nodes < 6_000


def test_keys_that_differ_are_found_in_any_form():
    assert differing_keys([{"a": 1, "b": [1]}, {"a": 1.0, "b": (1,)}]) == []
    assert differing_keys([{"a": True, "b": 0}, {"a": 1, "b": 0}]) == ["a"]
    assert differing_keys([{"x": None}, {}]) == ["x"]
    assert [value_text(value) for value in ("grpo", "", None, 1e-6, [1, "a"], True)] == [
        "grpo", '""', "null", "1e-06", '[1, "a"]', "true",
    ]  # fmt: skip
    assert [letter(index) for index in (0, 25, 26)] == ["A", "Z", "A1"]
