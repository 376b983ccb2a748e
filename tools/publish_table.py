"""Copy a finished table into results/, from where the README shows it.

Type: ``python tools/publish_table.py outputs/table/<name>-<hash> [...]``. Copied are ``table.md``, ``table.json`` and the figures;
``results/README.md`` lists all tables there, with the share of their rows that was measured.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kimina.durable import write_text  # noqa: E402

RESULTS = ROOT / "results"


def publish(folder: Path) -> None:
    """Copy one table."""
    content = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    target = RESULTS / content["table"]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    text = (folder / "table.md").read_text(encoding="utf-8")
    for name in content["figures"]:
        shutil.copy(folder / "figures" / f"{name}.png", target / f"{name}.png")
        text += f"\n![{name}]({name}.png)\n"
    write_text(target / "README.md", text)
    shutil.copy(folder / "table.json", target / "table.json")


def index() -> str:
    """The list of all published tables."""
    lines = [
        "# Tables that were built",
        "",
        "Made by `python run.py stage=table table=NAME scale=nano table.build=true` and copied by `tools/publish_table.py`. Each says",
        "with which commands, seeds and machine. At nano scale levels can't be compared with published ones, which are about",
        "another benchmark and models a thousand times larger; what can be is whether a method helps at all. A table says what",
        "there was when it was made: a method that it calls not built may have been built since.",
        "",
        "| table | rows measured | |",
        "| --- | --- | --- |",
    ]
    for path in sorted(RESULTS.glob("*/table.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        total = sum(content["status"].values())
        others = ", ".join(f"{number} {status}" for status, number in content["status"].items() if status != "done")
        lines.append(f"| [{content['title']}]({path.parent.name}/README.md) | {content['status'].get('done', 0)} of {total} | {others} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Copy the named tables and renew the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    for folder in parser.parse_args().folders:
        publish(folder)
    write_text(RESULTS / "README.md", index())
    return 0


if __name__ == "__main__":
    sys.exit(main())
