"""A headless Chromium for the tests of pages, driven through chromedriver; both are packages of the system."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALL = "apt-get install -y --no-install-recommends chromium chromium-driver fonts-dejavu-core"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str | None:
    """Say what is not installed and what to type, None where all is there."""
    absent = [] if any(map(shutil.which, BROWSERS)) else ["chromium"]
    absent += [] if shutil.which("chromedriver") else ["chromedriver"]
    if not absent:
        return None
    return (
        f"pages are tested in a real browser, and {' and '.join(absent)} can't be found.\n"
        f"  type (as root, on Debian or Ubuntu): {INSTALL}\n"
        "  elsewhere: install Chromium and the chromedriver of the same version, and put both on the PATH"
    )


@contextmanager
def chromium(*, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator["object"]:
    """Yield a selenium driver of a fresh browser that talks to nobody, with console and network logs.

    Raises:
        RuntimeError: Chromium or its driver is not installed; says what to type.
    """
    if reason := missing():
        raise RuntimeError(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(prefix="kimina-chromium-") as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = next(path for path in map(shutil.which, BROWSERS) if path)
        for argument in (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--force-device-scale-factor=1",
            "--lang=en-US",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
            )
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
            )
            # What a new tab does by itself is not the page's.
            driver.get("about:blank")
            console(driver), requests(driver)
            yield driver
        finally:
            driver.quit()


def open_page(driver, path: Path, *, fragment: str = "", seconds: float = 60.0) -> None:
    """Open a browser page from its file and wait until it is ready."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(path.resolve().as_uri() + fragment)
    WebDriverWait(driver, seconds, poll_frequency=0.02).until(
        lambda page: page.execute_script("return document.body.dataset.ready === 'true'")
    )


def console(driver) -> list[str]:
    """Return what the page's console has said since the last call."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver) -> list[str]:
    """Return the addresses that the page has asked for since the last call."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
