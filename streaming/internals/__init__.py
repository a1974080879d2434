"""Spark's internals: everything that relies on more than Spark's public names, each with the releases that it was read from.

`releases` has what differs between releases, `known` a line for each internal with what happens without it. `spark_files` and `state_files`
know the format of checkpoints, `messages` what failures say; they need no Spark. `jvm` reaches into Spark's JVM, `frames` into PySpark.
Elsewhere nothing has a name of PySpark's that begins with an underscore; a test looks.
"""
