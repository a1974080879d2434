"""The ``clientscope-run`` command: runs an unchanged application with `clientscope.client.install` applied.

``command.py`` puts the folder ``path/`` on PYTHONPATH and becomes the application. Python's own ``site`` imports ``sitecustomize`` from
there, in the application and in every Python that it starts; nothing else is imported until kafka-python is.
"""
