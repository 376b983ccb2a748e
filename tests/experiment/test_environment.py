import subprocess

from kimina.experiment.environment import capture_environment, hardware, source_revision


def _git(folder, *arguments):
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.invalid"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_the_revision_of_a_checkout_and_whether_it_is_changed(tmp_path):
    _git(tmp_path, "init")
    (tmp_path / "file").write_text("one")
    _git(tmp_path, "add", "file")
    _git(tmp_path, "commit", "-m", "first")
    clean = source_revision(tmp_path)
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "file").write_text("two")
    assert source_revision(tmp_path) == {"commit": clean["commit"], "dirty": True}


def test_a_copy_inside_somebody_elses_repository_has_no_revision(tmp_path):
    _git(tmp_path, "init")
    inner = tmp_path / "site-packages"
    inner.mkdir()
    assert source_revision(inner) == {"commit": None, "dirty": None}


def test_the_machine_and_the_packages_are_named():
    environment = capture_environment()
    assert environment["packages"]["numpy"]
    assert "torch" not in environment or environment["packages"]["torch"]
    machine = hardware()
    assert machine["cores"] >= machine["usable_cores"] >= 1
    assert machine["memory_bytes"] > 2**28
