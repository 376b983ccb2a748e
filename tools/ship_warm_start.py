"""Copy a finished warm start into assets/warm_start, with the manifest that says what it is and how to make it again.

    python run.py stage=sft sft.prepared=null
    python tools/ship_warm_start.py outputs/sft/nano-<hash>
"""

import shutil
import sys
from pathlib import Path

from kimina.durable import read_json, write_json
from kimina.experiment.artifact import artifacts_below

KEPT = ("schema", "hash", "config", "seeds", "parents", "sft", "files", "packages", "python", "finished")


def main(folder: Path, target: Path) -> int:
    """Copy the artifact's model and write the manifest; the data it was trained on is named by its fingerprint."""
    manifest = read_json(folder / "manifest.json")
    if manifest["status"] != "done":
        print(f"{folder} is {manifest['status']}, not done", file=sys.stderr)
        return 2
    data = next(a for a in artifacts_below(folder.parents[1], "data") if a.hash == manifest["parents"]["data"])
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder / "model", target / "model")
    kept = {key: manifest[key] for key in KEPT if key in manifest}
    command = f"python run.py stage=sft sft.prepared=null seed={manifest['config']['sft']['seed']}"
    fingerprint = data.manifest()["data_fingerprint"]
    write_json(target / "manifest.json", kept | {"command": command, "data_fingerprint": fingerprint})
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1]), Path(__file__).parents[1] / "assets" / "warm_start"))
