# `make run` and `make test` set up everything they need: a virtual environment in .venv, then the package in it.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: run test bench seeds lean-server install clean

run: install
	$(BIN)/python run.py

# The report page is tested in a real Chromium, a package of the system; without it those tests fail.
# Two files at a time: much of what takes long waits for processes to start.
test: install
	@{ command -v chromium && command -v chromedriver; } >/dev/null || echo "make test: no Chromium here; type (as root, on Debian or Ubuntu):" \
	  "apt-get install -y --no-install-recommends chromium chromium-driver fonts-dejavu-core"
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Every measured claim of the README: ratios and rates, side by side in one run.
bench: install
	$(BIN)/python benchmarks/config_speed.py
	$(BIN)/python benchmarks/lean_checks.py
	$(BIN)/python benchmarks/verdict_cache.py
	$(BIN)/python benchmarks/format_checks.py
	$(BIN)/python benchmarks/kimina_client.py
	$(BIN)/python benchmarks/pass_at_k.py
	$(BIN)/python benchmarks/report_page.py
	$(BIN)/python benchmarks/evaluation_judging.py
	$(BIN)/python benchmarks/paper_table.py

# The README's figure over three seeds, each with a warm start of its own (about an hour on two cores).
seeds: install
	$(BIN)/python benchmarks/three_seeds.py

# The Kimina Lean Server from PyPI over the embedded Lean, for trying verifier=kimina: make lean-server [PORT=8000]
PORT ?= 8000
lean-server: install
	$(BIN)/python -m kimina.lean.real_server --port $(PORT)

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade --quiet pip
	$(BIN)/python -m pip install --quiet --editable '.[embedded,dev]'
	touch $@

clean:
	rm -rf $(VENV) outputs build *.egg-info
