"""A real Prometheus that scrapes what a test names."""

from __future__ import annotations

import json
import shutil
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from dashboards import DEPLOY
from observe import page
from programs import running

from clientscope.local.process import free_port


@contextmanager
def prometheus(targets: Mapping[str, str], directory: Path) -> Iterator[Callable[[str], list[Any]]]:
    """Scrapes twice a second, with the rules of deploy/; gives what answers a query.

    Args:
        targets: job → host and port.
    """
    program = shutil.which("prometheus")
    assert program, "install Debian's prometheus (make prometheus)"
    settings = {
        "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
        "rule_files": [str(DEPLOY / "prometheus" / "rules.yml")],
        "scrape_configs": [{"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()],
    }
    (directory / "prometheus.yml").write_text(yaml.safe_dump(settings))
    address = f"127.0.0.1:{free_port()}"
    flags = (f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data", f"--web.listen-address={address}")

    def answer(query: str) -> list[Any]:
        url = f"http://{address}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        status, text = page(url)
        assert status == 200, f"{query}: {text}"
        return list(json.loads(text)["data"]["result"])

    with running(directory / "prometheus.log", program, *flags, ready=lambda: page(f"http://{address}/-/ready")[0] == 200):
        yield answer
