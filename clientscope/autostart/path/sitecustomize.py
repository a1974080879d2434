"""Start-up module: Python imports it at its start if ``clientscope-run`` has put this folder on PYTHONPATH.

It says nothing that an old Python can't read, since the application's child processes may be any Python.
"""

import os
import sys

_ours = sys.modules.pop(__name__)
_folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (pathlib takes time to import)

try:
    if sys.version_info >= (3, 7):  # noqa: UP036
        import clientscope_autostart  # type: ignore[import-not-found]

        clientscope_autostart.start()
except Exception as error:
    sys.stderr.write("clientscope-run: no configuration is pushed: " + repr(error) + "\n")

# The sitecustomize that Python would have imported without this one.  Python itself reports what it raises.
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _folder]  # noqa: PTH100
try:
    __import__(__name__)
except ImportError as error:
    if getattr(error, "name", __name__) != __name__:
        raise
finally:
    sys.modules.setdefault(__name__, _ours)
