"""The configuration groups and the options of each, read from the folders that hold them.

An option is a YAML file in a group's folder; nothing is listed twice. verl's folder is found by path, because importing
verl costs seconds.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import yaml

from kimina.errors import InfrastructureError

REPOSITORY = Path(__file__).resolve().parents[2]
CONF = REPOSITORY / "conf"
EXPERIMENTS = REPOSITORY / "experiments"
TABLES = EXPERIMENTS / "tables"

#: Our groups, in the order in which help lists them, and what each decides.
GROUPS: dict[str, str] = {
    "model": "what is trained; also chooses scale",
    "loss": "policy loss and advantage",
    "reward": "format checks and their thresholds",
    "data": "prompt set",
    "correction": "error-correction turns",
    "length": "length reward",
    "sampling": "how prompts are drawn",
    "long2short": "shortening after RL",
    "verifier": "where Lean runs",
    "rollout": "how generation and training take turns",
    "cluster": "machines; also chooses engine",
    "engine": "what generates",
    "evaluation": "how the result is measured",
    "logger": "where metrics go",
    "stage": "what to run",
    "scale": "batch sizes, lengths and steps; also chooses data, verifier, cluster and evaluation",
    "experiments": "a whole experiment of a paper",
}


def from_repository(path: str) -> Path:
    """Return where a path of the shipped configuration lies: relative ones start at the repository's root."""
    return REPOSITORY / Path(path).expanduser()


@cache
def verl_config_folder() -> Path:
    """Return verl's folder ``trainer/config`` without importing verl.

    Raises:
        InfrastructureError: verl is not installed, or ships its configuration elsewhere.
    """
    spec = find_spec("verl")
    if spec is None or not spec.submodule_search_locations:
        raise InfrastructureError("verl is not installed in this environment.\n  type: make install")
    folder = Path(spec.submodule_search_locations[0]) / "trainer" / "config"
    if not (folder / "ppo_trainer.yaml").is_file():
        raise InfrastructureError(f"verl's configuration was expected at {folder}, but ppo_trainer.yaml isn't there.")
    return folder


def option_names(group: str) -> list[str]:
    """Return the options of one of our groups, sorted; of ``experiments`` also those in subfolders, as ``paper/row``."""
    if group == "experiments":
        files = [path for path in EXPERIMENTS.rglob("*.yaml") if TABLES not in path.parents]
        return sorted(path.relative_to(EXPERIMENTS).with_suffix("").as_posix() for path in files)
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


@cache
def default_options() -> dict[str, str]:
    """Return the option that the root configuration chooses for each group."""
    root = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))
    base = yaml.safe_load((CONF / "base.yaml").read_text(encoding="utf-8"))
    chosen: dict[str, str] = {}
    for entry in [*base["defaults"], *root["defaults"]]:
        if isinstance(entry, dict):
            chosen.update({str(group).removeprefix("override "): option for group, option in entry.items() if option})
    return chosen


def table_names() -> list[str]:
    """Return the names of the tables that ``stage=table`` can build."""
    return sorted(path.stem for path in TABLES.glob("*.yaml"))


def is_verl_group(name: str) -> bool:
    """Tell whether ``name`` is one of verl's own configuration groups, such as ``actor`` or ``model_engine``."""
    return name.replace("_", "").isalnum() and (verl_config_folder() / name).is_dir()
